"""The measures: what `salience compare` can measure of a run beside its scores on test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from salience.errors import InputError, unknown
from salience.training.faithfulness import Faithfulness
from salience.training.measured_scores import Measure
from salience.training.robustness import Robustness

# Name -> measure. The name is that of an option of the command line, and of the numbers in metrics.json.
MEASURES: dict[str, Measure] = {"robustness": Robustness(), "faithfulness": Faithfulness()}

Measures = Sequence[str] | Mapping[str, Measure]


def measures_named(measures: Measures) -> dict[str, Measure]:
    """The measures by name, those of `MEASURES` where only names are given.

    Args:
        measures: names of the catalogue; or measures by name, of one's own or in the place of the catalogue's, such as
            {"faithfulness": Faithfulness(texts=50)}.

    Raises:
        InputError: a name is unknown, or one string is given.
    """
    if isinstance(measures, str):
        raise InputError(f"give a sequence of measures, not one string: for example [{measures!r}]")
    if isinstance(measures, Mapping):
        return dict(measures)
    for name in measures:
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
    return {name: MEASURES[name] for name in measures}


def check_measured(measures: Mapping[str, Measure], metrics: Mapping[str, Any], folder: object) -> None:
    """Checks that a finished run has been measured.

    Args:
        measures: those that are wanted.
        metrics: the run's, as in metrics.json.
        folder: of the run, for messages.

    Raises:
        InputError: a measure is missing, or has other settings.
    """
    for name, measure in measures.items():
        if name not in metrics:
            raise InputError(
                f"{folder} was run without --{name}, which is measured during a run: choose another --output"
            )
        for setting, value in measure.settings.items():
            if (found := metrics[name].get(setting)) != value:
                raise InputError(
                    f"{folder} was run with {name}: {setting}={found!r}, not {value!r}: choose another --output"
                )
