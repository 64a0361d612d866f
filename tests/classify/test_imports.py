"""What is imported to predict and to explain: nothing that trains, neither `datasets` nor the Trainer; and what
importing costs beside the packages themselves."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import families
import salience
from labelled import labelled_rows, write_csv

ROOT = Path(salience.__file__).parent
# What declares settings, for the command line and for estimators.
DECLARED = {"salience.training", "salience.training.recipe", "salience.training.procedures"}
PREDICTING = [
    "salience.classify.predictor", "salience.classify.parts", "salience.classify.frozen_encoder",
    "salience.explainers.explain", "salience.estimator.classifier", "salience.export.folder", "salience.runs.card",
    "salience.faithfulness.evaluation",
]  # fmt: skip


def file_of(module: str) -> Path | None:
    place = ROOT.parent.joinpath(*module.split("."))
    return next((each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file()), None)


def imported(module: str) -> list[tuple[str, str]]:
    """The modules and names that a module imports when it is imported itself."""
    found, nodes = [], list(ast.parse(file_of(module).read_text(encoding="utf-8")).body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize("start", PREDICTING)
def test_the_files_that_predict_import_nothing_that_trains(start):
    seen, waiting = set(), [start]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for source, name in imported(module):
            if source.startswith("salience"):
                waiting += [each for each in (source, f"{source}.{name}") if file_of(each)]
            assert source.split(".")[0] != "datasets" and not name.startswith("Trainer"), f"{module}: {source} {name}"
            assert not source.startswith("transformers.train"), f"{module}: {source}"
    assert {module for module in seen if module.startswith("salience.training")} <= DECLARED
    assert not any(module.startswith(("salience.comparison", "salience.report")) for module in seen)


@pytest.mark.whole
@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_command_imports_nothing_that_trains(command, tmp_path):
    """In a process of its own."""
    model = families.save_tiny_model(tmp_path / "tiny", ["a lovely film"])
    rows = tmp_path / "rows.csv"
    rows.write_text("text\na lovely film\n", encoding="utf-8")
    asked = [command, str(model), str(rows), "--output", str(tmp_path / "out.jsonl")]
    program = f"import json, sys; from salience.cli.main import main; assert main({asked!r}) == 0"
    program += "; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = set(json.loads(done.stdout.splitlines()[-1]))
    assert {module for module in modules if module.startswith("salience.training")} <= DECLARED
    assert not modules & {"datasets", "transformers.trainer", "transformers.training_args", "matplotlib", "pandas"}


@pytest.mark.whole
@pytest.mark.parametrize("command", ["train --steps 0", "predict model", "explain model", "compare --set steps=0"])
def test_nothing_is_collected_while_a_command_imports(command, tmp_path):
    """Imported packages stay: the collector would look through their objects a thousand times."""
    rows = write_csv(tmp_path / "rows.csv", labelled_rows(4))  # wrong names are told before the imports
    program = (
        "import gc, sys; from salience.cli.main import main\n"
        "def collections(): return sum(each['collections'] for each in gc.get_stats())\n"
        f"before = collections(); assert main({[*command.split(), str(rows)]!r}) == 2\n"
        "assert 'torch' in sys.modules and gc.isenabled(); print(collections() - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100
