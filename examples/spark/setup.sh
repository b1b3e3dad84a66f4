#!/bin/sh
# Builds the program and a virtual environment with Spark.
set -eu
cd "$(dirname "$0")/../.."
java -version 2>&1 | head -n 1 | grep -q '"1[7-9]\|"2[0-9]' || {
    echo "error: Java 17 or later is needed (Debian: apt-get install openjdk-17-jre-headless)" >&2
    exit 1
}
cargo build --release --locked --features cli
# It is sent to every executor; without debug information it is a sixth of the size.
mkdir -p target/spark/bin
strip -o target/spark/bin/wrongturn target/release/wrongturn 2>/dev/null ||
    cp target/release/wrongturn target/spark/bin/wrongturn
python3 -m venv target/spark/venv
target/spark/venv/bin/pip install --quiet --requirement examples/spark/requirements.txt
