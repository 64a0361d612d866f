"""Explains the texts on which methods disagree, by the models that the runs of the first seed have kept.

The explanations are kept in the folder of the comparison, so that a finished grid is reported without its models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from salience.classify import load
from salience.comparison.grid import PATIENCE, Condition, Grid, Key
from salience.comparison.results import DisputedText, SeedPredictions, predictions_of
from salience.data.texts import UNKNOWN, Texts
from salience.errors import counted, listed, one_line
from salience.explainers import EXPLAINERS
from salience.explainers.explain import explain_texts
from salience.explainers.explanation import Explanation, as_json, explanation_of
from salience.files import lock_of, whole_file
from salience.models.precision import for_predictions
from salience.runs.results import Run
from salience.training.recipe import Recipe

EXPLAINER = "gradient"  # as of `salience explain`
EXPLANATIONS = "explanations.jsonl"
LISTED = 5  # runs without a model


@dataclass(frozen=True)
class HeatMaps:
    """The explanations that a report shows.

    Attributes:
        seed: of the runs whose models explain; None if there are no heat maps.
        explainer: its name.
        of_texts: condition and row of a text to method to explanation.
        missing: why methods have none, in lines of text.
    """

    seed: int | None = None
    explainer: str = ""
    of_texts: Mapping[tuple[Condition, int], Mapping[str, Explanation]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ExplainedText:
    """What an explanation is of: a run, and the number of a text in the test file.

    A run that was made again with other weights has other `predictions`, see `digest_of_run`.
    """

    condition: Condition
    method: str
    seed: int
    predictions: str
    row: int


def heat_maps_of(
    grid: Grid, runs: Mapping[Key, Run], recipes: Mapping[Condition, Recipe], predictions: Sequence[SeedPredictions],
    output: Path, note: Callable[[str], None] = print,
) -> HeatMaps:  # fmt: skip
    """Explanations of the texts in a report, by every compared method, for the class that its model predicts.

    Where texts are multi-label, the label is explained about which the methods differ most. Models are loaded
    only for texts whose explanations are not stored yet. References have no models.

    Args:
        recipes: the recipe of the baseline in each condition, of which device and precision are used.
        note: called with a line of text before the first model is loaded, and for what is missing.
    """
    seed, of_texts = grid.seeds[0], dict[tuple[Condition, int], dict[str, Explanation]]()
    absent, missing, begun = [], [], False
    kept = read_explanations(output, note)
    stored, shown = dict(kept), list[ExplainedText]()
    for each in predictions:
        for method in grid.methods:
            condition = each.results.condition
            run = runs[condition, method, seed]
            digest, name = digest_of_run(run), str(run.folder.relative_to(output))
            for key in list(stored):  # those of an earlier run in the place of this one
                if (key.condition, key.method, key.seed) == (condition, method, seed) and key.predictions != digest:
                    del stored[key]
            keyed = {ExplainedText(condition, method, seed, digest, text.row): text for text in each.texts}
            shown += keyed
            wanted = {key: text for key, text in keyed.items() if not is_of(text, stored.get(key))}
            if wanted and not ((run.folder / "config.json").is_file() and any(run.folder.glob("*.safetensors"))):
                absent.append(name)
            elif wanted:
                if not begun:
                    note("explaining the texts on which methods disagree")
                    begun = True
                try:
                    found = explained(list(wanted.values()), run.folder, recipes[condition])
                    stored |= dict(zip(wanted, found, strict=True))
                except (ValueError, OSError, RuntimeError) as error:  # the report is worth more than its heat maps
                    missing.append(f"no heat maps of {name}: {one_line(error, 200) or type(error).__name__}")
            for key, text in keyed.items():
                if is_of(text, stored.get(key)):
                    of_texts.setdefault((condition, text.row), {})[method] = stored[key]
    if absent:
        missing.insert(
            0, f"no heat maps of {counted(len(absent), 'run')} without a model ({listed(absent, LISTED)}): remove the "
            "folder of a run to make it again with its model, or choose --no-heat-maps",
        )  # fmt: skip
    for line in missing:
        note(line)
    if stored != kept or lock_of(output / EXPLANATIONS).exists():  # which a killed command has left
        write_explanations(output, {key: stored[key] for key in (*shown, *stored) if key in stored})
    return HeatMaps(seed, EXPLAINER, of_texts, missing)


def is_of(text: DisputedText, explanation: Explanation | None) -> bool:
    """Whether an explanation is there, and of the label about which methods differ, if that is the question."""
    return explanation is not None and text.contested in (None, explanation.labels[explanation.target])


def explained(disputed: Sequence[DisputedText], folder: Path, recipe: Recipe) -> list[Explanation]:
    """The explanations of N texts by the model of a run, for the class that it predicts or the contested label."""
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


def digest_of_run(run: Run) -> str:
    """The SHA-256 of a run's predicted probabilities, by which explanations are known to be of its model."""
    names, probabilities = repr(tuple(run.labels)), predictions_of(run).probabilities
    return sha256(names.encode("utf-8", "backslashreplace") + probabilities.tobytes()).hexdigest()


def read_explanations(output: Path, note: Callable[[str], None]) -> dict[ExplainedText, Explanation]:
    """The stored explanations by `EXPLAINER`; none if there is no file. Damaged lines are left out, with a note."""
    file, found, damaged = output / EXPLANATIONS, {}, 0
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        note(f"{file} cannot be read ({error.strerror or error}): explanations are made anew")
        return {}
    for line in filter(bytes.strip, content.split(b"\n")):
        try:
            row = json.loads(line)
            of_run = row["method"], row["seed"], row["predictions"]
            key = ExplainedText(Condition(row["data"], row["model"], row["size"]), *of_run, row["row"])
            hash(key)  # a list is no name
            explanation = explanation_of(row)
            if explanation.row is None:
                raise ValueError("no explanation of a test row")
        except (ValueError, KeyError, TypeError, RecursionError):  # also a UnicodeDecodeError
            damaged += 1
            continue
        if EXPLAINER in explanation.scores:
            found[key] = explanation
    if damaged:
        note(f"{file} is damaged in {counted(damaged, 'line')}: these explanations are made anew")
    return found


def write_explanations(output: Path, stored: Mapping[ExplainedText, Explanation]) -> None:
    """Writes explanations in place of those that were there: a line for each text and method, as of `explain`."""
    with whole_file(output / EXPLANATIONS, PATIENCE) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
        for key, explanation in stored.items():
            of_run = {"method": key.method, "seed": key.seed, "predictions": key.predictions}
            row: dict[str, Any] = {**asdict(key.condition), **of_run, **as_json(explanation), "row": key.row}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
