"""Explains the texts on which methods disagree, by the models that the runs of the first seed have kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from salience.comparison.evidence import DisputedText, GridEvidence
from salience.comparison.grid import Condition, Grid, Run
from salience.comparison.kept_runs import KeptRun
from salience.comparison.stored_explanations import (
    ExplainedText,
    HeatMaps,
    digest_of_run,
    read_explanations,
    write_explanations,
)
from salience.data.texts import UNKNOWN, Texts
from salience.errors import counted, listed, one_line
from salience.explainers import EXPLAINERS
from salience.explainers.explanation import Explanation
from salience.explainers.explanations import explain_texts
from salience.inference import load
from salience.training.recipe import Recipe

EXPLAINER = "gradient"  # as of `salience explain`
LISTED = 5  # runs without a model


def heat_maps_of(
    evidence: GridEvidence,
    grid: Grid,
    runs: Mapping[Run, KeptRun],
    folders: Mapping[Run, Path],
    filled_in: Mapping[Condition, Recipe],
    output: Path,
    note: Callable[[str], None] = print,
) -> HeatMaps:
    """Explanations of the texts in a report, by every compared method, for the class that its model predicts.

    Where a text can have several labels, the label is explained about which the methods differ most.

    They are stored in the folder of the comparison. Models are loaded only for texts whose explanations are missing
    there. References have no models.

    Args:
        evidence: what the report shows.
        grid: the grid that it is of.
        runs: the finished runs.
        folders: their folders.
        filled_in: the baseline's recipe of each condition with nothing left open.
        output: the folder of the comparison.
        note: called with a line of text for what is missing.
    """
    seed = grid.seeds[0]
    kept = read_explanations(output, EXPLAINER, note)
    stored, absent, missing = dict(kept), [], []
    of_texts: dict[tuple[Condition, int], dict[str, Explanation]] = {}
    told = False
    for predictions in evidence.predictions:
        condition = predictions.results.condition
        for method in (each for each in grid.recipes if each not in grid.references):
            run, folder = (condition, method, seed), folders[condition, method, seed]
            keys = {text.row: ExplainedText(*run, digest_of_run(runs[run]), text.row) for text in predictions.texts}
            for outdated in [key for key in stored if is_outdated(key, run, digest_of_run(runs[run]))]:
                del stored[outdated]
            wanted = [text for text in predictions.texts if not is_of(text, stored.get(keys[text.row]))]
            if wanted and not has_model(folder):
                absent.append(str(folder.relative_to(output)))
            elif wanted:
                if not told:
                    note("explaining the texts on which methods disagree")
                    told = True
                try:
                    found = explained(wanted, folder, filled_in[condition])
                    stored |= {keys[text.row]: each for text, each in zip(wanted, found, strict=True)}
                except (ValueError, OSError, RuntimeError) as error:  # the report is worth more than its heat maps
                    missing.append(f"no heat maps of {folder.relative_to(output)}: {in_a_line(error)}")
            for text in predictions.texts:
                if is_of(text, stored.get(keys[text.row])):
                    of_texts.setdefault((condition, text.row), {})[method] = stored[keys[text.row]]
    if absent:
        missing.insert(0, absent_in_words(absent))
    for line in missing:
        note(line)
    if stored != kept:
        write_explanations(output, stored)
    return HeatMaps(seed, EXPLAINER, of_texts, missing)


def is_outdated(key: ExplainedText, run: Run, predictions: str) -> bool:
    """Whether an explanation is of an earlier run in the place of this one."""
    return (key.condition, key.method, key.seed) == run and key.predictions != predictions


def is_of(text: DisputedText, explanation: Explanation | None) -> bool:
    """Whether an explanation is there, and of the label about which methods differ, if that is the question."""
    return explanation is not None and text.contested in (None, explanation.labels[explanation.target])


def has_model(folder: Path) -> bool:
    """Whether the folder of a run has its model."""
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))


def explained(disputed: Sequence[DisputedText], folder: Path, recipe: Recipe) -> list[Explanation]:
    """The explanations of N texts by the model of a run, for the class that it predicts or the contested label.

    Args:
        disputed: the texts.
        folder: of the run.
        recipe: its settings, of which device and precision are used.

    Raises:
        ValueError: the model is damaged, or the explainer does not fit it.
    """
    # fp16 is for training only.
    precision = "auto" if recipe.precision == "fp16" else recipe.precision
    classifier = load(folder, device=recipe.device, precision=precision)
    labels, pairs = classifier.labels, any(text.second is not None for text in disputed)
    texts = Texts(
        [text.text for text in disputed],
        [text.second or "" for text in disputed] if pairs else None,
        np.array([labels.index(text.label) if text.label in labels else UNKNOWN for text in disputed]),
        [text.row for text in disputed],
    )
    explainers = {EXPLAINER: EXPLAINERS[EXPLAINER]}
    if not classifier.multi_label:
        return list(explain_texts(classifier, texts, explainers))
    unlabelled = replace(texts, labels=None)
    return [
        next(iter(explain_texts(classifier, unlabelled.take([place]), explainers, labels.index(text.contested or ""))))
        for place, text in enumerate(disputed)
    ]


def absent_in_words(folders: Sequence[str]) -> str:
    """A line on runs that have kept no model."""
    return (
        f"no heat maps of {counted(len(folders), 'run')} without a model ({listed(folders, LISTED)}): remove the "
        "folder of a run to make it again with its model, or choose --no-heat-maps"
    )


def in_a_line(error: Exception) -> str:
    """The message of an error, cut to a line."""
    return one_line(error, 200) or type(error).__name__
