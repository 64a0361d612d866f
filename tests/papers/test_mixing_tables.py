"""The mixing papers' tables: equal passes, the same rows, published and printed numbers, the sweep over heads."""

import math
from dataclasses import asdict

import numpy as np
import pytest
import torch
from made import lines_of, rows, write
from matplotlib.figure import Figure
from scipy import stats
from scipy.stats import beta

import families
from salience.classify import TextClassifier
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.mixing.choosing import choose_method
from salience.mixing.heads import rank_heads
from salience.papers import mixing_tables, ssmix
from salience.papers.attentionmix import sweep
from salience.papers.attentionmix import tables as attentionmix
from salience.papers.attentionmix.sweep import Cell as SweepCell
from salience.papers.attentionmix.sweep import Maps, cells, draw_maps, finished_seeds, rank_correlation
from salience.papers.attentionmix.sweep import report as sweep_report
from salience.papers.attentionmix.tables import LAYERS as LAYERS_OF_SETS
from salience.papers.attentionmix.tables import METHODS as MIXES
from salience.papers.attentionmix.tables import as_deep
from salience.papers.dropmix import tables as dropmix
from salience.papers.dropmix.tables import CURVES, ENCODERS, TABLE_3, TABLE_4
from salience.papers.dropmix.tables import METHODS as DROPMIXES
from salience.papers.mixing_tables import (
    FIRST,
    Cell,
    Claim,
    MixingTable,
    curves_of,
    load,
    mixing_alone,
    part_of,
    prepare_equal,
    report,
)
from salience.papers.tables import TABLES
from salience.report.comparison_pictures import learning_curves
from salience.training.passes import passes_per_step
from salience.training.prepare import first_batches

METHODS = ssmix.METHODS | attentionmix.METHODS | dropmix.METHODS
LAYERS = 3  # of the tiny BERT
SMALL = MixingTable({"plain": {"method": "plain"}, "mix": {"method": "embedmix", FIRST: 0.5}}, {"sst2": {}}, (12, 100))


