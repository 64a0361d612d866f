"""`label_noise` of a recipe: how many labels of which parts are wrong, and that runs say so."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from labelled import labelled_rows, write_csv
from salience.errors import InputError
from salience.training.recipe import Recipe
from salience.training.task import task_of


@pytest.fixture
def recipe(tmp_path):
    return Recipe(
        data=str(write_csv(tmp_path / "train.csv", labelled_rows(60))),
        test=str(write_csv(tmp_path / "test.csv", labelled_rows(30, seed=1))), seed=3, validation_share=0.2,
    )  # fmt: skip


def wrong(one, other) -> int:
    return int((one.labels != other.labels).sum())


def test_a_fifth_of_the_labels_to_learn_from_is_wrong(recipe):
    notes: list[str] = []
    right, noisy = task_of(recipe, lambda line: None), task_of(replace(recipe, label_noise=0.2), notes.append)
    assert (len(right.training), len(right.validation)) == (48, 12)
    assert wrong(right.training, noisy.training) == round(0.2 * 48)
    assert wrong(right.validation, noisy.validation) == round(0.2 * 12)
    assert noisy.test == right.test
    assert noisy.training.texts == right.training.texts
    assert notes[-1].startswith("label noise: 12 of the 60 training and validation rows have a wrong label")
    again = task_of(replace(recipe, label_noise=0.2), lambda line: None)
    assert again.training == noisy.training
    other = task_of(replace(recipe, label_noise=0.2, seed=4), lambda line: None)
    assert other.training != noisy.training


def test_no_noise_is_no_change(recipe):
    assert task_of(replace(recipe, label_noise=0.0), print) == task_of(recipe, print)
    with pytest.raises(InputError, match="--label-noise"):
        replace(recipe, label_noise=1.5)


def test_all_runs_of_a_comparison_have_it(recipe, tmp_path):
    """The majority of noisy labels, whose test labels are right; and plain training, whose recipe says it."""
    import families
    from labelled import FILLER, WORDS
    from salience.comparison.comparing import compare

    model = families.save_tiny_model(tmp_path / "tiny", [*WORDS.values(), " ".join(FILLER)])
    given = replace(recipe, model=str(model), steps=2, device="cpu", label_noise=0.5)
    output = tmp_path / "out"
    for part in ((0, 2), (3, 2)):
        with pytest.raises(InputError, match=f"part {part[0]} of 2: give a number from 1"):
            compare(given, ["plain", "embedmix"], [0, 1], output, print, part=part)
    compare(given, ["plain", "embedmix"], [0, 1], str(output), print, references=["majority"])
    for folder in ("plain-0", "embedmix-1", "majority-1"):
        assert yaml.safe_load((output / folder / "recipe.yaml").read_text())["label_noise"] == 0.5
    noisy = task_of(replace(given, seed=1), print)
    labels = np.concatenate([noisy.training.labels, noisy.validation.labels])
    with np.load(output / "majority-1" / "probabilities.npz") as arrays:
        assert arrays["probabilities"][0] == pytest.approx(np.bincount(labels) / 60)
        assert arrays["labels"].tolist() == noisy.test.labels.tolist()
    with pytest.raises(InputError, match=r"was run with label_noise=0\.5, not None"):
        compare(replace(given, label_noise=None), ["plain", "embedmix"], [0, 1], output, print)
