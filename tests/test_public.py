"""The public face: one list of names, with types that static tools see, and the five lines of a notebook."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import families
import salience
from labelled import FILLER, WORDS, labelled_rows

ROOT = Path(salience.__file__).parent
LABELS = list(WORDS)


def static_imports() -> dict[str, list[str]]:
    """Module -> names, as the block for static tools imports them."""
    module = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in module.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    return {node.module: sorted(alias.name for alias in node.names) for node in block.body}


def test_static_tools_and_run_time_see_the_same_names():
    assert static_imports() == {module: sorted(names) for module, names in salience._HOMES.items()}
    names = [name for names in salience._HOMES.values() for name in names]
    assert sorted([*names, "__version__"]) == sorted(salience.__all__) == dir(salience)


@pytest.mark.parametrize("name", salience.__all__)
def test_a_name_is_what_its_module_defines(name):
    value = getattr(salience, name)
    if name != "__version__":
        assert value is getattr(import_module(salience._HOME[name]), name)
    if name.islower() and not name.startswith("__"):
        assert callable(value)


def test_no_module_hides_a_name():
    assert not {path.stem for path in ROOT.iterdir()} & set(salience.__all__)


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="'salience' has no attribute 'ssmix'"):
        salience.ssmix  # noqa: B018


def test_importing_salience_imports_nothing_heavy():
    script = "import sys, salience; assert not {'torch', 'transformers', 'numpy', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A classifier of three labels, as `salience.load` takes it."""
    folder = tmp_path_factory.mktemp("tiny")
    families.save_tiny_model(folder, [*WORDS.values(), " ".join(FILLER)], classes=len(LABELS))
    return folder


def test_the_five_lines_of_a_notebook(folder):
    texts, labels = zip(*labelled_rows(12), strict=True)

    classifier = salience.load(folder)
    probabilities = classifier.predict_proba(texts)
    explanations = salience.explain(classifier, texts)
    names = [classifier.labels[LABELS.index(label)] for label in labels]
    evaluation = salience.evaluate(
        classifier, texts, names, explainers=("gradient", "occlusion"), metrics=("comprehensiveness", "sufficiency")
    )
    trained = salience.SalienceClassifier(method=salience.SSMix(window=0.2), model=str(folder), steps=2, device="cpu")

    assert probabilities.shape == (12, 3)
    assert np.allclose(probabilities.sum(1), 1)
    assert [explanation.words for explanation in explanations] == [text.split() for text in texts]
    assert [row.explainer for row in evaluation.rows] == ["gradient", "occlusion", "random"]
    assert list(evaluation.metrics) == ["comprehensiveness", "sufficiency"]
    assert all(np.isfinite(row.metrics["sufficiency"].mean) for row in evaluation.rows)
    assert trained.fit(texts, labels).predict_proba(texts).shape == (12, 3)


CONSUMER = """
import salience
from salience import SSMix

reveal_type(SSMix(window=0.2).window)
reveal_type(salience.SSMix)
classifier = salience.load("runs/reviews")
reveal_type(classifier)
reveal_type(classifier.predict_proba(["a text"]))
reveal_type(classifier.labels)
reveal_type(salience.explain(classifier, ["a text"]))
reveal_type(salience.METRICS["aopc"].higher_is_better)
evaluation = salience.evaluate(classifier, ["a text"])
reveal_type(evaluation["gradient"].metrics["aopc"].mean)
reveal_type(salience.METHODS["ssmix"]())
reveal_type(salience.compare)
salience.missing
SSMix(windw=0.2)
"""


@pytest.mark.whole
def test_a_program_that_uses_the_package_is_type_checked(tmp_path):
    """With the package's own settings and cache, so that torch is not analysed again."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(CONSUMER, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", program]
    done = subprocess.run(command, cwd=ROOT.parents[1], capture_output=True, text=True, timeout=600)
    revealed = re.findall(r'note: Revealed type is "(.*)"', done.stdout)
    assert len(revealed) == CONSUMER.count("reveal_type"), done.stdout + done.stderr
    assert not [kind for kind in revealed if kind == "Any" or kind.endswith("-> Any")]
    assert revealed[0] == "float" and revealed[2] == "salience.classify.classifier.TextClassifier"
    assert 'Module has no attribute "missing"' in done.stdout
    assert 'Unexpected keyword argument "windw"' in done.stdout
