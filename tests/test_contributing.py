"""docs/contributing.md is true: what it adds is added to a copy of the package, tested there, and used by command."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import families
from labelled import FILLER, WORDS, labelled_rows

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r'^(?P<fence>`{3,})(?P<kind>\w+)(?: title="(?P<path>[^"]+)")?\n(?P<text>.*?)^(?P=fence)$', re.M | re.S
)
BLOCKS = [block.groupdict() for block in BLOCK.finditer(PAGE)]
ADDED = {block["path"]: block["text"] for block in BLOCKS if block["path"] and block["kind"] != "diff"}
CHANGED = {block["path"]: block["text"] for block in BLOCKS if block["kind"] == "diff"}
TESTS = [path for path in ADDED if path.startswith("tests/")]
CONTRACTS = [
    "tests/test_contract.py", "tests/test_cards.py", "tests/explainers/test_explainers.py",
    "tests/faithfulness/test_metrics_contract.py", "tests/papers/test_table.py",
]  # fmt: skip
# One family of models stands for all, which the contracts are checked on in their own files.
OTHERS = "roberta or distilbert or electra or deberta or mpnet or modernbert or albert"

# Runs commands in one process, which imports torch once, and writes what each of them said.
RUN = """
import contextlib, io, json, sys
from salience.cli.main import main
answers = []
for command in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(command)
        except SystemExit as stopped:  # --help
            code = stopped.code
    answers.append([code or 0, out.getvalue(), err.getvalue()])