loaded: list[str] = []  # the names of the encoders that a test has loaded


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A set in the place of SST-2, and a tiny BERT in that of MiniLM."""
    own = [
        {"text": row["text"], "label": row["label"].split()[-1]} for row in rows(150, seed=1)
        if row["label"] != "neutral"
    ]  # fmt: skip
    for part, chosen in (("train", own[:60]), ("dev", own[60:75]), ("test", own[75:])):
        write(tmp_path / "sst2", part, chosen)
    texts = [row["text"] for row in own]
    loaded.clear()

    def tiny(name, labels, dropout=None):
        loaded.append(name)
        model = families.build("bert", classes=len(labels), vocabulary=300, dropout=dropout or 0.0)
        model.config.id2label = dict(enumerate(labels))
        return model, families.tiny_tokenizer(texts)

    monkeypatch.setattr(mixing_tables, "load_classifier", tiny)
    return tmp_path


def settings_of(name: str) -> dict:
    chosen = METHODS[name]
    return chosen("mr", LAYERS) if callable(chosen) else chosen


def test_all_methods_make_equal_passes(folder):
    data = part_of(mixing_tables.load("sst2", folder, 0), 40, 0)
    plain = prepare_equal(data, "sst2", {"method": "plain"}, 0).plan
    for name in METHODS:
        settings = dict(settings_of(name))
        share = settings.pop(FIRST, 0.0)
        found = prepare_equal(data, "sst2", settings, 0, part=share)
        recipe = found.plan
        cost = share + (1 - share) * passes_per_step(found.method, recipe.clean, found.model)
        assert abs(recipe.steps * cost - plain.steps) <= cost / 2
        assert found.validation is None and found.test is None  # the last checkpoint is kept
        assert (recipe.pooling, recipe.contrastive, recipe.batch_size) == ("cls", 0, plain.batch_size)
        assert recipe.learning_rate == plain.learning_rate


def test_fewer_rows_than_classes_are_refused_by_the_option_that_asks_for_them(folder):
    with pytest.raises(InputError, match=r"--rows 1 is less than its 2 classes: every class needs a row"):
        part_of(mixing_tables.load("sst2", folder, 0), 1, 0)


def test_trainings_are_those_of_the_papers():
    """SSMix: plain first, then clean and mixed texts. AttentionMix and DropMix: mixtures only."""
    assert all(each == {"method": "plain"} or each[FIRST] == 3 / 8 for each in ssmix.METHODS.values())
    for name in attentionmix.METHODS | dropmix.METHODS:
        settings = settings_of(name)
        assert settings["method"] == "plain" or settings["clean"] == 0
    dropouts = {name: each["dropout"] for name, each in dropmix.METHODS.items()}
    assert dropouts == {name: 0.1 if name == "Dropout" else 0.0 for name in dropmix.METHODS}


@pytest.mark.whole
def test_a_second_plain_stage_has_the_passes_of_mixing_and_no_fewer_steps(folder, monkeypatch):
    """Plain, twice: the first stage is that of a mixing method; the second has its learning rate, and no method."""
    stages = []
    fit = mixing_tables.fit

    def noted(prepared, *arguments):
        stages.append(prepared.plan)
        return fit(prepared, *arguments)

    monkeypatch.setattr(mixing_tables, "fit", noted)
    table = MixingTable({name: ssmix.METHODS[name] for name in ("plain, twice", "SSMix")}, {"sst2": {}})
    twice, mixed = (table.run(Cell("sst2", name, 40, 0), folder) for name in table.methods)
    first, second, of_mixing, mixing = stages
    assert [each.method for each in stages] == ["plain", "plain", "plain", "ssmix"]
    assert first.learning_rate == of_mixing.learning_rate == pytest.approx(5 * second.learning_rate)
    assert second.learning_rate == mixing.learning_rate
    assert first.steps / (first.steps + second.steps) == pytest.approx(3 / 8, abs=0.01)
    assert first.steps >= of_mixing.steps and second.steps >= mixing.steps
    assert twice["text_passes"] == pytest.approx(mixed["text_passes"], rel=0.05)


def test_rows_are_drawn_by_the_seed_and_nested(folder):
    whole = mixing_tables.load("sst2", folder, 3)
    small, large = (part_of(whole, size, 3).training.texts for size in (12, 40))
    assert len(small) == 12 and {*small} < {*large} < {*whole.training.texts}
    assert part_of(whole, 12, 4).training.texts != small
    assert part_of(whole, 1000, 3).training.texts == whole.training.texts
    assert part_of(whole, 12, 4).test.texts == part_of(whole, 40, 3).test.texts == whole.test.texts


def test_a_cell_is_a_training_whose_accuracy_is_counted_again(folder, monkeypatch):
    kept: list[TextClassifier] = []
    fit = mixing_tables.fit

    def keeping(prepared, *arguments):
        fitted = fit(prepared, *arguments)
        kept.append(fitted.classifier)
        return fitted

    monkeypatch.setattr(mixing_tables, "fit", keeping)
    row = SMALL.run(Cell("sst2", "mix", 12, 0), folder)
    test = mixing_tables.load("sst2", folder, 0).test
    encoded = encode_texts(kept[0].tokenizer, test.texts)
    right = [
        kept[0].predict_proba([text]).argmax() == label for text, label in zip(test.texts, test.labels, strict=True)
    ]
    assert row["accuracy"] == pytest.approx(np.mean(right)) and len(encoded) == row["test_rows"]
    plain = SMALL.run(Cell("sst2", "plain", 12, 0), folder)
    assert row["training_rows"] == plain["training_rows"] == 12
    assert row["text_passes"] == pytest.approx(plain["text_passes"], rel=0.05) and row["steps"] < plain["steps"]
    assert SMALL.run(Cell("sst2", "mix", 12, 0), folder)["accuracy"] == row["accuracy"]


def test_every_cell_once():
    table = SMALL.table("small", "made up")
    cells = table.plan(("sst2",), (0, 1))
    assert cells == [
        Cell("sst2", method, size, seed) for seed in (0, 1) for size in (12, 100) for method in ("plain", "mix")
    ]


def test_other_numbers_of_rows():
    table = SMALL.table("small", "made up").resized([30, 20, 30])
    assert [cell.rows for cell in table.plan(("sst2",), (0,))] == [30, 30, 20, 20]
    assert [cell.rows for cell in SMALL.table("small", "made up").plan(("sst2",), (0,))] == [12, 12, 100, 100]


@pytest.mark.whole
def test_another_encoder(folder):
    table = SMALL.table("small", "made up").of_model("bert-base-uncased").resized([12])
    cells = table.plan(("sst2",), (0,))
    assert {(cell.model, cell.rows) for cell in cells} == {("bert-base-uncased", 12)}
    found = [table.row(cell, folder) for cell in cells]
    assert loaded == ["bert-base-uncased"] * 2 and {row["model"] for row in found} == {"bert-base-uncased"}
    both = SMALL.report([row | {"model": "minilm"} for row in found] + found)
    usual, other = both.split("Encoder: bert-base-uncased\n\n")
    assert usual.strip() == other.strip() == SMALL.report([row | {"model": "minilm"} for row in found])


def test_published_numbers_name_methods_of_the_table():
    for name in ["ssmix-table2", "attentionmix-tables", "dropmix-table3", "dropmix-table4"]:
        table = TABLES[name]()
        methods = {cell.method for cell in table.plan(table.sets, [0])}
        assert {method for told in table.published.values() for method in told} <= methods


def made_up(accuracies) -> list[dict]:
    """Rows of (set, method, seed) to accuracy in percent."""
    return [
        {
            "set": name, "method": method, "rows": 500, "seed": seed, "model": "minilm", "accuracy": value / 100,
            "text_passes": 1000.0,
        }
        for (name, method, seed), value in accuracies.items()
    ]  # fmt: skip


def test_the_printed_numbers_are_counted_again():
    values = {
        ("one", "base", 0): 80.0, ("one", "base", 1): 82.0, ("one", "base", 2): 81.0,
        ("one", "mix", 0): 83.0, ("one", "mix", 1): 83.5, ("one", "mix", 2): 84.0,
        ("two", "base", 0): 60.0, ("two", "base", 1): 61.0, ("two", "mix", 0): 60.0, ("two", "mix", 1): 63.0,
        ("two", "mix", 2): 99.0,  # without its partner, it does not count in differences
    }  # fmt: skip
    published = {"one": {"base": 90.0, "mix": 91.0}, "two": {"base": 70.0}}
    claims = (Claim("mix is better", "mix", "base"),)
    text = report(["base", "mix"], published, claims, made_up(values))
    accuracies, differences = lines_of(text, "mix")
    assert accuracies[1] == f"{np.mean([83, 83.5, 84]):.2f} ± {np.std([83, 83.5, 84], ddof=1):.2f} (91.0)"
    assert lines_of(text, "base") == [["base", "81.00 ± 1.00 (90.0)", "60.50 ± 0.71 (70.0)"]]
    gains = np.array([3.0, 1.5, 3.0])
    low, high = stats.t.interval(0.95, 2, gains.mean(), stats.sem(gains))
    assert differences[1] == f"+2.50 [{low:+.2f}, {high:+.2f}] (+1.0)"
    assert differences[2].startswith("+1.00 [") and "(" not in differences[2]
    (claimed,) = lines_of(text, "mix is better")
    assert claimed[1:] == ["+1.00", f"+2.50 [{low:+.2f}, {high:+.2f}]", "1", "gain", "gain"]
    variances = np.square([stats.sem(gains), stats.sem([0.0, 2.0])])  # Welch, about these two sets
    degrees = variances.sum() ** 2 / (variances**2 / [4, 3]).sum() - 2
    half = stats.t.ppf(0.975, degrees) * math.sqrt(variances.sum()) / 2
    assert differences[3].startswith(f"+1.75 [{1.75 - half:+.2f}, {1.75 + half:+.2f}]; other sets [")


def test_a_claim_is_compared_on_the_same_sets():
    """The paper has both methods on one set only; a claim that it has on no set of ours stands without its number."""
    values = {
        (name, method, seed): value + seed for seed in (0, 1) for name, method, value in (
            ("one", "base", 80.0), ("one", "mix", 81.0), ("two", "base", 60.0), ("two", "mix", 67.0),
            ("two", "other", 61.0), ("three", "base", 10.0),
        )
    }  # fmt: skip
    told = {"base": 90.0, "mix": 95.0, "other": 99.0}
    published = {"one": {"base": 70.0, "mix": 72.0}, "two": {"base": 50.0}, "three": told, "four": told}
    claims = (Claim("mix is better", "mix", "base"), Claim("other is better", "other", "base"))
    text = report(["base", "mix", "other"], published, claims, made_up(values))
    (mix,), (other,) = lines_of(text, "mix is better"), lines_of(text, "other is better")
    assert mix[1] == "+2.00" and mix[2].startswith("+1.00") and mix[3] == "1"
    assert other[1] == "" and other[2].startswith("+1.00") and other[3] == "1"


def test_passes_are_told():
    rows = [
        row | {"text_passes": 990.0 if row["method"] == "plain" else 1010.0}
        for row in made_up({("sst2", "plain", 0): 80.0, ("sst2", "mix", 0): 82.0})
    ]
    assert "Passes of texts in a run, 500 training rows: sst2 1,000 (± 1.0 %)" in SMALL.report(rows)
    assert SMALL.report([]) == ""


def test_an_incomplete_table_can_be_printed():
    for name in ("ssmix-table2", "attentionmix-tables", "dropmix-table3", "dropmix-table4", "dropmix-sparse"):
        table = TABLES[name]()
        assert table.report([]) == ""
        cell = table.plan(table.sets, [0])[0]
        row = asdict(cell) | {"accuracy": 0.5, "text_passes": 9.0}
        assert "50.00" in table.report([row])


def test_what_was_not_run_is_not_printed():
    run = {"set": "mr", "method": "plain", "rows": 10, "seed": 0, "accuracy": 0.5}
    claims = [Claim("one is better", "one", "plain")]
    alone = report(["plain", "one", "two"], {"mr": {"two": 90.0}}, claims, [run])
    assert alone.splitlines()[-3:] == ["| method | mr |", "|---|---|", "| plain | 50.00 |"]
    assert "Claims" not in alone and "Difference" not in alone
    both = report(["plain", "one", "two"], {"mr": {"two": 90.0}}, claims, [run, run | {"method": "one"}])
    assert "Claims" in both and "Difference" in both and "two" not in both


TABLE = TABLES["attentionmix-tables"]()
OF_LAYERS = [f"AttentionMix, {rank} layer" for rank in ("best", "second", "third")]


def test_layers_of_another_encoder_are_as_deep():
    """The counterpart is the first layer that ends where the paper's ends, or later."""
    for depth in [1, 2, 3, 6, 12, 24]:
        for layer in range(12):
            assert as_deep(layer, depth) == next(own for own in range(depth) if 12 * (own + 1) >= depth * (layer + 1))
        assert [as_deep(layer, 12) for layer in range(12)] == list(range(12))
        assert as_deep(0, depth) in (0, 1) and as_deep(11, depth) == depth - 1


