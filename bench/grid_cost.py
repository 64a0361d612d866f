"""What a run costs in a comparison, against the same training by `salience train`, in seconds of the processor.

`salience compare` makes all runs in one process: start-up, data and model are read once a condition, not once a run.
Both kinds of commands run in turn, with the same seeds, and the seconds are those of the commands as a whole. The
comparison also evaluates and writes its report. Goal: at most 1.05.

    python bench/grid_cost.py --data-dir DATA
    python bench/grid_cost.py --data-dir DATA --set subj --rows 200 --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from development import SETS, development_set


def processor_seconds(arguments: list[str]) -> float:
    """The processor's seconds of a command of salience, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "salience", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Makes the same runs by both commands and prints the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", choices=SETS, default="trec")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--methods", nargs="+", default=["plain", "ssmix"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        files = development_set(options.set, options.data_dir, place)
        # Equal steps, which `train` takes too; a comparison would give mixing half as many. It makes no estimates.
        common = [files["data"], "--test", files["test"], "--precision", options.precision]
        alone = 0.0
        for seed in options.seeds:
            for method in options.methods:
                alone += processor_seconds([
                    "train", *common, "--set", f"size={options.rows}", "--method", method, "--seed", str(seed),
                    "--estimate", "none", "--output", f"{place}/{method}-{seed}",
                ])  # fmt: skip
        together = processor_seconds([
            "compare", *common, "--sizes", str(options.rows),
            "--methods", ",".join(options.methods), "--seeds", ",".join(map(str, options.seeds)),
            "--budget", "steps", "--references", "none", "--output", f"{place}/compared",
        ])  # fmt: skip
    runs = len(options.seeds) * len(options.methods)
    print(
        f"{options.set}, {options.rows} rows, {runs} runs: train {alone / runs:.1f} s a run, compare "
        f"{together / runs:.1f} s a run, ratio {together / alone:.2f} (goal: at most 1.05)"
    )


if __name__ == "__main__":
    main()
