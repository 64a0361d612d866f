"""Methods side by side on one file of labelled texts: trained alike over several seeds, judged on the same rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import norm
from transformers import TrainerCallback

from salience.comparison.statistics import Difference, difference
from salience.errors import InputError, listed
from salience.files import locked, resolved, whole_file
from salience.mixing.choosing import choose_method
from salience.training.arguments import check_device
from salience.training.folder import RunFolder, changed, read_recipe, work_of
from salience.training.manifest import RECIPE
from salience.training.recipe import Recipe
from salience.training.run import prepare, silent, train

SCORES = ("accuracy", "macro_f1", "calibration_error", "log_loss")
IN_PERCENT = {"accuracy": 100, "macro_f1": 100}
COMPARISON = "comparison.json"


@dataclass(frozen=True)
class Comparison:
    """The scores of every method, a value a seed, and what is said of their differences to the first method.

    `rows` are the test rows; `by_rows` is how far, either way, a difference of accuracies would move on other test
    rows of that number (half of its 95 % interval over rows). Accuracies and macro-F1 are in percent here.
    """

    seeds: list[int]
    rows: int
    scores: dict[str, dict[str, list[float]]]  # method -> score -> (S,)
    differences: dict[str, dict[str, Difference]]  # method -> score
    by_rows: dict[str, float]  # method

    @property
    def baseline(self) -> str:
        return next(iter(self.scores))

    def verdict(self, method: str) -> str:
        """Whether accuracy is another than the baseline's beyond what seeds and rows explain by chance."""
        found = self.differences[method]["accuracy"]
        if found.low is None:
            return f"{method}: at every seed the same difference to {self.baseline}, so that chance cannot be told"
        if not (found.beyond_chance and abs(found.mean) > self.by_rows[method]):
            return f"{method}: no difference to {self.baseline} beyond chance"
        return f"{method}: {'better' if found.mean > 0 else 'worse'} than {self.baseline} beyond chance"


def compare(
    base: Recipe,
    methods: Sequence[str],
    seeds: Sequence[int],
    output: Path,
    note: Callable[[str], None] = print,
    callbacks: Sequence[TrainerCallback] = (),
) -> Comparison:
    """Trains every method with every seed and compares them with the first.

    A seed is that of everything drawn: the validation part, the fresh head, batches, mixtures. Each run leaves its
    scores, predictions and recipe in `output/METHOD-SEED`; runs that are there are not run again, and one that was
    killed goes on.

    Raises:
        InputError: fewer than two methods or seeds, no test rows, or an output that holds runs of other settings.
    """
    for method in methods:
        choose_method(method, base.method_options)
    if len(set(methods)) < max(2, len(methods)):
        raise InputError(f"--methods {','.join(methods)}: name at least two, each once, as in --methods plain,ssmix")
    if len(set(seeds)) < max(2, len(seeds)):
        raise InputError("--seeds: one run is no measurement; name at least two, each once, as in --seeds 0,1,2")
    if base.test is None and Path(base.data).exists():
        raise InputError(f"{base.data}: comparing takes rows that choose nothing; name a file of them with --test")
    check_device(base)
    check_comparison(output)
    with locked(resolved(output)):
        # What is left open is filled in once: kept runs are compared with the settings that these runs would have.
        resolved_base = prepare(replace(base, method=methods[0], seed=seeds[0]), silent).recipe
        runs: dict[tuple[str, int], dict] = {}
        for seed in seeds:  # a comparison that is stopped has run all methods with its first seeds
            for method in methods:
                recipe = replace(base, method=method, seed=seed, checksums=resolved_base.checksums)
                folder = output / f"{method}-{seed}"
                if kept(replace(resolved_base, method=method, seed=seed), folder):
                    RunFolder(folder).discard_work()  # of a process that was killed when the run was done already
                else:
                    # Ten models take gigabytes, and any of them comes out of its recipe again.
                    train(
                        recipe, folder, resume=True, note=silent if runs else note, callbacks=callbacks,
                        keep_model=False,
                    )  # fmt: skip
                runs[method, seed] = read(folder)
                note(f"{method}, seed {seed}: accuracy {runs[method, seed]['metrics']['test']['accuracy']:.3f}")
        comparison = compared(runs, list(methods), list(seeds))
        with whole_file(output / COMPARISON) as unfinished:
            unfinished.write_text(json.dumps(asdict(comparison), indent=2) + "\n", encoding="utf-8")
    return comparison


def check_comparison(output: Path) -> None:
    """Refuses to replace a file that no comparison wrote.

    Raises:
        InputError: such a file has the name of the comparison's results.
    """
    file = output / COMPARISON
    if not os.path.lexists(file):
        return
    try:
        known = {"scores", "differences"} <= json.loads(file.read_text(encoding="utf-8")).keys()
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        raise InputError(f"{file} was not written by a comparison and is not replaced: choose another --output")


def kept(wanted: Recipe, folder: Path) -> bool:
    """Whether this run has been made before.

    Args:
        wanted: the run's recipe with nothing left open.

    Raises:
        InputError: a run of other settings, or on other data, has its name; or its recipe is damaged.
    """
    settings = wanted.as_mapping()
    for place in (folder, work_of(folder)):
        if (place / RECIPE).is_file():
            before = read_recipe(place / RECIPE)
            for name in changed({"checksums": settings["checksums"]} | before, settings):  # earlier versions had none
                if name == "checksums":
                    files = listed(changed(before[name] or {}, settings[name]) or before[name])
                    raise InputError(f"{folder} was run on another content of {files}: choose another --output")
                raise InputError(
                    f"{folder} was run with {name}={before.get(name)!r}, not {settings[name]!r}: "
                    "choose another --output"
                )
    return (folder / RECIPE).is_file()


def read(folder: Path) -> dict:
    """The scores of a run, and for each test row whether it was right (N,).

    Raises:
        InputError: it was judged on rows that chose its checkpoint, or its files are damaged.
    """
    try:
        metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        judged_on = metrics.get("judged_on")
        if judged_on == "test":
            with (folder / "predictions.jsonl").open(encoding="utf-8", newline="\n") as file:
                rows = [json.loads(line) for line in file]
            right = np.array([row["label"] == row["predicted"] for row in rows])
            if len(right) != metrics["rows"]["test"] or not set(SCORES) <= metrics["test"].keys():
                raise ValueError("rows or scores are missing")
            return {"metrics": metrics, "right": right}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder} is damaged ({reason}): remove this folder, and its run is made again") from error
    raise InputError("comparing takes rows that choose nothing, and the data set has no test part: name a --test")


def compared(found: dict[tuple[str, int], dict], methods: list[str], seeds: list[int]) -> Comparison:
    """What the runs say together, each method's values paired with the first method's, seed by seed."""
    scores = {
        method: {
            score: [IN_PERCENT.get(score, 1) * found[method, seed]["metrics"]["test"][score] for seed in seeds]
            for score in SCORES
        }
        for method in methods
    }
    baseline, others = methods[0], methods[1:]
    right = {method: np.mean([found[method, seed]["right"] for seed in seeds], axis=0) for method in methods}
    rows = len(right[baseline])
    widths = norm.ppf(1 - 0.025 / len(others))  # standard errors in half of an interval
    return Comparison(
        seeds,
        rows,
        scores,
        {
            method: {
                score: difference(scores[method][score], scores[baseline][score], len(others)) for score in SCORES
            }
            for method in others
        },
        {method: 100 * float(widths * (right[method] - right[baseline]).std() / rows**0.5) for method in others},
    )