def test_layers_of_the_paper_in_six_layers():
    """SST: layers 10, 0 and 2; MR: 1, 6 and 2; IMDB: 1, 0 and 2 (Tables 2 to 4)."""
    found = {
        name: [MIXES[method](name, 6)["method_options"]["layer"] for method in OF_LAYERS] for name in TABLE.published
    }
    assert found == {"sst5": [5, 0, 1], "mr": [0, 3, 1], "imdb": [0, 0, 1]}
    assert [MIXES[OF_LAYERS[0]](name, 12)["method_options"]["layer"] for name in TABLE.published] == [
        10,
        1,
        1,
    ]


def test_published_numbers_are_as_the_paper_says():
    """Sections 6.1 to 6.3: of six configurations on SST all are above no mixing, all but one above every benchmark; on
    MR five of six are above no mixing. Layers are in descending order, and the best head is above all of them."""
    for told in TABLE.published.values():
        layers = [told[method] for method in LAYERS_OF_SETS]
        assert layers == sorted(layers, reverse=True) and told["AttentionMix, chosen head"] > layers[0]
    benchmarks = ("standard", "wordMixup", "MixupEncoding")
    sst, mr = TABLE.published["sst5"], TABLE.published["mr"]
    assert [max(sst[name] for name in benchmarks) < sst[method] for method in LAYERS_OF_SETS] == [True, True, False]
    assert all(sst[method] > sst["standard"] for method in LAYERS_OF_SETS)
    assert [mr[method] > mr["standard"] for method in LAYERS_OF_SETS] == [True, True, False]


