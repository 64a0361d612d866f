"""AttentionMix's sweep over layers and heads: its cells, its means and rank correlations, and one training of it."""

import numpy as np
import pytest
from scipy import stats
from test_mixing_tables import folder  # noqa: F401  a fixture: SST-2 with tiny texts, and a tiny BERT

import families
from salience.mixing.heads import rank_heads
from salience.papers.attentionmix import sweep
from salience.papers.attentionmix.sweep import Cell, Maps, cells, draw_maps, finished_seeds, rank_correlation, report
from salience.papers.mixing_tables import load, mixing_alone, part_of, prepare_equal
from salience.papers.tables import TABLES
from salience.training.prepare import first_batches

RANDOM = np.random.default_rng(0)


def made_up(seeds=(0, 1), heads=range(12)) -> list[dict]:
    """A sweep of MR: the agreement of a head is that of its layer and number, and the accuracy follows it."""
    rows = []
    for seed in seeds:
        for layer in range(6):
            rows.append({"layer": layer, "head": None, "accuracy": 0.7 + layer / 100, "agreement": None, "seed": seed})
            for head in heads:
                agreement = (3 * layer + 7 * head) % 29 / 100
                noise = RANDOM.normal() / 50
                rows.append({
                    "layer": layer, "head": head, "accuracy": 0.5 + agreement + noise, "agreement": agreement,
                    "seed": seed,
                })  # fmt: skip
    return [row | {"set": "mr", "rows": 100} for row in rows]


def test_layers_come_first_and_every_head_once():
    found = cells((100, 50), ["mr"], [0, 1])
    assert len(found) == 2 * 2 * 78 and len(set(found)) == len(found)
    assert [(cell.layer, cell.head) for cell in found[:8]] == [*((layer, None) for layer in range(6)), (0, 0), (1, 0)]
    resized = TABLES["attentionmix-sweep"]().resized([30])
    assert {cell.rows for cell in resized.plan(("mr", "sst5"), (0,))} == {30}


def test_means_are_over_seeds_and_the_report_ranks_the_heads():
    rows = made_up()
    maps = Maps.of(rows)
    for layer in range(6):
        for head in range(12):
            own = [row for row in rows if (row["layer"], row["head"]) == (layer, head)]
            assert maps.accuracies[layer, head] == pytest.approx(50 * sum(row["accuracy"] for row in own))
            assert maps.agreements[layer, head] == pytest.approx(own[0]["agreement"])
    assert maps.layers.tolist() == pytest.approx([70, 71, 72, 73, 74, 75])
    told = report(rows).splitlines()[-1]
    expected = stats.spearmanr(maps.agreements.ravel(), maps.accuracies.ravel()).statistic
    assert told.startswith(f"| mr | 100 | 2 | 72 | {expected:+.2f} [") and "75.0 (layer 5)" in told
    best = np.unravel_index(maps.accuracies.argmax(), (6, 12))
    assert f"{maps.accuracies.max():.1f} ({best[0]}:{best[1]})" in told and "1:8, 1:3, 6:11" in told
    chosen = np.unravel_index(maps.agreements.argmax(), (6, 12))
    assert f"| {maps.accuracies[chosen]:.1f} ({chosen[0]}:{chosen[1]}) |" in told


def test_a_seed_that_is_not_finished_changes_no_mean():
    """A second seed with easier rows, of which some heads only have been trained."""
    first, second = made_up(seeds=[0]), made_up(seeds=[1], heads=range(3))
    easier = [row | {"accuracy": row["accuracy"] + 0.1} for row in second]
    told, both = report(first).splitlines()[-1], report(first + easier).splitlines()[-1]
    assert both.replace(both.split(" | ")[5], "") == told.replace(told.split(" | ")[5], "")
    assert told.split(" | ")[5] == "" and "[" in both.split(" | ")[5]  # the finished heads of both are compared
    assert finished_seeds(first + easier) == first and finished_seeds(first) == first


def test_two_seeds_are_compared_with_each_other():
    rows = made_up()
    one, other = (Maps.of([row for row in rows if row["seed"] == seed]).accuracies.ravel() for seed in (0, 1))
    assert f"| {stats.spearmanr(one, other).statistic:+.2f} [" in report(rows)
    assert report([row for row in rows if row["seed"] == 0]).count("[") == 1


def test_the_interval_covers_the_correlation_and_narrows_with_heads():
    first = RANDOM.normal(size=72)
    second = first + RANDOM.normal(size=72)
    value, low, high = rank_correlation(first, second)
    ranks = [values.argsort().argsort() for values in (first, second)]
    assert value == pytest.approx(np.corrcoef(*ranks)[0, 1]) and low < value < high
    # Bonett and Wright (2000): the standard error of Fisher's z is sqrt((1 + r^2 / 2) / (n - 3)).
    half = 1.96 * np.sqrt((1 + value**2 / 2) / 69)
    assert [low, high] == pytest.approx(np.tanh(np.arctanh(value) + np.array([-half, half])), abs=0.1)
    assert rank_correlation(first, first)[0] == pytest.approx(1)


def test_a_sweep_that_has_just_begun_can_be_printed():
    assert report(made_up(heads=range(1))).count("\n") == 1  # 6 heads are not ranked
    assert report(made_up(seeds=(0,), heads=range(2))).count("\n") == 2


def test_a_training_has_the_agreement_of_its_head_before_it(folder, monkeypatch):  # noqa: F811
    monkeypatch.setattr(sweep, "LAYERS", families.LAYERS)
    row = sweep.run(Cell("sst2", 1, 0, 20, 3), folder)
    data = part_of(load("sst2", folder, 3), 20, 3)
    prepared = prepare_equal(data, "sst2", mixing_alone("attentionmix", layer=1, head=0), 3)
    assert (prepared.method.layer, prepared.method.head) == (1, 0)
    ranked = rank_heads(prepared.model, first_batches(prepared.classifier.tokenizer, prepared.training))
    assert row["agreement"] == next(each.agreement for each in ranked if (each.layer, each.head) == (1, 0))
    assert row["training_rows"] == 20 and row["test_rows"] == len(data.test) and 0 <= row["accuracy"] <= 1
    of_layer = sweep.run(Cell("sst2", 1, None, 20, 3), folder)
    assert of_layer["agreement"] is None and of_layer["steps"] == row["steps"]


def test_maps_have_a_cell_for_each_head():
    from matplotlib.figure import Figure

    accuracies = np.arange(12.0).reshape(3, 4)
    accuracies[0, 1] = np.nan
    panels = Figure().subplots(1, 2)
    texts = draw_maps(panels, accuracies, accuracies / 100, "mr")
    left, right = (panel.collections[0] for panel in panels)
    assert left.get_array().shape == (3, 4) and left.get_array().mask.sum() == 1
    assert right.get_array()[2, 3] == pytest.approx(0.11)
    assert texts[left][6] == "head 2 of layer 1: 6.0 %" and texts[right][6] == "head 2 of layer 1: +0.06"
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["0", "1", "2"]
