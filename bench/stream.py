"""Peak memory of `salience predict` or `explain` on very many short rows: after a tenth of them as at the end.

Writes a csv of `--rows` rows to a temporary folder, runs the command on it in a process of its own, with a
tiny random BERT that reads MiniLM's tokens, and notes the process's peak resident memory (Linux: VmHWM) when it has
read 10 %, 50 % and all of the file. Then it checks that the output has every row, in order. It exits with 1 if rows
are missing or the peak has grown by more than a tenth since the first mark. It takes minutes; with fewer than 100,000
rows the first mark lies in the first window of rows, and says nothing. With `--words`, rows are long documents, and
the peak may be 1 GiB at most.

    python bench/stream.py
    python bench/stream.py --rows 100000 --suffix .parquet --threads 1
    python bench/stream.py --command explain --rows 100000
    python bench/stream.py --rows 400 --words 40000
"""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import time
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from transformers import BertConfig, BertForSequenceClassification

from salience.data.reading import stream
from salience.models.loading import load_tokenizer
from side_by_side import parser, prepare, save

MARKS = (0.1, 0.5)  # shares of the file that has been read
GROWTH = 1.1  # allowed from the first mark to the end
LARGEST = 1024  # MiB allowed for rows of `--words`, of which one window of rows can be the whole file
POLL = 0.05  # seconds
WORDS = ("a", "fine", "film", "with", "no", "plot,", '"they', 'said";', "but", "we", "laughed", "and", "cried", "!")


def write_rows(file: Path, rows: int, seed: int, words: int | None = None) -> None:
    chooser = random.Random(seed)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["number", "text"])
        for number in range(rows):
            writer.writerow([number, " ".join(chooser.choices(WORDS, k=words or chooser.randint(2, 16)))])


def save_tiny_classifier(folder: Path, seed: int) -> None:
    """Two layers of width 32: the reading, tokenising and writing are what is watched here."""
    torch.manual_seed(seed)
    tokenizer = load_tokenizer("minilm")
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def watch(command: list[str], file: Path, threads: int | None) -> tuple[dict[str, float], float]:
    """Runs `command`: the peak MiB of its memory at every mark of its way through `file`, and its seconds."""
    environment = os.environ | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    peaks: dict[str, float] = {}
    last = 0.0
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment)
    while process.poll() is None:
        last = peak_memory(process.pid) or last
        share = position(process.pid, file) / file.stat().st_size
        for mark in MARKS:
            if share >= mark and f"{mark:.0%}" not in peaks:
                peaks[f"{mark:.0%}"] = last
        time.sleep(POLL)
    if process.returncode:
        raise SystemExit(f"the command ended with {process.returncode}")
    return peaks | {"100%": last}, time.monotonic() - start


def peak_memory(process: int) -> float | None:
    """The peak of a process's resident memory in MiB; None once it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), None)


def position(process: int, file: Path) -> int:
    """How far into `file` a process has read, in bytes; 0 while it is not open."""
    try:
        for opened in Path(f"/proc/{process}/fd").iterdir():
            if os.readlink(opened) == str(file):
                return int(Path(f"/proc/{process}/fdinfo/{opened.name}").read_text().split()[1])
    except OSError:  # closed meanwhile, or the process is gone
        pass
    return 0


def explained(output: Path, data: Path) -> bool:
    """Whether the output has the words of every row of the input in its place, each with a score."""
    for row, own in zip_longest(stream(data), stream(output), fillvalue=None):
        if row is None or own is None or own["words"] != row["text"].split():
            return False
        if any(len(scores) != len(own["words"]) for scores in own["scores"].values()):
            return False
    return True


def in_order(output: Path, rows: int) -> bool:
    """Whether the output has every row of the input in its place, each with a label."""
    count = 0
    for count, row in enumerate(stream(output), 1):
        if int(row["number"]) != count - 1 or not row["predicted"]:
            return False
    return count == rows


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--words", type=int, help="of each row [2 to 16]")
    arguments.add_argument("--command", default="predict", choices=["predict", "explain"])
    arguments.add_argument("--suffix", choices=[".csv", ".jsonl", ".parquet"], help="of the predictions [.csv]")
    options = arguments.parse_args()
    machine = prepare(options)
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        suffix = options.suffix or {"predict": ".csv", "explain": ".jsonl"}[options.command]
        data, output = folder / "rows.csv", folder / f"found{suffix}"
        write_rows(data, options.rows, options.seed, options.words)
        save_tiny_classifier(folder / "model", options.seed)
        print(f"{options.rows} rows, {data.stat().st_size / 2**20:.1f} MiB", flush=True)
        command = [sys.executable, "-m", "salience", options.command, str(folder / "model"), str(data)]
        peaks, seconds = watch([*command, "--output", str(output), "--device", options.device], data, options.threads)
        complete = in_order(output, options.rows) if options.command == "predict" else explained(output, data)
    for mark, peak in peaks.items():
        print(f"{mark:>4} of the rows: peak {peak:.0f} MiB")
    if options.words:
        fits, allowed = peaks["100%"] <= LARGEST, f"peak allowed: {LARGEST} MiB"
    else:
        growth = peaks["100%"] / peaks["10%"]
        fits, allowed = growth <= GROWTH, f"peak at the end / at 10%: {growth:.3f} (allowed {GROWTH})"
    print(f"{allowed}; every row in its place: {complete}")
    print(f"{seconds:.0f} seconds, {options.rows / seconds:.0f} rows a second, the start of the program included")
    save(options, machine, {"peak_mebibytes": peaks, "seconds": seconds, "complete": complete})
    return 0 if complete and fits else 1


if __name__ == "__main__":
    sys.exit(main())
