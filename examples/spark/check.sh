#!/bin/sh
# Compares the job with one process: `examples/spark/check.sh [DIRECTORY [PARTITIONS…]]`, after setup.sh.
#
# Reports must be equal byte for byte at each number of partitions, for scans and replications, for files opened in
# place and fetched through Hadoop, and after a task was killed.
set -eu
cd "$(dirname "$0")/../.."
input=$(realpath "${1:-golden/tau2}")
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- 1 3 8 64
bin=$PWD/target/spark/bin/wrongturn
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
job() {
    out=$1
    shift
    # 3: some files could not be read.
    target/spark/venv/bin/python examples/spark/job.py "$input" --bin "$bin" --out "$work/$out" "$@" \
        2>"$work/log" || [ $? -eq 3 ] || { cat "$work/log" >&2; exit 1; }
    grep ' partitions, ' "$work/log"
}
same() {
    cmp "$work/$1" "$work/$2" && echo "same: $2"
}

begin=$(date +%s.%N)
"$bin" check "$input" --html "$work/scan.html" >"$work/scan.txt" 2>"$work/log" || [ $? -eq 3 ]
echo "one process: check in $(echo "$(date +%s.%N) - $begin" | bc) s"
"$bin" replicate "$input" --pass-k --json "$work/sims.json" --html "$work/sims.html" \
    >"$work/sims.txt" 2>"$work/log" || [ $? -eq 3 ]
(cd "$input" && "$bin" check *.json >"$work/relative.txt" 2>"$work/log") || [ $? -eq 3 ]

for partitions in "$@"; do
    job "scan-$partitions" --partitions "$partitions" --findings "$work/findings-$partitions"
    same scan.txt "scan-$partitions/report.txt"
    same scan.html "scan-$partitions/report.html"
    job "sims-$partitions" --partitions "$partitions" --kind replication --options=--pass-k
    same sims.txt "sims-$partitions/report.txt"
    same sims.json "sims-$partitions/summary.json"
    same sims.html "sims-$partitions/report.html"
done
job killed --partitions 8 --kill-once --keep-states "$work/states"
same scan.txt killed/report.txt
echo "states kept: $(ls "$work/states" | wc -l), splits: $(
    cat "$work/states"/*.json | grep -o '"splits":{"[^"]*"' | sort -u | wc -l)"
"$bin" merge "$work/states" --partial "$work/again.json"
cmp "$work/again.json" "$work/killed/state.json" && echo "same: the states of all attempts, merged"
job fetched --partitions 3 --read fetched
same relative.txt fetched/report.txt
