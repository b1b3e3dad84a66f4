#!/bin/sh
# Checks a corpus in parts with xargs: `examples/scale/xargs.sh DIRECTORY [PROCESSES]`.
#
# A part has up to 64 files. First run: cargo build --release --features cli
set -eu
bin=${BIN:-target/release/wrongturn}
states=$(mktemp -d)
trap 'rm -rf "$states"' EXIT
export bin states
find "$1" -type f \( -name '*.json' -o -name '*.jsonl' \) -print0 | sort -z |
    xargs -0 -n 64 -P "${2:-$(nproc)}" sh -c '
        # 3: part of a file could not be read; the report lists it.
        "$bin" check --threads 1 --partial "$states/$$.json" --no-report "$@" || [ $? -eq 3 ]' check
"$bin" merge "$states"
