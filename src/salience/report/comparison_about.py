"""What a comparison consists of and how its numbers were computed, in sentences for its page and its Markdown."""

from __future__ import annotations

from salience.comparison.evidence import GridEvidence
from salience.errors import counted


def statistics_in_words(evidence: GridEvidence) -> str:
    """How the numbers of the report were computed, and what the seeds vary."""
    comparison, drawn = evidence.comparison, evidence.drawn
    seeds, family = comparison.seeds, sum(len(results.differences) for results in comparison.conditions)
    together = (
        f"; over the {family} differences of a score, the intervals hold together at 95 % (Bonferroni) and the "
        "p-values of sign flips are adjusted by Holm"
        if family > 1
        else "; the p-values are those of sign flips"
    )
    if all(drawn):
        rows, limit = "each of which draws other rows", ""
    else:
        rows = "each of which draws other rows where not all train" if any(drawn) else "all on the same training rows"
        limit = (
            " Where all rows train, seeds differ in initial weights, batches and mixing: the intervals do not cover "
            "other training rows."
        )
    return (
        f"Means ± standard deviations over the {len(seeds)} seeds {', '.join(map(str, seeds))}, {rows}; "
        f"differences to {comparison.baseline} are paired by seed and test row, with 95 % intervals over seeds and "
        f"test rows{together}.{limit}"
    )


def grid_in_words(evidence: GridEvidence) -> str:
    """How many runs there are, of what."""
    comparison = evidence.comparison
    references = len(comparison.conditions[0].references)
    parts = [counted(len(comparison.methods) - references, "method")]
    parts += [counted(references, "reference")] if references else []
    parts.append(counted(len(comparison.seeds), "seed"))
    if len(comparison.conditions) > 1:
        parts.append(counted(len(comparison.conditions), "condition"))
    return f"{counted(evidence.provenance.runs, 'run')}: {', '.join(parts)}"
