"""The pages of docs/research/papers show what results/ holds."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from salience.comparison.verdict import GAIN, LOSS, NO_GAIN, TOO_FEW, judged
from salience.papers.claims import PAPERS
from salience.papers.table import Results
from salience.papers.tables import TABLES

HERE = Path(__file__).parents[1]
FOLDER = HERE / "docs" / "research" / "papers"
INDEX = FOLDER / "index.md"
PAGE = [  # the lines of all pages, the index first
    line
    for page in (INDEX, *sorted(set(FOLDER.glob("*.md")) - {INDEX}))
    for line in [*page.read_text(encoding="utf-8").splitlines(), ""]
]
OF_STUDIES = {"faithful-training": "faithful_training.py"}  # results that a script of bench/ prints
# The claims of the mixing papers are printed from the runs of their tables, too.
RUN = sorted({"claims"} | {file.stem for file in (HERE / "results").glob("*.jsonl")} & {*TABLES, *OF_STUDIES})


CLAIMS = "| claim | verdict |"  # the beginning of the table of the other claims, whose lines no command prints
# A claim and the difference that answers it, of a row of results/vat.jsonl, in percentage points.
OF_VAT = {
    "Attention is better than maxima": lambda row: 100 * (row["test"][0] - row["base"]),
    "Compression makes attention better": lambda row: 100 * (row["accuracy"] - row["test"][0]),
    "Attention finds the words that decide": lambda row: lost(row, "ATT") - lost(row, "random"),
    "Compressed attention finds more of them": lambda row: lost(row, "VAT") - lost(row, "ATT"),
}
VERDICTS = (GAIN, LOSS, NO_GAIN, TOO_FEW)


def lost(row: dict, explanation: str) -> float:
    return row["explanations"][explanation]["AOPC@5"]


def report_of(table: str) -> Callable[[list[dict]], str]:
    """What prints the rows of a results file: the command's table, or a script."""
    if table in OF_STUDIES:
        return run_path(str(HERE / "bench" / OF_STUDIES[table]))["report"]
    return TABLES[table]().report


@cache
def printed(table: str) -> list[str]:
    """What the command prints from what is kept, line by line."""
    file = HERE / "results" / f"{table}.jsonl"
    rows = Results(file).rows() if table in OF_STUDIES else TABLES[table]().results(file).rows()
    return report_of(table)(rows).splitlines()