json.dump(answers, open("answers.json", "w"))
"""


def changed(text: str, hunks: str) -> str:
    """A file with the hunks of a diff applied. The lines of each hunk without `+` must stand in it, once."""
    for hunk in hunks.split("@@\n"):
        lines = [(line[:1], line[1:]) for line in hunk.splitlines()]
        before = "".join(f"{line}\n" for sign, line in lines if sign != "+")
        after = "".join(f"{line}\n" for sign, line in lines if sign != "-")
        assert text.count(before) == 1, f"{before!r} stands {text.count(before)} times in the file"
        text = text.replace(before, after)
    return text


@dataclass(frozen=True)
class Copy:
    """A copy of the repository with everything on the page added."""

    folder: Path

    def python(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        """Runs Python in the folder, with the package of the folder."""
        environment = os.environ | {"PYTHONPATH": str(self.folder / "src"), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True,
            timeout=600, **options,
        )  # fmt: skip


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    folder = tmp_path_factory.mktemp("contributed")
    for name in ("src", "tests", "docs", "results"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for path, text in ADDED.items():
        assert not (folder / path).exists(), path
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    for path, hunks in CHANGED.items():
        (folder / path).write_text(changed((ROOT / path).read_text(encoding="utf-8"), hunks), encoding="utf-8")
    return Copy(folder)


def test_an_addition_takes_at_most_three_files_beside_its_tests():
    for section in PAGE.split("\n## Add ")[1:]:
        paths = {block["path"] for block in (match.groupdict() for match in BLOCK.finditer(section)) if block["path"]}
        assert 2 <= len([path for path in paths if not path.startswith("tests/")]) <= 3
        assert any(path.startswith("tests/") for path in paths)
    assert len(PAGE.split("\n## Add ")) == 1 + 5


@pytest.mark.whole
def test_the_code_is_formatted_and_has_no_faults(copy):
    files = [path for path in ADDED if path.endswith(".py")]
    for command in (
        ["ruff", "check", *files],
        ["ruff", "format", "--check", *files],
        ["pytest", "tests/test_floors.py"],
    ):
        done = copy.python("-m", *command)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.whole
def test_the_tests_of_the_page_and_the_contracts_hold(copy):
    chosen = ["-k", f"toy and not ({OTHERS})", *TESTS, *CONTRACTS]
    done = copy.python("-m", "pytest", "-rA", "-p", "no:cacheprovider", *chosen)
    assert done.returncode == 0, done.stdout[-4000:]
    for file in (*TESTS, *CONTRACTS):
        assert f"PASSED {file}::" in done.stdout, f"no test of {file} is about what was added"


@pytest.fixture(scope="module")
def answers(copy) -> dict[str, str]:
    """What the commands of the page print, by their first two words; and those that list what there is."""
    rows, test_rows = labelled_rows(45), labelled_rows(12, seed=1)
    for name, labelled in (("train", rows), ("test", test_rows)):
        lines = [f"__label__{label} {text}\n" for text, label in labelled]
        (copy.folder / f"{name}.toy").write_text("".join(lines), encoding="utf-8")
    (copy.folder / "sets" / "sst2").mkdir(parents=True)
    for part, labels in (("train", ["negative", "positive", "positive"]), ("test", ["positive"] * 3 + ["negative"])):
        with gzip.open(copy.folder / "sets" / "sst2" / f"{part}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(
                json.dumps({"text": f"a text {n}", "label": label}) + "\n" for n, label in enumerate(labels)
            )
    families.save_tiny_model(copy.folder / "tiny", [*WORDS.values(), " ".join(FILLER)], classes=len(WORDS))
    (commands,) = (block["text"] for block in BLOCKS if block["kind"] == "sh" and "salience" in block["text"])
    lines = [shlex.split(line, comments=True)[1:] for line in commands.splitlines()]
    quick = {
        "train": ["--model", "tiny", "--steps", "4", "--set", "evaluations=2", "--device", "cpu"],
        "compare": ["--model", "tiny", "--steps", "2", "--device", "cpu"],
        "faithfulness": ["--most", "5"],
    }
    lines = [[*line, *quick.get(line[0], [])] for line in lines]
    lines += [["faithfulness", "--list-metrics"], ["reproduce", "--list-tables"], ["explain", "--list-explainers"]]
    done = copy.python("-c", RUN, input=json.dumps(lines))
    assert done.returncode == 0, done.stderr
    said = json.loads((copy.folder / "answers.json").read_text(encoding="utf-8"))
    for line, (code, _, err) in zip(lines, said, strict=True):
        assert code == 0, f"{line}: {err}"
    return {" ".join(line[:2]): out for line, (_, out, _) in zip(lines, said, strict=True)}


@pytest.mark.whole
def test_the_method_is_listed_with_its_card(answers):
    assert re.search(r"^toy +two texts are interpolated with a fixed weight +6 F +3 F", answers["methods"], re.M)
    assert answers["methods toy"] == ADDED["docs/methods/toy.md"]


@pytest.mark.whole
def test_the_method_is_trained_from_a_file_of_the_new_format(answers, copy):
    recipe = (copy.folder / "runs" / "toy" / "recipe.yaml").read_text(encoding="utf-8")
    assert "method: toy\n" in recipe and "weight: 0.8" in recipe
    metrics = json.loads((copy.folder / "runs" / "toy" / "metrics.json").read_text(encoding="utf-8"))
    assert 0 <= metrics["test"]["accuracy"] <= 1
    predicted = (copy.folder / "runs" / "toy" / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["label"] for line in predicted] == [label for _, label in labelled_rows(12, seed=1)]


@pytest.mark.whole
def test_the_method_has_claims(answers):
    for claim in ("toy is better than training without mixing", "control: toy is better than embedmix"):
        assert f"| {claim} | not in the paper |" in answers["reproduce claims"]


@pytest.mark.whole
def test_the_method_is_compared(answers, copy):
    compared = json.loads((copy.folder / "runs" / "compared" / "comparison.json").read_text(encoding="utf-8"))
    (results,) = compared["conditions"]
    assert list(results["differences"]) == ["toy", "toy:weight=0.8"]
    assert "toy:weight=0.8: " in answers["compare train.toy"]


@pytest.mark.whole
def test_the_explainer_is_on_a_page(answers, copy):
    page = (copy.folder / "words.html").read_text(encoding="utf-8")
    assert "toy" in page
    assert all(text.split()[0] in page for text, _ in labelled_rows(12, seed=1))


@pytest.mark.whole
def test_the_explainer_is_tested_by_the_metric(answers, copy):
    tested = json.loads((copy.folder / "runs" / "tested" / "faithfulness.json").read_text(encoding="utf-8"))
    assert [row["explainer"] for row in tested["rows"]] == ["toy", "random"]
    assert all("toy" in json.dumps(row) for row in tested["rows"])
    assert "probability" in answers["faithfulness runs/toy"]
    assert "toy" in (copy.folder / "runs" / "tested" / "index.html").read_text(encoding="utf-8")


@pytest.mark.whole
def test_the_table_is_run(answers, copy):
    assert "| sst2 | 0.750 | 0.5 |" in answers["reproduce toy"]
    (row,) = (copy.folder / "results" / "toy.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(row)["accuracy"] == 0.75


@pytest.mark.whole
def test_the_command_line_lists_what_was_added(answers):
    assert re.search(r"^toy +probability, higher is better", answers["faithfulness --list-metrics"], re.M)
    assert re.search(r"\btoy\b", answers["reproduce --list-tables"])
    assert re.search(r"^toy +Norms of the embeddings", answers["explain --list-explainers"], re.M)
