"""The table of the study of faithful training, and the study that can be run now."""

import numpy as np

import faithful_training
from salience.comparison.grid import setting_variants
from salience.explainers import EXPLAINERS, IntegratedGradients
from salience.faithfulness.accuracy import mean_accuracy_drop
from salience.training.recipe import Recipe
from studies import STUDIES


def row(training: str, seed: int, accuracy: float, own: float) -> dict:
    """A line of the results file: every metric of the random scores is 2, of the explainers `own`."""
    metrics = faithful_training.METRICS
    return {
        "set": "trec", "training": training, "seed": seed, "accuracy": accuracy, "random": dict.fromkeys(metrics, 2.0),
        "explainers": {name: dict.fromkeys(metrics, own) for name in faithful_training.EXPLAINED},
    }  # fmt: skip


def test_the_excess_over_random_scores_is_reported_of_seeds_that_all_trainings_have():
    excess = {"plain": (1, 2), "vat": (5.5, 6.5), "att": (2, 5)}
    rows = [
        row(training, seed, 0.9, 2 + excess.get(training, (1, 2))[seed])
        for training in faithful_training.TRAININGS for seed in (0, 1)
    ]  # fmt: skip
    head, _, accuracy, *lines = faithful_training.report([*rows, row("plain", 2, 0.1, 99.0)]).splitlines()
    assert accuracy.startswith("| trec | | accuracy | 2 | 90.00 ± 0.00 | +0.00 |")
    assert len(lines) == 3 * 4 and head.endswith("| att | vat | vat - att |")
    for line in lines:
        assert "| 2 | 1.50 ± 0.71 | +0.00 | +0.00 | +0.00 | +2.00 [" in line
    assert lines[3].startswith("| trec | gradient | tau |")


def test_turns_are_held_against_the_same_classifier_without_them():
    found = {"plain": [1.0, 2.0], "att": [2.0, 5.0], "vat": [5.5, 6.5]}
    plain, att, vat_to_plain, vat_to_att = faithful_training.against_plain(found).split(" | ")
    assert plain == "1.50 ± 0.71"
    assert [own.split()[0] for own in (att, vat_to_plain, vat_to_att)] == ["+2.00", "+4.50", "+2.50"]


def test_every_training_is_by_its_own_method():
    """ATT, VAT and plain training read the texts as they are, the first two with classifiers of their own."""
    study = STUDIES["faithful-training"]
    recipes = setting_variants(Recipe("rows.csv", **study.settings), study.variants)
    assert tuple(recipes) == faithful_training.TRAININGS
    asked = list(recipes.values())
    assert [own.method for own in asked] == ["plain", "ssmix", "attentionmix", "dropmix-g", "plain", "plain"]
    assert [own.model for own in asked] == ["minilm"] * 4 + ["bert-att", "bert-vat"]
    assert [own.procedure_options for own in asked] == [{}] * 5 + [{"iterations": 1}]
    assert {(own.max_length, own.steps, own.steps_factor) for own in asked} == {(128, None, None)}
    assert (study.sizes, study.sets, study.budget) == ((500,), ("sst2", "trec"), "steps")


def test_the_study_measures_what_the_table_has():
    measure = STUDIES["faithful-training"].measures["faithfulness"]
    assert measure.functions == {
        "gradient": EXPLAINERS["gradient"], "gradient-x-input": EXPLAINERS["gradient-x-input"],
        "integrated-gradients": IntegratedGradients(8),
    }  # fmt: skip
    assert list(measure.functions) == list(faithful_training.EXPLAINED)
    metrics = measure.chosen_metrics
    assert list(metrics) == ["accuracy-drop@5", "post-hoc-accuracy@5", "loo-tau", "mean-accuracy-drop"]
    assert metrics["mean-accuracy-drop"].compute is mean_accuracy_drop
    assert (measure.texts, measure.most, measure.leave_one_out_texts) == (200, 5, 100)
    assert np.unique([column.scale for column in measure.columns.values()]).tolist() == [1]
