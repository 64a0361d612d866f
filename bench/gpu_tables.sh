#!/usr/bin/env bash
# The papers' tables on a GPU that is lent for a while: several cells at once on one device, until the time is over.
#
#     bench/gpu_tables.sh DATA RESULTS ssmix-table2 dropmix-table3
#
# DATA is a folder of data sets as `salience reproduce` reads it, RESULTS a folder for the results files. What is there
# is not run again, so the script can be started any number of times. `salience reproduce TABLE --merge
# RESULTS/TABLE.jsonl` adds the runs to those of another machine. Variables with their defaults:
#
#     SECONDS_IN_ALL=540 JOBS=8 SEEDS=0,1,2,3,4 PRECISION=bf16 PYTHON=.venv/bin/python, else python3
#     MODEL= and ROWS= for tables of mixing methods: another encoder than MiniLM, and numbers of training rows
#
# `claims` counts the runs of the papers' tables beside its file, so copy results/*.jsonl to RESULTS before; its list is in
# the order of what it decides. SEEDS are the draws.
#
# Processes compute on one GPU at the same time only under CUDA's Multi-Process Service (nvidia-cuda-mps-control -d).
# Commands of other kinds, a line each, as of bench/study.py, run at once and until the time is over by
#
#     timeout --signal=INT --kill-after=10 540 xargs -d '\n' -P 16 -I{} bash -c {} < COMMANDS
set -uo pipefail

[ $# -ge 3 ] || { sed -n '2,19p' "$0"; exit 2; }
data=$(realpath "$1") results=$(realpath -m "$2")
shift 2
cd "$(dirname "$0")/.." || exit
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)}
export PYTHONPATH=src${PYTHONPATH:+:$PYTHONPATH}
end=$(($(date +%s) + ${SECONDS_IN_ALL:-540}))
mkdir -p "$results"

for table in "$@"; do
    left=$((end - $(date +%s)))
    [ "$left" -gt 0 ] || { echo "$table: no time is left"; continue; }
    # An interrupt lets finished cells be written; a cell that hangs is killed half a minute later.
    timeout --signal=INT --kill-after=30 "$left" "$python" -m salience reproduce "$table" --data-dir "$data" \
        --seeds "${SEEDS:-0,1,2,3,4}" --results "$results/$table.jsonl" --precision "${PRECISION:-bf16}" \
        --jobs "${JOBS:-8}" ${MODEL:+--model "$MODEL"} ${ROWS:+--rows "$ROWS"}
    echo "$table: $(cat "$results/$table.jsonl" 2>/dev/null | wc -l) runs in $results/$table.jsonl"
done
