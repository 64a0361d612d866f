"""The report of a run as a page: scores, confusions, calibration, curves, errors, words of classes, and the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from salience.comparison.summing_up import summing_up
from salience.explainers.class_words import LEAST
from salience.report.class_tables import class_parts
from salience.report.comparison_page import SHOWN, Figures, cut, joined, reliability_caption
from salience.report.heat_maps import HeatMap, heat_maps_of_text, legend
from salience.report.inline_svg import Styles
from salience.report.label_tables import label_parts
from salience.report.page import PACKAGE, asset, framed
from salience.report.prediction_pictures import diagrams
from salience.report.run_evidence import RunEvidence, ShownError
from salience.report.run_pictures import history_drawings
from salience.report.run_words import (
    NO_SCORES,
    calibration_in_words,
    class_count_rows,
    part_rows,
    rows_in_words,
)
from salience.report.score_tables import score_parts
from salience.templating import render
from salience.training.calibration_evidence import Calibration
from salience.training.finished_run import JudgedRows
from salience.training.scoring import scoring_of

FOLDED = 25  # classes from which on a table is folded


def run_page(evidence: RunEvidence, title: str) -> str:
    """The page as HTML. The same evidence gives the same page.

    Args:
        title: a title as plain text.
    """
    run, figures = evidence.run, Figures()
    body = render(
        PACKAGE, "run.html.jinja",
        title=title, about=rows_in_words(run), no_scores=NO_SCORES, **judged_parts(evidence, figures),
        curves=[figures.drawn(drawing, caption)
                for caption, drawing in history_drawings(run.history, run.metrics.get("best_step"))],
        wrong=evidence.wrong, errors=[error_card(each, evidence, figures.styles) for each in evidence.errors],
        explainers=evidence.explainers, estimated=run.judged is not None and run.judged.kind == "estimate",
        legend=legend(figures.styles) if any(each.explanation for each in evidence.errors) else [],
        words=[(run.labels[number], of_class) for number, of_class in evidence.words.items()],
        explained=evidence.explained, least=LEAST, folded=FOLDED,
        parts=[] if run.facts is None else list(run.facts["parts"]),
        facts=[] if run.facts is None else part_rows(run.facts),
        counts=[] if run.facts is None else class_count_rows(run.facts),
    )  # fmt: skip
    return framed(title, asset("words.css") + asset("run.css") + figures.styles.sheet(), body)


def judged_parts(evidence: RunEvidence, figures: Figures) -> dict[str, Any]:
    """What the page shows of the judged rows: scores, classes or labels, and reliability; each None without rows."""
    run, calibration = evidence.run, evidence.calibration
    if run.judged is None or calibration is None:
        return dict.fromkeys(("scores", "confusions", "labels", "reliability"))
    return {
        "scores": score_parts(run, run.judged, calibration),
        "confusions": class_parts(run, run.judged, figures.styles) if run.judged.decided is None else None,
        "labels": label_parts(run),
        "reliability": reliability_parts(run.judged, calibration, figures),
    }


def reliability_parts(judged: JudgedRows, calibration: Calibration, figures: Figures) -> dict[str, Any]:
    """The reliability diagrams and the calibration errors, before and after the temperature.

    Where a text can have several labels, they are of the decisions about them.
    """
    values = {"before the temperature": calibration.before}
    if calibration.after is not None:
        values["after the temperature"] = calibration.after
    labels, scoring, by = judged.labels, scoring_of(judged.labels), summing_up(judged.labels)
    scores = {name: scoring.detailed(each, labels) for name, each in values.items()}
    return {
        "diagram": figures.drawn(
            diagrams({name: by.reliability(each[None], labels) for name, each in values.items()}),
            joined("", reliability_caption(judged.decided is not None)),
        ),
        "calibration": calibration_in_words(calibration),
        "errors": [
            (name, f"{each['calibration_error']:.3f}", f"{each['equal_mass_calibration_error']:.3f}")
            for name, each in scores.items()
        ],
    }  # fmt: skip


@dataclass(frozen=True)
class ErrorCard:
    """An error as the page shows it.

    Attributes:
        error: the error.
        parts: the text, and the second one of a pair; each as its beginning and the rest.
        map: the explanation; None without one.
    """

    error: ShownError
    parts: list[tuple[str, str]]
    map: HeatMap | None


def error_card(shown: ShownError, evidence: RunEvidence, styles: Styles) -> ErrorCard:
    """An error with its text and, where there is one, its explanation."""
    texts = [shown.row[name] for name in ("text", "text_pair") if shown.row.get(name) is not None]
    maps = {} if shown.explanation is None else {"": shown.explanation}
    found = heat_maps_of_text(maps, evidence.explainers[0], styles, SHOWN)
    return ErrorCard(shown, [cut(text) for text in texts], found[0] if found else None)
