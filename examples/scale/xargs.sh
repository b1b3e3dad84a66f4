#!/bin/sh
# A corpus in parts, with nothing but xargs: `examples/scale/xargs.sh DIRECTORY [PROCESSES]`.
#
# A part is up to 64 files. Built before: cargo build --release --example scan --example merge
set -eu
bin=${BIN:-target/release/examples}
states=$(mktemp -d)
trap 'rm -rf "$states"' EXIT
export bin states
find "$1" -type f \( -name '*.json' -o -name '*.jsonl' \) -print0 | sort -z |
    xargs -0 -n 64 -P "${2:-$(nproc)}" sh -c '
        # 2: not all of a file could be read; the report says what.
        "$bin/scan" --threads 1 --partial "$states/$$.json" --no-report "$@" || [ $? -eq 2 ]' scan
"$bin/merge" "$states"