@pytest.mark.whole
def test_a_cell_is_trained_by_the_layer_of_its_set_and_encoder(tmp_path, monkeypatch):
    own = [
        {"text": row["text"], "label": row["label"].split()[-1]} for row in rows(60, seed=1)
        if row["label"] != "neutral"
    ]  # fmt: skip
    for part, chosen in (("train", own[:30]), ("test", own[30:])):
        write(tmp_path / "mr", part, chosen)
    encoder = families.save_tiny_model(tmp_path / "encoder", [row["text"] for row in own])
    trained = []

    def noted(data, name, settings, seed, model, part):
        trained.append(settings["method_options"]["layer"])
        return prepare_equal(data, name, settings, seed, model, part)

    prepare_equal = mixing_tables.prepare_equal
    monkeypatch.setattr(mixing_tables, "prepare_equal", noted)
    table = MixingTable({method: MIXES[method] for method in OF_LAYERS}, {"mr": {}}, model=str(encoder))
    for method in OF_LAYERS:
        table.run(Cell("mr", method, 16, 0, str(encoder)), tmp_path)
    assert trained == [0, 1, 0]  # of the encoder's two layers, for the paper's layers 1, 6 and 2


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


def test_table_4_is_compared_with_the_paper_s_numbers_of_its_encoder():
    for encoder in TABLE_4:
        table = TABLES["dropmix-table4"]()
        assert {cell.model for cell in table.plan(table.sets, [0])} == {"roberta-base"}
        assert {cell.model for cell in table.of_model(encoder).plan(table.sets, [0])} == {encoder}
        rows = [
            row | {"model": encoder} for row in made_up({("trec", "Bert", 0): 80.0, ("trec", "DropMix-G", 0): 82.0})
        ]
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
    spread = f"{82.5:.2f} ± {np.std([81, 84], ddof=1):.2f}"
    assert lines_of(told, "DropMix-G") == [["DropMix-G", spread], ["DropMix-G", "91.00", "92.00"]]
    assert lines_of(told, "Dropout")[2] == ["Dropout", "70.00"] and not lines_of(told, "Mixup")


