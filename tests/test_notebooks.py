"""The notebooks run from the first cell to the last, on a tiny model and with few steps in place of the real ones."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import families
from documents import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# What makes a notebook slow, and what stands in its place here.
QUICK = {'"minilm"': '"tiny"', "steps=40": "steps=2", "EPOCHS = 60": "EPOCHS = 10", "[:200]": "[:20]", "[:30]": "[:4]"}

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(path: Path, kind: str) -> list[dict]:
    """The cells of a notebook that are code, or Markdown."""
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def program_of(path: Path) -> str:
    """The code of all cells as one program."""
    return "\n\n".join("".join(cell["source"]) for cell in cells_of(path, "code")) + "\n"


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["few_labels", "reproduce_a_paper", "trust_an_explanation"]


@every_notebook
def test_what_a_notebook_imports_of_salience_is_there(path):
    lines = re.findall(r"^(?:from|import) salience.*$", program_of(path), re.MULTILINE)
    exec("\n".join(lines), {})
    assert lines


@pytest.mark.whole
@every_notebook
def test_a_notebook_runs_in_a_process_of_its_own(path, tmp_path):
    words = [(ROOT / "examples" / "banking_train.csv").read_text(encoding="utf-8"), "ticket"]
    families.save_tiny_model(tmp_path / "tiny", words)
    program = program_of(path)
    for slow, quick in QUICK.items():
        program = program.replace(slow, quick)
    assert program != program_of(path) and "minilm" not in program
    (tmp_path / "notebook.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "notebook.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) >= 3


@every_notebook
def test_a_notebook_was_run_in_order_without_an_error(path):
    """What it shows belongs to one run of all cells, one after the other; or it shows nothing."""
    cells = cells_of(path, "code")
    outputs = [output for cell in cells for output in cell["outputs"]]
    counts = [cell["execution_count"] for cell in cells]
    assert counts == (list(range(1, len(cells) + 1)) if outputs else [None] * len(cells))
    assert all(output["output_type"] in ("stream", "execute_result") for output in outputs)
    assert all(output.get("name", "stdout") == "stdout" for output in outputs)  # warnings show paths of a machine


@every_notebook
def test_its_links_lead_somewhere(path):
    text = "".join("".join(cell["source"]) for cell in cells_of(path, "markdown"))
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    assert links and all((path.parent / link).exists() for link in links if "://" not in link)
