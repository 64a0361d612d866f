"""The accuracy tables of the mixing papers: equal passes, the same rows, and printed numbers, counted again."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats
from test_datasets import write
from test_explained_studies import rows
from test_paper_tables import lines_of

import families
from salience.classify import TextClassifier
from salience.comparison.variation import Difference
from salience.data.encoding import encode_texts
from salience.errors import InputError
from salience.papers import mixing_tables, ssmix
from salience.papers.attentionmix import tables as attentionmix
from salience.papers.dropmix import tables as dropmix
from salience.papers.mixing_tables import FIRST, Cell, Claim, MixingTable, part_of, prepare_equal, report
from salience.papers.tables import TABLES
from salience.training.passes import passes_per_step

METHODS = ssmix.METHODS | attentionmix.METHODS | dropmix.METHODS
LAYERS = 3  # of the tiny BERT
SMALL = MixingTable(
    {"plain": {"method": "plain"}, "mix": {"method": "embedmix", FIRST: 0.5}}, {"sst2": {}}, (), (12, 100)
)


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


@pytest.mark.parametrize("name", METHODS)
def test_all_methods_make_equal_passes(name, folder):
    data = part_of(mixing_tables.load("sst2", folder, 0), 40, 0)
    plain = prepare_equal(data, "sst2", {"method": "plain"}, 0).plan
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


def test_a_second_plain_stage_has_the_passes_of_mixing_and_no_fewer_steps(folder, monkeypatch):
    """Plain, twice: the first stage is that of a mixing method; the second has its learning rate, and no method."""
    stages = []
    fit = mixing_tables.fit

    def noted(prepared, *arguments):
        stages.append(prepared.plan)
        return fit(prepared, *arguments)

    monkeypatch.setattr(mixing_tables, "fit", noted)
    table = MixingTable({name: ssmix.METHODS[name] for name in ("plain, twice", "SSMix")}, {"sst2": {}}, ())
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


def test_another_encoder(folder):
    table = SMALL.table("small", "made up").of_model("bert-base-uncased").resized([12])
    cells = table.plan(("sst2",), (0,))
    assert {(cell.model, cell.rows) for cell in cells} == {("bert-base-uncased", 12)}
    found = [table.row(cell, folder) for cell in cells]
    assert loaded == ["bert-base-uncased"] * 2 and {row["model"] for row in found} == {"bert-base-uncased"}
    both = SMALL.report([row | {"model": "minilm"} for row in found] + found)
    usual, other = both.split("Encoder: bert-base-uncased\n\n")
    assert usual.strip() == other.strip() == SMALL.report([row | {"model": "minilm"} for row in found])


@pytest.mark.parametrize("name", ["ssmix-table2", "attentionmix-tables", "dropmix-table3", "dropmix-table4"])
def test_published_numbers_and_claims_name_methods_of_the_table(name):
    table = TABLES[name]()
    methods = {cell.method for cell in table.plan(table.sets, [0])}
    assert {method for told in table.published.values() for method in told} <= methods
    for claim in (*ssmix.CLAIMS, *attentionmix.CLAIMS, *dropmix.CLAIMS):
        assert {claim.better, claim.worse} <= {*METHODS}


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
    assert claimed[1:] == ["+1.00", f"+2.50 [{low:+.2f}, {high:+.2f}]", "1", "confirmed"]
    assert differences[3].startswith("+1.75 [")


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


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Difference(1.0, 0.2, 1.8), "confirmed"), (Difference(1.0, -0.2, 2.2), "not seen"),
        (Difference(-1.0, -1.8, -0.2), "contradicted"), (Difference(1.0, None, None), "not seen"),
    ],
)  # fmt: skip
def test_a_verdict_follows_the_interval(found, verdict):
    assert Claim("a claim", "one", "two").verdict(found) == verdict


@pytest.mark.parametrize(
    ("found", "told", "verdict"),
    [
        (Difference(1.0, -0.2, 2.2), 0.8, "open"), (Difference(1.0, -0.2, 2.2), 2.5, "not seen"),
        (Difference(1.0, None, None), 0.8, "open"), (Difference(1.0, -0.2, 2.2), -0.1, "not seen"),
        (Difference(1.0, 0.2, 1.8), 0.8, "confirmed"), (Difference(-1.0, -1.8, -0.2), 0.8, "contradicted"),
    ],
)  # fmt: skip
def test_a_claim_is_open_if_the_papers_gain_fits_into_the_interval(found, told, verdict):
    assert Claim("a claim", "one", "two").verdict(found, told) == verdict


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