def test_a_curve_has_the_sizes_at_which_all_methods_have_runs():
    rows = of_curves({
        ("mr", "Bert", 100, 0): 60.0, ("mr", "Bert", 200, 0): 64.0, ("mr", "Bert", 200, 1): 66.0,
        ("mr", "Bert", 500, 0): 70.0, ("mr", "Dropout", 100, 0): 61.0, ("mr", "Dropout", 200, 0): 62.0,
    })  # fmt: skip
    curves = curves_of([*DROPMIXES], "mr", rows)
    assert curves.rows == [100, 200]
    assert curves.values == {"Bert": [[60.0], [64.0, 66.0]], "Dropout": [[61.0], [62.0]]}
    figure = Figure()
    texts = learning_curves(curves).draw(figure.subplots())
    assert [list(map(float, line.get_ydata())) for line in texts] == [[60.0, 65.0], [61.0, 62.0]]
    deviation = f"{np.std([64, 66], ddof=1):.2f}"
    assert next(iter(texts.values())) == ["Bert, 100 rows: 60.00 %", f"Bert, 200 rows: 65.00 ± {deviation} %"]


@pytest.mark.whole
def test_mixup_has_the_weights_of_the_paper():
    """l ~ Beta(0.1, 0.1) (section 5.3), compared with scipy's distribution: both sides of 1/2 alike."""
    for name in ["Mixup", "Dropout+Mixup"]:
        settings = DROPMIXES[name]
        method = choose_method(settings["method"], settings["method_options"])
        batch = families.batch([4, 4])
        torch.manual_seed(0)
        shares = np.array([float(method(batch).share[0]) for _ in range(4000)])
        places = [0.05, 0.25, 0.5, 0.75, 0.95]
        assert [(shares <= place).mean() for place in places] == pytest.approx(beta(0.1, 0.1).cdf(places), abs=0.03)


