"""The Python of README and two pages of docs/ runs as it stands, on a tiny model for the real one."""

import re
from pathlib import Path

import pytest

import families

HERE = Path(__file__).parents[1]
README, PYTHON, EXPLAINING = (
    (HERE / name).read_text(encoding="utf-8")
    for name in ("README.md", "docs/guides/python.md", "docs/concepts/explanations.md")
)


def python_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore:.*pin_memory")  # which the Trainer asks for, with or without a GPU
def test_the_python_of_the_documents_runs_and_what_it_trains_is_explained(tmp_path, monkeypatch, capsys):
    assert len(python_of(README)) == 1
    blocks = python_of(PYTHON)
    assert len(blocks) >= 4
    monkeypatch.chdir(tmp_path)
    words = ["the match was great", "a new album of songs", "they won the cup", "the band played"]
    families.save_tiny_model(tmp_path / "tiny", words)
    exec(python_of(README)[0].replace('"minilm"', '"tiny"'), {})
    assert (tmp_path / "classifier" / "model.safetensors").is_file()
    names: dict = {}
    for block in blocks:
        exec(block.replace('"minilm"', '"tiny"'), names)
    assert (tmp_path / "classifier" / "model.safetensors").is_file()
    assert names["logits"].shape == (8, 2)
    assert names["loss"].isfinite()
    names = {}
    for block in python_of(EXPLAINING):
        exec(block.replace("runs/reviews", "classifier"), names)
    assert len(names["evaluation"].to_rows()) == 3 * 2  # explainers, random among them, and metrics
    shown = capsys.readouterr().out
    assert all(f"'{word}': " in shown for word in ("a", "great", "cast"))


def test_the_python_of_the_page_on_few_labels(tmp_path, monkeypatch):
    (program,) = python_of((HERE / "docs/guides/few-labels.md").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    families.save_tiny_model(tmp_path / "tiny", ["the match was great", "a new album of songs"])
    names: dict = {}
    exec(program.replace('"minilm"', '"tiny", steps=2'), names)
    low, high = names["classifier"].estimate_["accuracy_interval"]
    assert low <= names["classifier"].estimate_["accuracy"] <= high


def test_every_file_that_the_readme_names_is_there():
    for name in re.findall(r"`((?:docs|examples|bench)/[\w./-]+)`", README):
        assert (HERE / name).exists(), name
