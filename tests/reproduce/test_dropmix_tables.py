"""DropMix's tables of accuracies: the published numbers against what the paper says of them, and its Mixup."""

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from scipy.stats import beta
from test_mixing_tables import made_up
from test_paper_tables import lines_of

import families
from salience.mixing.choosing import choose_method
from salience.papers.dropmix.tables import CURVES, ENCODERS, METHODS, TABLE_3, TABLE_4
from salience.papers.mixing_tables import curves_of
from salience.papers.tables import TABLES
from salience.report.comparison_pictures import learning_curves

DROPMIX = ("DropMix-U", "DropMix-C", "DropMix-W", "DropMix-G")
THREE = TABLES["dropmix-table3"]().published


def best(told, methods) -> float:
    return max(told[method] for method in methods)


def test_table_3_is_as_the_paper_says():
    """Section 5.4: "DropMix outperforms other baseline models on all datasets, except for MRPC", "DropMix-G generally
    achieves the best results, except on QNLI and MRPC", and DropMix-C is better than U and W "except MR"."""
    baselines = [method for method in THREE["sst2"] if method not in DROPMIX]
    assert {name for name, told in THREE.items() if best(told, DROPMIX) <= best(told, baselines)} == {"mrpc"}
    assert {name for name, told in THREE.items() if told["DropMix-G"] < best(told, DROPMIX)} == {"qnli", "mrpc"}
    others = ("DropMix-U", "DropMix-W")
    assert {name for name, told in THREE.items() if told["DropMix-C"] < best(told, others)} == {"mr"}


def test_table_4_is_as_the_paper_says():
    """Section 5.4: with both encoders DropMix is better than Dropout and Mixup. The sets are of single sentences."""
    for told in ENCODERS.values():
        assert set(told) == {"trec", "sst5", "subj", "mr"} < set(TABLE_3)
        for own in told.values():
            assert best(own, ("DropMix-C", "DropMix-G")) > best(own, ("Bert", "Dropout", "Mixup"))


@pytest.mark.parametrize("encoder", TABLE_4)
def test_table_4_is_compared_with_the_paper_s_numbers_of_its_encoder(encoder):
    table = TABLES["dropmix-table4"]()
    assert {cell.model for cell in table.plan(table.sets, [0])} == {"roberta-base"}
    assert {cell.model for cell in table.of_model(encoder).plan(table.sets, [0])} == {encoder}
    rows = [row | {"model": encoder} for row in made_up({("trec", "Bert", 0): 80.0, ("trec", "DropMix-G", 0): 82.0})]
    told = {"roberta-base": ("97.3", "98.1"), "bert-large-uncased": ("97.5", "97.8")}[encoder]
    text = table.report(rows)
    assert lines_of(text, "Bert") == [["Bert", f"80.00 ({told[0]})"]]
    assert lines_of(text, "DropMix-G")[0] == ["DropMix-G", f"82.00 ({told[1]})"]


def test_the_curves_are_over_the_paper_s_parts_of_the_data():
    """Section 5.5: 50, 25, 10 and 5 % of the training data, beside all of it, by DropMix-C."""
    table = TABLES["dropmix-sparse"]()
    cells = table.plan(table.sets, [0])
    largest = max(cell.rows for cell in cells)
    assert sorted({100 * cell.rows / largest for cell in cells}) == [5, 10, 25, 50, 100]
    assert "qnli" in CURVES and {"Bert", "Dropout", "Mixup", "DropMix-C"} < {cell.method for cell in cells}


def of_curves(accuracies) -> list[dict]:
    """Rows of (set, method, rows, seed) to accuracy in percent."""
    found = []
    for (name, method, size, seed), value in accuracies.items():
        found += [row | {"rows": size} for row in made_up({(name, method, seed): value})]
    return found


def test_the_curves_are_printed_by_the_number_of_rows():
    told = TABLES["dropmix-sparse"]().report(of_curves({
        ("trec", "Dropout", 100, 0): 80.0, ("trec", "DropMix-G", 100, 0): 81.0,
        ("trec", "Dropout", 100, 1): 82.0, ("trec", "DropMix-G", 100, 1): 84.0,
        ("subj", "Dropout", 100, 0): 90.0, ("subj", "DropMix-G", 100, 0): 91.0,
        ("subj", "Dropout", 200, 0): 93.0, ("subj", "DropMix-G", 200, 0): 92.0,
        ("mr", "Dropout", 200, 0): 70.0,  # without its partner
    }))  # fmt: skip
    # Means over the sets: of 1.5 and 1.0 points with 100 rows; one set with 200.
    (claim,) = lines_of(told, "DropMix-G is better than Dropout")
    assert claim[1].startswith("+1.25 [") and claim[1].endswith("], not seen") and claim[2] == "-1.00, not seen"
    spread = f"{82.5:.2f} ± {np.std([81, 84], ddof=1):.2f}"
    assert lines_of(told, "DropMix-G") == [["DropMix-G", spread], ["DropMix-G", "91.00", "92.00"]]
    assert lines_of(told, "Dropout")[2] == ["Dropout", "70.00"] and not lines_of(told, "Mixup")


def test_a_curve_has_the_sizes_at_which_all_methods_have_runs():
    rows = of_curves({
        ("mr", "Bert", 100, 0): 60.0, ("mr", "Bert", 200, 0): 64.0, ("mr", "Bert", 200, 1): 66.0,
        ("mr", "Bert", 500, 0): 70.0, ("mr", "Dropout", 100, 0): 61.0, ("mr", "Dropout", 200, 0): 62.0,
    })  # fmt: skip
    curves = curves_of([*METHODS], "mr", rows)
    assert curves.rows == [100, 200]
    assert curves.values == {"Bert": [[60.0], [64.0, 66.0]], "Dropout": [[61.0], [62.0]]}
    figure = Figure()
    texts = learning_curves(curves).draw(figure.subplots())
    assert [list(map(float, line.get_ydata())) for line in texts] == [[60.0, 65.0], [61.0, 62.0]]
    deviation = f"{np.std([64, 66], ddof=1):.2f}"
    assert next(iter(texts.values())) == ["Bert, 100 rows: 60.00 %", f"Bert, 200 rows: 65.00 ± {deviation} %"]


@pytest.mark.parametrize("name", ["Mixup", "Dropout+Mixup"])
def test_mixup_has_the_weights_of_the_paper(name):
    """l ~ Beta(0.1, 0.1) (section 5.3), compared with scipy's distribution: both sides of 1/2 alike."""
    settings = METHODS[name]
    method = choose_method(settings["method"], settings["method_options"])
    batch = families.batch([4, 4])
    torch.manual_seed(0)
    shares = np.array([float(method(batch).share[0]) for _ in range(4000)])
    places = [0.05, 0.25, 0.5, 0.75, 0.95]
    assert [(shares <= place).mean() for place in places] == pytest.approx(beta(0.1, 0.1).cdf(places), abs=0.03)