RANDOM = np.random.default_rng(0)


def swept(seeds=(0, 1), heads=range(12)) -> list[dict]:
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


@pytest.fixture
def few_draws(monkeypatch):
    """A bootstrap that takes no time."""
    monkeypatch.setattr(sweep, "DRAWS", 50)


def test_means_are_over_seeds_and_the_report_ranks_the_heads(few_draws):
    rows = swept()
    maps = Maps.of(rows)
    for layer in range(6):
        for head in range(12):
            own = [row for row in rows if (row["layer"], row["head"]) == (layer, head)]
            assert maps.accuracies[layer, head] == pytest.approx(50 * sum(row["accuracy"] for row in own))
            assert maps.agreements[layer, head] == pytest.approx(own[0]["agreement"])
    assert maps.layers.tolist() == pytest.approx([70, 71, 72, 73, 74, 75])
    told = sweep_report(rows).splitlines()[-1]
    expected = stats.spearmanr(maps.agreements.ravel(), maps.accuracies.ravel()).statistic
    assert told.startswith(f"| mr | 100 | 2 | 72 | {expected:+.2f} [") and "75.0 (layer 5)" in told
    best = np.unravel_index(maps.accuracies.argmax(), (6, 12))
    assert f"{maps.accuracies.max():.1f} ({best[0]}:{best[1]})" in told and "1:8, 1:3, 6:11" in told
    chosen = np.unravel_index(maps.agreements.argmax(), (6, 12))
    assert f"| {maps.accuracies[chosen]:.1f} ({chosen[0]}:{chosen[1]}) |" in told


def test_a_seed_that_is_not_finished_changes_no_mean(few_draws):
    """A second seed with easier rows, of which some heads only have been trained."""
    first, second = swept(seeds=[0]), swept(seeds=[1], heads=range(3))
    easier = [row | {"accuracy": row["accuracy"] + 0.1} for row in second]
    told, both = sweep_report(first).splitlines()[-1], sweep_report(first + easier).splitlines()[-1]
    assert both.replace(both.split(" | ")[5], "") == told.replace(told.split(" | ")[5], "")
    assert told.split(" | ")[5] == "" and "[" in both.split(" | ")[5]  # the finished heads of both are compared
    assert finished_seeds(first + easier) == first and finished_seeds(first) == first


def test_two_seeds_are_compared_with_each_other(few_draws):
    rows = swept()
    one, other = (Maps.of([row for row in rows if row["seed"] == seed]).accuracies.ravel() for seed in (0, 1))
    assert f"| {stats.spearmanr(one, other).statistic:+.2f} [" in sweep_report(rows)
    assert sweep_report([row for row in rows if row["seed"] == 0]).count("[") == 1


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


def test_a_sweep_that_has_just_begun_can_be_printed(few_draws):
    assert sweep_report(swept(heads=range(1))).count("\n") == 1  # 6 heads are not ranked
    assert sweep_report(swept(seeds=(0,), heads=range(2))).count("\n") == 2


@pytest.mark.whole
def test_a_training_has_the_agreement_of_its_head_before_it(folder, monkeypatch):
    monkeypatch.setattr(sweep, "LAYERS", families.LAYERS)
    row = sweep.run(SweepCell("sst2", 1, 0, 20, 3), folder)
    data = part_of(load("sst2", folder, 3), 20, 3)
    prepared = prepare_equal(data, "sst2", mixing_alone("attentionmix", layer=1, head=0), 3)
    assert (prepared.method.layer, prepared.method.head) == (1, 0)
    ranked = rank_heads(prepared.model, first_batches(prepared.classifier.tokenizer, prepared.training))
    assert row["agreement"] == next(each.agreement for each in ranked if (each.layer, each.head) == (1, 0))
    assert row["training_rows"] == 20 and row["test_rows"] == len(data.test) and 0 <= row["accuracy"] <= 1
    of_layer = sweep.run(SweepCell("sst2", 1, None, 20, 3), folder)
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