def tables(page: list[str]) -> list[list[str]]:
    """Lines that stand together."""
    blocks = [[]]
    for line in page:
        if line.startswith("|"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def test_results_of_every_study_are_checked():
    assert set(OF_STUDIES) <= set(RUN)


@pytest.mark.parametrize("table", RUN)
def test_every_line_of_a_table_is_on_the_page_as_the_command_prints_it(table):
    lines = [line for line in printed(table) if line.startswith("|")]
    assert len(lines) > 2
    assert [line for line in lines if line not in PAGE] == []


def test_every_line_of_a_table_on_the_page_is_one_that_a_command_prints():
    """No line of earlier results is left."""
    known = {line for table in RUN for line in printed(table)}
    twice = run_path(str(HERE / "bench" / "same_cells.py"))["report"](HERE / "results" / "cpu", HERE / "results")
    assert [line for line in twice.splitlines() if line not in PAGE] == []
    known |= set(twice.splitlines())
    assert tables(PAGE)
    blocks = [block for block in tables(PAGE) if not block[0].startswith(CLAIMS)]
    assert [line for block in blocks for line in block if line not in known] == []


@pytest.mark.parametrize("claim", OF_VAT)
def test_the_intervals_of_a_claim_are_those_of_its_runs(claim):
    """About the sets that were run: MiniLM's vectors first, then random ones."""
    runs = [json.loads(line) for line in (HERE / "results" / "vat.jsonl").read_text("utf-8").splitlines()]
    intervals = []
    for encoder in ("bilstm-minilm", "bilstm-random"):
        sets = defaultdict(list)
        for row in runs:
            if row["encoder"] == encoder:
                sets[row["set"]].append(OF_VAT[claim](row))
        found = judged([list(sets.values())])[0].found
        assert found.mean == pytest.approx(np.mean([np.mean(each) for each in sets.values()]))
        intervals.append(str(found))
    (line,) = [line for line in PAGE if line.startswith("|") and claim in line]
    assert re.findall(r"[+-]\d+\.\d\d \[.*?\]", line)[:2] == intervals


def other_claims() -> list[str]:
    (found,) = (block for block in tables(PAGE) if block[0].startswith(CLAIMS))
    return found


def decided(told: str) -> str:
    """The verdict on a claim, of one number of rows or more: "200 rows: gain; 500 rows: too few runs" is a gain."""
    verdicts = {each.rpartition(": ")[2] for each in told.split("; ")}
    (verdict,) = verdicts - {TOO_FEW} or {TOO_FEW}
    return verdict


def test_verdicts_come_first_and_are_counted_as_printed():
    """ "Of the 19 claims, 4 have no gain of a point, ...; with Holm's correction, ..." of the table's two columns."""
    assert tables(PAGE)[0][0].startswith("| claim | place | paper |")
    lines = [
        line.strip("| ").split(" | ") for line in "\n".join(printed("claims")).partition("Spread of")[0].splitlines()
        if line.endswith(" |") and not line.startswith(("| claim", "|---"))
    ]  # fmt: skip
    short = " ".join(PAGE[: PAGE.index("## The claims of the mixing papers")])
    alone, corrected = re.search(
        r"Of the 19 claims of the mixing papers, (.*?); with Holm's correction, (.*?)\.", short
    ).groups()
    assert len(lines) == 19
    for said, column in ((alone, -3), (corrected, -2)):
        counts = Counter(decided(line[column]) for line in lines)
        told = {
            verdict: int(count)
            for count, verdict in re.findall(rf"(\d+) (?:has|have|is|are)? ?(?:an? )?({'|'.join(VERDICTS)})", said)
        }
        assert told == counts


def test_the_counts_of_a_claim_stand_below_its_table():
    claims = other_claims()
    counts = re.findall(r"\d+ of \d+", "".join(claims))
    rest = "\n".join(line for line in PAGE if line not in claims)
    assert counts and [count for count in counts if count not in rest] == []


def test_the_differences_of_a_claim_are_those_of_the_table_that_it_names():
    """Claims name their table, and give differences as the command prints them."""
    found = [re.findall(r"[+-]\d+\.\d\d \[.*?\]", line) for line in other_claims() if "`vat-controls`" in line]
    claimed = [row for row in printed("vat-controls") if row.endswith(tuple(f"| {verdict} |" for verdict in VERDICTS))]
    assert found and all(found)
    assert [each for of_claim in found for each in of_claim if not any(each in row for row in claimed)] == []


def test_how_many_cells_are_near_the_papers_is_as_counted():
    counted = sorted(f"{line}." for line in printed("uaftc-table2") if "within" in line)
    assert len(counted) >= 3
    assert sorted(line for line in PAGE if line.startswith("scale 10 and larger")) == counted


def test_both_runs_of_a_pair_have_one_number_format():
    formats = defaultdict(dict)  # of the trainings of a set, by number of rows and seed
    for row in TABLES["claims"]().results(HERE / "results" / "claims.jsonl").rows():
        formats[row["set"], row["method"]][row["rows"], row["seed"], row["model"]] = row["precision"]
    pairs = 0
    for paper in PAPERS:
        for claim in paper.claims:
            for name in paper.sets:
                better, worse = (formats[name, paper.training(each)] for each in (claim.better, claim.worse))
                pairs += len(both := {*better} & {*worse})
                assert all(better[run] == worse[run] for run in both)
    assert pairs > 300


@pytest.mark.parametrize("table", RUN)
def test_the_page_names_the_command_of_a_table(table):
    assert [line for line in PAGE if line.startswith(f"    salience reproduce {table} ")]
