"""Accuracy against time with 100 rows: what each choice of a user costs and brings, and the picture of it.

    python bench/frontier.py --data-dir DATA --larger sentence-transformers/all-mpnet-base-v2
    python bench/frontier.py --show --picture docs/pictures/frontier

The seconds are those of the processor, on one thread, for all that `fit` does: the model is loaded, texts are
tokenized and encoded, and the classifier is trained. Imports, the estimate and the report are not counted. The rows to
train on and 1,000 to test on are of the training files. Every run is a line of OUTPUT, and is not made again. SetFit's
time is that of `--effort best` times the ratio of both in results/studies/default.csv, where they ran together. Its
accuracy is from there too, on the same rows.
"""

from __future__ import annotations

import argparse
import json
from math import log10
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from development import development_set, drawn, rows_of
from salience import SalienceClassifier
from salience.data.texts import Texts
from salience.report.pictures import COLOURS, HoverTexts, Marks, save
from salience.training.baselines import tfidf_probabilities

ROWS = 100
TITLES = {"sst2": "Opinions on films (SST-2)", "trec": "Questions (TREC)"}
CHOICES: dict[str, dict[str, Any]] = {
    "TF-IDF": {},
    "head alone": {"trained_layers": 0},
    "quick": {"effort": "quick"},
    "normal": {"effort": "normal"},
    "best": {"effort": "best", "head_end": "trained"},  # as it was then
    "larger encoder, head alone": {"trained_layers": 0},
    "larger encoder, quick": {"effort": "quick"},
}
SETFIT = "SetFit"
ABOVE: dict[str, Any] = {"xytext": (0, 5), "ha": "right", "va": "bottom"}  # where the name of a choice hides no other
BELOW: dict[str, Any] = {"xytext": (-12, -9), "ha": "left", "va": "top"}


def main() -> None:
    """Adds what is missing, and prints the means or draws them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--sets", nargs="+", default=[*TITLES])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--larger", help="the larger encoder, which is left out without one")
    parser.add_argument("--output", type=Path, default=Path("results/studies/frontier.jsonl"))
    parser.add_argument("--setfit", type=Path, default=Path("results/studies/default.csv"))
    parser.add_argument("--show", action="store_true", help="print what was found")
    parser.add_argument("--picture", type=Path, help="file to draw, without suffix")
    options = parser.parse_args()
    for name in [] if options.show or options.picture else options.sets:
        with TemporaryDirectory() as folder:
            files = development_set(name, options.data_dir, Path(folder))
            pool, tested = rows_of(files["data"]), rows_of(files["test"])
        for seed in options.seeds:
            for choice, settings in CHOICES.items():
                larger = choice.startswith("larger")
                if (larger and not options.larger) or (name, seed, choice) in known(options.output):
                    continue
                model = options.larger if larger else "minilm"
                found = measured(drawn(pool, ROWS, seed)[0], tested, seed, {"model": model} | settings)
                with options.output.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps({"set": name, "seed": seed, "choice": choice} | found) + "\n")
    means = with_setfit(pd.read_json(options.output, lines=True), pd.read_csv(options.setfit))
    print(means.to_string())
    if options.picture:
        save(lambda axes: draw(axes, means), options.picture, size=(8, 3.6), panels=(1, len(TITLES)))


def known(output: Path) -> set[tuple[str, int, str]]:
    """The runs that are there."""
    lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
    return {(run["set"], run["seed"], run["choice"]) for run in map(json.loads, lines)}


def measured(rows: list[dict], tested: list[dict], seed: int, settings: dict[str, Any]) -> dict[str, float]:
    """Accuracy in percent, and seconds of the processor."""
    (texts, labels), (unseen, right) = (
        ([row["text"] for row in own], np.array([row["label"] for row in own])) for own in (rows, tested)
    )
    started = process_time()
    if settings.keys() == {"model"}:
        classes, numbers = np.unique(labels, return_inverse=True)
        own = Texts(texts, labels=numbers.tolist())
        predicted = classes[tfidf_probabilities(own, Texts.of(unseen), len(classes)).argmax(1)]
        seconds = process_time() - started
    else:
        classifier = SalienceClassifier(**settings, precision="fp32", random_state=seed).fit(texts, labels)
        seconds = process_time() - started
        predicted = classifier.predict(unseen)
    return {"accuracy": round(100 * float(np.mean(predicted == right)), 1), "seconds": round(seconds, 2)}


def with_setfit(runs: pd.DataFrame, beside: pd.DataFrame) -> pd.DataFrame:
    """The means by set and choice, and SetFit's."""
    means = runs.groupby(["set", "choice"])[["accuracy", "seconds"]].mean()
    of_size = beside[beside["size"] == ROWS]
    for name in runs["set"].unique():
        own = of_size[of_size["data"] == name].groupby("method")[["accuracy", "seconds"]].mean()
        if {"setfit", "default"} <= {*own.index} and (name, "best") in means.index:
            ratio = own.loc["setfit", "seconds"] / own.loc["default", "seconds"]
            means.loc[(name, SETFIT), :] = own.loc["setfit", "accuracy"], ratio * means.loc[(name, "best"), "seconds"]
    return means.sort_values(["set", "seconds"])


def draw(axes: np.ndarray, means: pd.DataFrame) -> HoverTexts:
    """A panel a set."""
    texts: dict[Marks, list[str]] = {}
    panels: list[Axes] = list(axes)
    for panel, (name, title) in zip(panels, TITLES.items(), strict=True):
        for choice, accuracy, seconds in means.loc[name].itertuples():
            colour = COLOURS[1] if choice == SETFIT else COLOURS[2] if choice.startswith("larger") else COLOURS[0]
            (line,) = panel.plot([log10(seconds)], [accuracy], "o", color=colour)
            place = ABOVE if choice in ("head alone", "normal", "larger encoder, quick", SETFIT) else BELOW
            panel.annotate(choice, (log10(seconds), accuracy), textcoords="offset points", fontsize="x-small", **place)
            texts[line] = [f"{choice}: {accuracy:.1f} % in {seconds:.0f} s"]
        panel.set(xlim=(-1.6, 3), ylim=(55, 94), xlabel="processor seconds")
        panel.set_xticks(range(-1, 4), labels=["0.1", "1", "10", "100", "1,000"])
        panel.set_title(title, fontsize="small")
    panels[0].set_ylabel("accuracy in %")
    return texts


if __name__ == "__main__":
    main()
