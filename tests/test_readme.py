"""The README's Python runs as it stands, on a tiny model in place of the real one."""

import re
from pathlib import Path

import pytest

import families

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore:.*pin_memory")  # which the Trainer asks for, with or without a GPU
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 4
    monkeypatch.chdir(tmp_path)
    words = ["the match was great", "a new album of songs", "they won the cup", "the band played"]
    families.save_tiny_model(tmp_path / "tiny", words)
    names: dict = {}
    for block in blocks:
        exec(block.replace('"minilm"', '"tiny"'), names)
    assert (tmp_path / "classifier" / "model.safetensors").is_file()
    assert names["logits"].shape == (8, 2)
    assert names["loss"].isfinite()


def test_every_file_that_the_readme_names_is_there():
    for name in re.findall(r"`((?:docs|examples|bench)/[\w./-]+)`", README):
        assert (Path(__file__).parents[1] / name).exists(), name
