"""`salience thresholds`: from which probability on a label is to be predicted, by the out-of-fold rows of a run."""

from __future__ import annotations

from math import isfinite
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from salience.cli.options import of_recipe
from salience.errors import InputError, counted, quoted, unknown

if TYPE_CHECKING:
    from salience.training.deciding import LabelRows

# The highest threshold of each recall is a row of the table.
RECALLS = (0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
NAMES = ("precision", "recall", "share")  # of the columns, with the interval of each
SAVED = "--save keeps a choice in the run: add --precision, --recall, --cost or --target-precision"


def thresholds(
    run: Annotated[str, Argument(help="Folder written by `salience train`.")],
    label: Annotated[str | None, Option(help="Label to find.  [default: a table of each]")] = None,
    precision: Annotated[float | None, Option(help="Lowest with this precision (95 % certain).")] = None,
    recall: Annotated[float | None, Option(help="Highest with this recall.")] = None,
    cost: Annotated[str | None, Option(help="Threshold of the lowest cost: fp=1,fn=20.")] = None,
    target_precision: Annotated[float | None, of_recipe("Precision below which predict abstains.")] = None,
    save: Annotated[bool, Option("--save", help="Keep the choice: the run then decides by it.")] = False,
) -> None:
    """Show precision and recall of a label by threshold, on out-of-fold predictions, and choose a threshold."""
    from salience.processes import importing

    with importing():
        from rich.console import Console

        from salience.report.terminal import say, tell
        from salience.runs.results import read_out_of_fold, read_run
        from salience.runs.sentences import decision_sentences
        from salience.scores.labels import labels_of
        from salience.training.deciding import LabelRows, for_target, save_target, save_threshold, thresholds_now

    asked = {"--precision": precision, "--recall": recall, "--cost": cost, "--target-precision": target_precision}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} each choose a threshold: give one of them")
    if save and not given:
        raise InputError(SAVED)
    for name, share in (("--precision", precision), ("--recall", recall)):
        if share is not None and not (0 < share < 1 or (share == 1 and name == "--recall")):
            raise InputError(f"{name} {share:g}: give a share, such as 0.9")
    costs = None if cost is None else costs_in(cost)
    finished = read_run(run)
    found, seed = read_out_of_fold(run, "salience thresholds"), int(finished.recipe["seed"])
    if label is not None and label not in found.names:
        raise unknown("--label", label, found.names)
    if given and (label is None) != (target_precision is not None):
        reason = "is about one label: name it with --label" if label is None else "is about all labels: no --label"
        raise InputError(f"{given[0]} {reason}, of {', '.join(map(quoted, found.names[:10]))}")

    several = labels_of(found.predictions.labels).several
    if target_precision is not None:
        numbers = for_target(found, target_precision, seed)
        lines = decision_sentences({"estimate": {"label_precision": numbers}} if several else {"abstention": numbers})
        of_labels = numbers["labels"].values() if several else []
        values = [each["threshold"] for each in of_labels] if several else [*numbers["thresholds"].values()]
        if save and min(values) == 1:
            raise InputError(f"{lines[0]}; nothing is saved")
        for line in lines:
            say(line)
        if save:
            save_target(finished, found, numbers, tell)
            say(saved(run))
        return
    console, units = Console(highlight=False), "rows" if found.predictions.groups is None else "groups, a row of each,"
    chosen, now = None, dict(zip(found.names, thresholds_now(finished, found).tolist(), strict=True))
    for each in found.names if label is None else [label]:
        rows = LabelRows.of(found, each, seed)
        title = f"{quoted(each)}: {rows.curve.support:,} of {rows.curve.rows:,} {units} of the estimate have it"
        if not rows.curve.support:
            if label is not None:
                raise InputError(f"{title}: nothing can be said of its thresholds")
            say(title)
            continue
        if precision is not None:
            chosen = rows.for_precision(precision)
        elif recall is not None:
            chosen = rows.for_recall(recall)
        elif costs is not None:
            chosen = rows.for_cost(*costs)
        if save and chosen is not None and chosen["threshold"] is None:
            raise InputError(f"{out_of_reach(chosen, rows)}; nothing is saved")
        console.print(table_of(rows, title, "0.5" if several else "most probable", now[each]))
    say(
        "A label is predicted if its probability is at least the threshold. 95 % intervals (Wilson), each for its own "
        "row: the best of several rows looks better than it is."
    )
    if chosen is None:
        return
    if chosen["threshold"] is None:
        say(out_of_reach(chosen, rows))
        return
    for line in decision_sentences({"label_threshold": chosen}):
        say(line)
    if save:
        save_threshold(finished, found, chosen, tell)
        say(saved(run))
    else:
        option = quote(f"{label}={chosen['threshold']}")
        say(f"next: salience predict {run} FILE --threshold {option}; or keep it in the run with --save")


def costs_in(text: str) -> tuple[float, float]:
    """The costs of a false positive and of a false negative in "fp=1,fn=20"."""
    parts = [each.partition("=") for each in text.split(",")]
    try:
        found = {name.strip(): float(value) for name, _, value in parts}
    except ValueError:
        found = {}
    fits = found.keys() == {"fp", "fn"} and len(parts) == 2
    if not fits or not all(0 <= value < float("inf") for value in found.values()) or not any(found.values()):
        raise InputError(
            f"--cost {quoted(text)}: give what a wrong prediction of the label costs, and a missed one, as fp=1,fn=20"
        )
    return found["fp"], found["fn"]


def table_of(rows: LabelRows, title: str, usual: str, now: float) -> Any:
    """The table of a label: a row for each recall, one without a threshold, and one of that of the run.

    Args:
        usual: the name of the row without a threshold.
        now: the threshold by which the run decides; NaN if there is none.
    """
    from salience.report.terminal import titled
    from salience.runs.sentences import with_interval

    curve = rows.curve
    table = titled(title, box=None, pad_edge=False)
    for head in ("threshold", *("of all rows" if name == "share" else name for name in NAMES)):
        table.add_column(head, justify="right")
    places = sorted({curve.for_recall(each) for each in RECALLS})
    lines = [(str(curve.threshold(place)), curve.numbers(place)) for place in places]
    lines.append((usual, rows.usual_numbers()))
    if isfinite(now):
        lines.append((f"now {now:.4g}", rows.numbers_from(now)))
    for threshold, numbers in lines:
        table.add_row(threshold, *(with_interval(numbers, name) for name in NAMES))
    return table


def out_of_reach(chosen: dict[str, Any], rows: LabelRows) -> str:
    """Why no threshold of a label is for a precision, and which one its rows can show."""
    highest = chosen["reachable"]
    instead = "no precision" if highest is None else f"at most {highest:g}"
    return (
        f"a precision of {chosen['chosen_by']['precision']:g} is out of reach for {quoted(chosen['label'])}: "
        f"{counted(rows.curve.rows, 'row')} of the estimate show {instead} with 95 % certainty; add labelled rows "
        "that have it"
    )


def saved(run: str) -> str:
    return f"saved: {run}; predict, test, export and push decide by it from now on. Its page: salience report {run}"
