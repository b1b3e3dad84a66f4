#!/bin/sh
# Builds the programs and a virtual environment with Spark: `examples/spark/setup.sh`, from anywhere.
set -eu
cd "$(dirname "$0")/../.."
java -version 2>&1 | head -n 1 | grep -q '"1[7-9]\|"2[0-9]' || {
    echo "error: Java 17 or later is needed (Debian: apt-get install openjdk-17-jre-headless)" >&2
    exit 1
}
cargo build --release --locked --example scan --example replicate_tau2 --example merge
# Without debug information they are a sixth of the size, and are sent to every executor.
mkdir -p target/spark/bin
for name in scan replicate_tau2 merge; do
    strip -o "target/spark/bin/$name" "target/release/examples/$name" 2>/dev/null ||
        cp "target/release/examples/$name" "target/spark/bin/$name"
done
python3 -m venv target/spark/venv
target/spark/venv/bin/pip install --quiet --requirement examples/spark/requirements.txt
