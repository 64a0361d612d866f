"""The explanations of a comparison's texts in a file, so that a finished grid is reported without its models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from salience.comparison.files import EXPLANATIONS, PATIENCE
from salience.comparison.grid import Condition
from salience.comparison.kept_runs import KeptRun
from salience.errors import counted
from salience.explainers.explanation import Explanation
from salience.explainers.explanation_rows import as_json, explanation_of
from salience.files import whole_file


@dataclass(frozen=True)
class ExplainedText:
    """What an explanation is of.

    Args:
        condition, method, seed: the run.
        predictions: `digest_of_run`; a run that was made again with other weights has another one.
        row: the number of the text in the test file.
    """

    condition: Condition
    method: str
    seed: int
    predictions: str
    row: int


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


Stored = dict[ExplainedText, Explanation]


def digest_of_run(run: KeptRun) -> str:
    """The SHA-256 of a run's predicted probabilities, by which explanations are known to be of its model."""
    return sha256(repr(run.names).encode("utf-8", "backslashreplace") + run.probabilities.tobytes()).hexdigest()


def read_explanations(output: Path, explainer: str, note: Callable[[str], None]) -> Stored:
    """The stored explanations by an explainer; none if there is no file. Damaged lines are left out, with a note.

    Args:
        output: the folder of the comparison.
        explainer: its name.
        note: called with a line of text.
    """
    file, found, damaged = output / EXPLANATIONS, {}, 0
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        note(f"{file} cannot be read ({error.strerror or error}): explanations are made anew")
        return {}
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            key, explanation = from_row(json.loads(line))
        except (ValueError, RecursionError):  # also a UnicodeDecodeError
            damaged += 1
            continue
        if explainer in explanation.scores:
            found[key] = explanation
    if damaged:
        note(f"{file} is damaged in {counted(damaged, 'line')}: these explanations are made anew")
    return found


def write_explanations(output: Path, stored: Stored) -> None:
    """Writes explanations in place of those that were there, a line for each text and method."""
    lines = (json.dumps(as_row(key, explanation), ensure_ascii=False) for key, explanation in stored.items())
    with whole_file(output / EXPLANATIONS, PATIENCE) as unfinished:
        unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def as_row(key: ExplainedText, explanation: Explanation) -> dict[str, Any]:
    """A line of the file: what the explanation is of, and what `salience explain` writes of it."""
    of_run = {"method": key.method, "seed": key.seed, "predictions": key.predictions}
    return {**asdict(key.condition), **of_run, **as_json(explanation), "row": key.row}


def from_row(row: Any) -> tuple[ExplainedText, Explanation]:
    """What `as_row` wrote.

    Raises:
        ValueError: the line is damaged.
    """
    try:
        condition = Condition(row["data"], row["model"], row["size"])
        key = ExplainedText(condition, row["method"], row["seed"], row["predictions"], row["row"])
        hash(key)  # a list is no name
    except (KeyError, TypeError) as error:
        raise ValueError(f"no explanation ({type(error).__name__}: {error})") from error
    explanation = explanation_of(row)
    if explanation.row is None:
        raise ValueError("no explanation of a test row")
    return key, explanation
