"""`salience compare`, after its last run: the tables in the terminal, and the report as a page and as Markdown."""

from __future__ import annotations

from pathlib import Path

from salience.comparison.evidence import GridEvidence
from salience.comparison.files import write_reports
from salience.report.comparison import show_comparison
from salience.report.comparison_markdown import comparison_markdown
from salience.report.comparison_page import comparison_page


def show_and_report(evidence: GridEvidence, output: Path) -> None:
    """Prints a finished comparison and writes its report.

    Args:
        evidence: what the report shows.
        output: the folder of the comparison.
    """
    show_comparison(evidence.comparison)
    title = f"Comparison {output.resolve().name}"
    write_reports(comparison_page(evidence, title), comparison_markdown(evidence, title), output)
