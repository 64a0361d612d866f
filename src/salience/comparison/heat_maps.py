"""Explains the texts on which methods disagree, by the models that the runs of the first seed have kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from salience.classify import load
from salience.comparison.evidence import (
    DisputedText,
    ExplainedText,
    GridEvidence,
    HeatMaps,
    Stored,
    digest_of_run,
    read_explanations,
    write_explanations,
)
from salience.comparison.grid import Condition, Run
from salience.comparison.planning import FinishedGrid
from salience.data.texts import UNKNOWN, Texts
from salience.errors import counted, listed, one_line
from salience.explainers import EXPLAINERS
from salience.explainers.explain import explain_texts
from salience.explainers.explanation import Explanation
from salience.models.precision import for_predictions
from salience.training.recipe import Recipe

EXPLAINER = "gradient"  # as of `salience explain`
LISTED = 5  # runs without a model


def heat_maps_of(
    evidence: GridEvidence, finished: FinishedGrid, output: Path, note: Callable[[str], None] = print
) -> HeatMaps:
    """Explanations of the texts in a report, by every compared method, for the class that its model predicts.

    Where a text can have several labels, the label is explained about which the methods differ most.

    They are stored in the folder of the comparison. Models are loaded only for texts whose explanations are missing
    there. References have no models.

    Args:
        evidence: what the report shows.
        finished: the runs that it is of.
        output: the folder of the comparison.
        note: called with a line of text for what is missing.
    """
    grid = finished.grid
    seed = grid.seeds[0]
    kept = read_explanations(output, EXPLAINER, note)
    explaining = Explaining(finished, output, note, dict(kept))
    of_texts: dict[tuple[Condition, int], dict[str, Explanation]] = {}
    for predictions in evidence.predictions:
        condition = predictions.results.condition
        for method in (each for each in grid.recipes if each not in grid.references):
            for row, explanation in explaining.of_run((condition, method, seed), predictions.texts).items():
                of_texts.setdefault((condition, row), {})[method] = explanation
    missing = explaining.missing
    for line in missing:
        note(line)
    if explaining.stored != kept:
        write_explanations(output, explaining.stored)
    return HeatMaps(seed, EXPLAINER, of_texts, missing)


@dataclass
class Explaining:
    """Explains texts by the models of runs, one after the other.

    Args:
        finished: the runs.
        output: the folder of the comparison.
        note: called with a line of text before the first model is loaded.
        stored: the explanations that are known, to which new ones are added.
        absent: the folders of runs that have kept no model.
        failed: a line on each run whose model cannot explain.
    """

    finished: FinishedGrid
    output: Path
    note: Callable[[str], None]
    stored: Stored
    absent: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    begun: bool = False

    @property
    def missing(self) -> list[str]:
        """A line for each reason why explanations are missing."""
        return [*([absent_in_words(self.absent)] if self.absent else []), *self.failed]

    def of_run(self, run: Run, texts: Sequence[DisputedText]) -> dict[int, Explanation]:
        """The explanations by the model of a run, by the rows of their texts, as far as there are any."""
        digest = digest_of_run(self.finished.runs[run])
        for outdated in [key for key in self.stored if is_outdated(key, run, digest)]:
            del self.stored[outdated]
        keys = {text.row: ExplainedText(*run, digest, text.row) for text in texts}
        if wanted := [text for text in texts if not is_of(text, self.stored.get(keys[text.row]))]:
            found = self.explained(run, wanted)
            self.stored |= {keys[row]: explanation for row, explanation in found.items()}
        return {
            text.row: self.stored[keys[text.row]] for text in texts if is_of(text, self.stored.get(keys[text.row]))
        }

    def explained(self, run: Run, texts: Sequence[DisputedText]) -> dict[int, Explanation]:
        """New explanations by the model of a run, by row; none if it has no model, or one that cannot explain."""
        folder = self.finished.folders[run]
        if not has_model(folder):
            self.absent.append(str(folder.relative_to(self.output)))
            return {}
        if not self.begun:
            self.note("explaining the texts on which methods disagree")
            self.begun = True
        try:
            found = explained(texts, folder, self.finished.filled_in[run[0]])
        except (ValueError, OSError, RuntimeError) as error:  # the report is worth more than its heat maps
            self.failed.append(f"no heat maps of {folder.relative_to(self.output)}: {in_a_line(error)}")
            return {}
        return {text.row: explanation for text, explanation in zip(texts, found, strict=True)}


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
    classifier = load(folder, device=recipe.device, precision=for_predictions(recipe.precision))
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
