"""`salience compare`: settings in, the runs and their comparison out; tables in the terminal, and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from salience.comparison.comparing import compare
from salience.comparison.evidence import GridEvidence
from salience.comparison.grid import data_sets_of, name_of, sizes_of
from salience.comparison.results import write_reports
from salience.errors import InputError
from salience.processes import part_of
from salience.report.comparison import show_comparison
from salience.report.comparison_page import comparison_markdown, comparison_page
from salience.report.terminal import GridProgress, say
from salience.settings import comma_separated, numbers
from salience.training.recipe import Recipe
from salience.training.references import references_of


def compare_and_report(
    settings: Mapping[str, Any], compared: Sequence[str] | Mapping[str, Any], seeds: str, output: Path | None, *,
    config: Path | None, data_sets: Path | None, sets: Mapping[str, Any] | None, sizes: str | None,
    models: str | None, references: str, part: str | None, report_to: str | None, **options: Any,
) -> None:  # fmt: skip
    """Makes the runs of a comparison, prints their comparison and writes its report.

    Args:
        settings: of the recipe, from the file and the command line.
        compared: the methods, or the variants by their names.
        seeds: with commas between them, as `sizes`, `models`, `references` and `report_to` are.
        output: the folder of the runs; None is `runs/DATA-compared`.
        config: the file of the settings; None if there is none.
        data_sets: the file of the data sets; None if there is none.
        sets: what it says.
        part: "K/N" of the runs; None for the part of this process in a Slurm array, or for all.
        options: `jobs`, `ray`, `budget`, `measures` and `heat_maps`, as of `salience.comparison.comparing.compare`.

    Raises:
        InputError: the data are named twice, or as `salience.comparison.comparing.compare`.
    """
    chosen = None if sets is None else data_sets_of(sets, f"--data-sets {data_sets}")
    if chosen:
        if "data" in settings:
            raise InputError("name the data either as DATA or with --data-sets, not both")
        settings = {**settings, "data": next(iter(chosen.values()))["data"]}
    evidence: list[GridEvidence] = []
    with GridProgress() as progress:
        recipe = Recipe.from_mapping(settings, str(config or "the command line"))
        output = output or Path("runs") / f"{name_of(str(data_sets or recipe.data))}-compared"
        compare(
            recipe, compared, numbers(seeds, ",", "--seeds 0,1,2"), output, progress.note, display=progress,
            part=part_of(part, progress.note), report_to=comma_separated(report_to) if report_to else (),
            sizes=sizes_of(sizes) if sizes else (), models=comma_separated(models) if models else (),
            data_sets=chosen, references=references_of(references), finished=evidence.append, **options,
        )  # fmt: skip
    for each in evidence:  # none while runs of other parts are missing
        show_and_report(each, output)
    say(f"saved: {output}{', with report.html and report.md' if evidence else ''}")


def show_and_report(evidence: GridEvidence, output: Path) -> None:
    """Prints a finished comparison and writes its report.

    Args:
        evidence: what the report shows.
        output: the folder of the comparison.
    """
    show_comparison(evidence.comparison)
    title = f"Comparison {output.resolve().name}"
    write_reports(comparison_page(evidence, title), comparison_markdown(evidence, title), output)
