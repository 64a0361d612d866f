#!/usr/bin/env bash
# Training steps on a GPU: bench/steps.py for every batch size, length and way of compiling, merged into one JSON file.
#
#     bench/gpu.sh [results/gpu.json]
#
# It needs this repository and the packages it depends on; texts are random. A cell that fails, for want of memory, say,
# or takes too long is recorded with its error and with what it had measured until then, and the others go on. The file
# is written anew after every cell, so that nothing is lost if the script is stopped. Variables with their defaults:
#
#     DEVICE=cuda PRECISION=bf16 BATCHES="32 256" LENGTHS="32 128 512" COMPILE="no layers"  (or model)
#     METHODS=""  (all)  MODEL=minilm  (a random BERT of base size where it is not installed, or with base)
#     REPETITIONS=7 PER_REPETITION=2  (batches)  CELL_SECONDS=1800  THREADS=""  PYTHON=.venv/bin/python, else python3
set -uo pipefail

output=$(realpath -m "${1:-$(dirname "$0")/../results/gpu.json}")
cd "$(dirname "$0")/.." || exit
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)}
export PYTHONPATH=src${PYTHONPATH:+:$PYTHONPATH}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$(dirname "$output")"

# Adds the cell in `folder` to the output, as a line of what was set and what came out.
merge='
import json, pathlib, sys
output, folder, status, *settings = sys.argv[1:]
output, folder = pathlib.Path(output), pathlib.Path(folder)
cell = dict(zip(("compile", "batch_size", "length", "precision", "device"), settings))
cell |= {name: int(cell[name]) for name in ("batch_size", "length")}
if status != "0":
    lines = (folder / "log").read_text(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing was printed")
    cell["error"] = {"124": "stopped: it took too long", "137": "killed"}.get(status, last[:300])
if (folder / "cell.json").exists():
    cell |= json.loads((folder / "cell.json").read_text())
merged = {"cells": []}
if (folder / "merged.json").exists():
    merged = json.loads((folder / "merged.json").read_text())
merged["cells"].append(cell)
for file in (folder / "merged.json", output):
    file.write_text(json.dumps(merged, indent=1) + "\n")
'

# The cells that are done soonest come first.
for compile in ${COMPILE:-no layers}; do
    for length in ${LENGTHS:-32 128 512}; do
        for batch_size in ${BATCHES:-32 256}; do
            echo "=== compile $compile, batches of $batch_size, $length tokens"
            rm -f "$folder/cell.json" "$folder/log"
            # shellcheck disable=SC2046,SC2086  # these are lists of words
            timeout --kill-after=10 "${CELL_SECONDS:-1800}" "$python" bench/steps.py \
                --device "${DEVICE:-cuda}" --precision "${PRECISION:-bf16}" --model "${MODEL:-minilm}" \
                --batch-size "$batch_size" --length "$length" --json "$folder/cell.json" \
                --repetitions "${REPETITIONS:-7}" --batches "${PER_REPETITION:-2}" \
                $([ "$compile" = no ] || echo --compile "$compile") ${THREADS:+--threads "$THREADS"} ${METHODS:+--methods $METHODS} \
                2>&1 | tee "$folder/log"
            status=${PIPESTATUS[0]}
            "$python" -c "$merge" "$output" "$folder" "$status" "$compile" "$batch_size" "$length" \
                "${PRECISION:-bf16}" "${DEVICE:-cuda}"
            [ "$status" = 0 ] || echo "failed with exit code $status; recorded"
        done
    done
done
echo "wrote $(basename "$output")"
