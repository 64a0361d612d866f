"""The papers' data sets: what is drawn, how much, from which part; and what is wrong with a folder, in one line."""

from collections import Counter
from dataclasses import replace

import pytest
from made import rows, write

from salience.cli.analyse import read_first_texts
from salience.data.texts import Texts
from salience.errors import InputError
from salience.papers import datasets
from salience.papers.datasets import SOURCES, load, newsgroup_words, newsgroups, short_reviews, stratified
from salience.training.recipe import Recipe

LABELS = {name: source.labels for name, source in SOURCES.items()}


def made(part: str, number: int, labels) -> list[dict]:
    """Rows whose texts say where they come from."""
    return [{"text": f"{part} {index}", "label": labels[index % len(labels)]} for index in range(number)]


@pytest.fixture
def folder(tmp_path):
    """A folder of data sets with one of each kind: with a part for validation, without, and prepared."""
    for name, parts in (("sst2", {"train": 30, "dev": 12, "test": 14}), ("trec", {"train": 120, "test": 14}),
                        ("20news_sports_jw", {"train": 50, "dev": 10, "test": 40})):  # fmt: skip
        labels = next(source.labels for source in SOURCES.values() if source.folder == name)
        for part, number in parts.items():
            write(tmp_path / name, part, made(part, number, labels))
    return tmp_path


def texts_by_part(data) -> list[list[str]]:
    return [data.training.texts, data.validation.texts, data.test.texts]


def check_labels(data, labels) -> None:
    """Every row has the label that stands beside its text."""
    for part in (data.training, data.validation, data.test):
        assert len(part.texts) == len(part.labels)
        for text, number in zip(part.texts, part.labels, strict=True):
            assert data.labels[number] == labels[int(text.split()[1]) % len(labels)]


# -------------------------------------------------------------------------------------------------------------- splits


def test_a_set_with_all_its_parts_is_taken_as_it_is(folder):
    data = load("sst2", folder)
    assert texts_by_part(data) == [[f"{part} {index}" for index in range(number)]
                                   for part, number in (("train", 30), ("dev", 12), ("test", 14))]  # fmt: skip
    assert data.labels == ["negative", "positive"] and data.tokenised
    check_labels(data, LABELS["sst2"])
    assert load("sst2", folder, seed=5) == data


def test_labels_of_words_are_marks_of_the_texts_that_are_judged_alone(tmp_path):
    """A training would read marks, which the papers' methods do not know."""
    for part in ("train", "test"):
        write(tmp_path / "sst_trees", part, rows(10, seed=0))
    data = load("sst5", tmp_path, 0)
    assert data.training.marks is None and data.validation.marks is None
    assert data.test.marks == [row["token_labels"] for row in rows(10, seed=0)]


def test_validation_is_held_out_of_training_where_there_is_none(folder):
    data = load("trec", folder)
    assert len(data.validation.texts) == round(120 * 452 / 5452) == 10
    assert sorted(data.training.texts + data.validation.texts) == sorted(f"train {index}" for index in range(120))
    assert data.test.texts == [f"test {index}" for index in range(14)]
    check_labels(data, LABELS["trec"])


def test_the_same_seed_draws_the_same(folder):
    assert load("trec", folder, 3) == load("trec", folder, 3)
    first, other = load("trec", folder, 3), load("trec", folder, 4)
    assert set(first.validation.texts) != set(other.validation.texts)
    assert [len(part) for part in texts_by_part(first)] == [len(part) for part in texts_by_part(other)]


def test_a_folder_has_prepared_sets_as_they_are(folder):
    data = load("20news-1", folder)
    assert texts_by_part(data) == [[f"{part} {index}" for index in range(number)]
                                   for part, number in (("train", 50), ("dev", 10), ("test", 40))]  # fmt: skip
    check_labels(data, LABELS["20news-1"])


def test_sizes_are_those_of_the_papers():
    """VAT: 452 of 5,452 and 5,000 of 25,000."""
    assert SOURCES["trec"].held_out * 5452 == pytest.approx(452)
    assert SOURCES["imdb"].held_out * 25000 == pytest.approx(5000)


def test_of_two_labels_the_second_is_the_positive_one():
    for name in [name for name, labels in LABELS.items() if len(labels) == 2 and "20" not in name]:
        assert LABELS[name][1] in ("positive", "subjective", "entailment", "equivalent")


# ----------------------------------------------------------------------------------------------------- what is wrong


def test_an_unknown_set():
    with pytest.raises(InputError, match=r'unknown data set "sst3".*Did you mean "sst'):
        load("sst3", None)


def test_a_missing_file_is_named(folder):
    for part in ("test", "train"):  # training rows are read first
        (folder / "sst2" / f"{part}.jsonl.gz").unlink()
        with pytest.raises(
            InputError, match=f"sst2/{part}.jsonl.gz: --data-dir is a folder with sst2/{part}.jsonl.gz"
        ):
            load("sst2", folder)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no data set at .*nowhere/mr/train.jsonl.gz"):
        load("mr", tmp_path / "nowhere")


def test_an_empty_file(folder):
    write(folder / "sst2", "train", [])
    with pytest.raises(InputError, match=r"train\.jsonl\.gz: no rows"):
        load("sst2", folder)


def test_rows_of_another_layout_are_named(folder):
    """Labels as numbers are the most likely of mistakes: what the set calls them is told."""
    for row in [{"text": "a", "label": 1}, {"text": "a", "label": "Positive"}, {"text": "a"}, {"label": "positive"}]:
        write(folder / "sst2", "train", [{"text": "a", "label": "negative"}, row])
        with pytest.raises(InputError, match=r"train.jsonl.gz.*(positive|text)"):
            load("sst2", folder)


# ------------------------------------------------------------------------------------------------------------- the hub


def on_the_hub(monkeypatch, label: str, names: list[str], as_numbers: bool, parts: dict[str, int]) -> list:
    """A hub with one set; gives the list of what will be asked for."""
    from datasets import ClassLabel, Dataset, Features, Value

    features = Features({"text": Value("string"), label: ClassLabel(names=names) if as_numbers else Value("string")})
    asked = []

    def load_dataset(name, config=None, split=None, streaming=False):
        asked.append((name, split))
        rows = [index % len(names) for index in range(parts[split])]
        values = rows if as_numbers else [names[row] for row in rows]
        made = {"text": [f"{split} {index}" for index in range(len(rows))], label: values}
        return Dataset.from_dict(made, features=features).to_iterable_dataset()

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr("datasets.get_dataset_split_names", lambda name: list(parts))
    return asked


def test_from_the_hub(monkeypatch):
    """Its labels are numbers, whose names are the beginnings of ours."""
    asked = on_the_hub(monkeypatch, "label", ["pos", "neg"], True, {"train": 20, "test": 6, "unsupervised": 3})
    data = load("imdb", None)
    assert asked == [("stanfordnlp/imdb", "train"), ("stanfordnlp/imdb", "test")]
    assert [len(own) for own in texts_by_part(data)] == [16, 4, 6]
    check_labels(data, ("positive", "negative"))


def test_from_the_hub_with_labels_as_text(monkeypatch):
    """And with a part for validation, which is called so there."""
    asked = on_the_hub(
        monkeypatch, "label_text", ["negative", "positive"], False, {"train": 20, "validation": 8, "test": 6}
    )
    data = load("sst2", None)
    assert asked == [("SetFit/sst2", part) for part in ("train", "validation", "test")]
    assert [len(own) for own in texts_by_part(data)] == [20, 8, 6]
    assert data.validation.texts[0] == "validation 0"
    check_labels(data, ("negative", "positive"))


def test_from_the_hub_out_of_a_larger_set(monkeypatch):
    """Prepared here: numbers become one word."""
    names = ["rec.autos", "rec.sport.hockey", "rec.sport.baseball", "sci.space"]
    on_the_hub(monkeypatch, "label_text", names, False, {"train": 120, "test": 80})
    monkeypatch.setitem(SOURCES, "20news-1", replace(SOURCES["20news-1"], preparation=newsgroups(60, 15, 13)))
    data = load("20news-1", None)
    assert [len(own) for own in texts_by_part(data)] == [60, 15, 13]
    assert {text for own in texts_by_part(data) for text in own} == {"train qqq", "test qqq"}
    assert data.labels == ["rec.sport.baseball", "rec.sport.hockey"] and data.tokenised
    for part in (data.training, data.validation, data.test):
        assert abs(part.labels.mean() - 0.5) < 0.05


def test_labels_of_the_hub_that_are_not_ours_are_named(monkeypatch):
    on_the_hub(monkeypatch, "label_coarse_original", ["ABBR", "abbreviation"], False, {"train": 4, "test": 4})
    with pytest.raises(InputError, match=r'SetFit/TREC-QC, train: row 2: unknown label "abbreviation"; known: ABBR'):
        load("trec", None)


# --------------------------------------------------------------------------------------------------------------- files


def test_first_texts_of_files(tmp_path):
    """Part of the training rows is held out, and they choose the epoch: they are no test where no test is named."""
    file, test = tmp_path / "train.csv", tmp_path / "test.csv"
    file.write_text("text,label\n" + "".join(f"train {index},{'xy'[index % 2]}\n" for index in range(40)))
    test.write_text("text,label\n" + "".join(f"test {index},{'xy'[index % 2]}\n" for index in range(8)))
    settings = {"data": str(file), "validation_share": None}
    data = read_first_texts(Recipe(**settings, test=str(test), seed=1))
    assert (data.labels, data.tokenised) == (["x", "y"], False)
    assert sorted(data.training.texts + data.validation.texts) == sorted(f"train {index}" for index in range(40))
    assert len(data.validation.texts) == 8 and len(data.test.texts) == 8
    check_labels(data, ("x", "y"))
    alone = read_first_texts(Recipe(**settings, seed=1))
    assert alone.validation == data.validation and alone.test == Texts([])
    whole = read_first_texts(Recipe(str(file), seed=1, validation_share=0.0))
    assert whole.training.texts == [f"train {index}" for index in range(40)] and whole.validation == Texts([])
    assert read_first_texts(Recipe(**settings, seed=2)).validation != alone.validation


def test_second_texts_are_left_out_and_that_is_said(tmp_path):
    file, notes = tmp_path / "pairs.csv", []
    file.write_text("premise,hypothesis,label\n" + "".join(f"a {i},b {i},{'xy'[i % 2]}\n" for i in range(40)))
    data = read_first_texts(Recipe(str(file)), notes.append)
    assert not any("b" in text for text in data.training.texts)
    assert notes[-1] == f'{file}: only the column "premise" is read, not the second texts beside it'


def test_a_part_that_nobody_has_is_no_error(folder):
    """Only validation may be missing."""
    assert datasets.rows(SOURCES["trec"], "dev", folder) == []


# ------------------------------------------------------------------------------------------------------------- pairs


def pairs(number: int, labels: tuple[str, str]) -> list[dict]:
    return [{"text": f"first {row}", "text_pair": f"second {row}", "label": labels[row % 2]} for row in range(number)]


@pytest.mark.parametrize(("name", "tested"), [("rte", "dev"), ("qnli", "test"), ("mrpc", "test")])
def test_pairs_and_the_part_to_test_on(name, tested, tmp_path):
    """Of RTE, the public labels end with the validation part, so that validation rows are held out of the others."""
    for part, number in {"train": 40, "dev": 12, "test": 14}.items():
        if tested == "test" or part != "test":
            write(tmp_path / name, part, pairs(number, SOURCES[name].labels))
    data = datasets.load(name, tmp_path, 0)
    assert data.test.texts == [f"first {row}" for row in range(14 if tested == "test" else 12)]
    assert data.test.second == [text.replace("first", "second") for text in data.test.texts]
    assert data.test.labels.tolist() == [row % 2 for row in range(len(data.test))]
    assert (len(data.training), len(data.validation)) == ((40, 12) if tested == "test" else (36, 4))
    assert data.training.second == [text.replace("first", "second") for text in data.training.texts]


def test_pairs_from_the_hub(monkeypatch):
    """Two columns of texts, labels with spaces, and no labels in the hub's test part."""
    asked = []

    def read(name, part):
        asked.append((name, part))
        for row in range(20):
            label = ("not entailment", "entailment")[row % 2]
            yield {"text1": f"first {row}", "text2": f"second {row}", "label_text": label}

    monkeypatch.setattr(datasets, "hub_rows", read)
    monkeypatch.setattr(datasets, "hub_splits", lambda name: ["train", "validation", "test"])
    data = datasets.load("qnli", None, 0)
    assert asked == [("SetFit/qnli", "train"), ("SetFit/qnli", "validation")]
    assert data.test.second == [f"second {row}" for row in range(20)]
    assert data.test.labels.tolist() == [row % 2 for row in range(20)]


def test_a_pair_without_its_second_text_is_named(tmp_path):
    write(tmp_path / "rte", "train", [{"text": "one", "label": "entailment"}])
    with pytest.raises(InputError, match="row 1 has the columns text, label, but needs text, text_pair, label"):
        datasets.load("rte", tmp_path, 0)


def test_worked_messages():
    for text, words in [
        ("Hell, it holds 80,000 seats.\nNot more", "hell it holds qqq qqq seats not more"),
        ("I haven't seen the '91 Mariners", "i haven ' t seen the qqq mariners"),
        ("400% (about half of it", "qqq about half of it"),
        ("The end.", "the end ."),  # of the last run, a mark is the last character
        ("e-mail", "e mail"),
        ("R2D2 x_1", "qqq qqq"),
        (" \n ", ""),
        ("...", "."),
    ]:
        assert newsgroup_words(text) == words


def messages(part: str, number: int) -> list[dict]:
    """Rows of which two thirds are of one class."""
    return [{"text": f"{part} {'w' * (row + 1)}", "label": "ab"[row % 3 == 0]} for row in range(number)]


def test_messages_are_split_together():
    rows = [*messages("train", 90), {"text": " ", "label": "a"}]
    training, validation, test = newsgroups(90, 20, 40)(rows, messages("test", 60))
    assert [len(training), len(validation), len(test)] == [90, 20, 40]
    texts = [row["text"] for part in (training, validation, test) for row in part]
    assert len({*texts}) == 150 and "" not in texts
    for part in (training, validation, test):
        assert Counter(row["label"] for row in part)["b"] == pytest.approx(len(part) / 3, abs=1)
        assert {row["text"].split()[0] for row in part} == {"train", "test"}
    assert newsgroups(90, 20, 40)(rows, messages("test", 60)) == (training, validation, test)


def test_surplus_training_rows_are_left_out():
    training, *_ = newsgroups(30, 10, 10)(messages("train", 40), messages("test", 20))
    assert len(training) == 30


def test_the_sizes_are_those_of_the_paper():
    """Sun and Lu, Table 1: 624 + 612, 156 + 154, 195 + 192 and 794 + 790 + 716, ..."""
    for name, sizes, classes in (
        ("20news-1", (624 + 612, 156 + 154, 195 + 192), 2),
        ("20news-2", (794 + 790 + 716, 91 + 70 + 79, 84 + 100 + 90), 3),
    ):
        rows = [{"text": "a" * (row + 1), "label": str(row % classes)} for row in range(3000)]
        training, validation, test = SOURCES[name].preparation(rows[:2000], rows[2000:])
        assert (len(training), len(validation), len(test)) == sizes


def test_long_reviews_are_left_out():
    """399 words are short; punctuation does not count, and line breaks of the web do not either."""
    short = ["a, " * 398 + f"<br /><br />{row}" for row in range(100)]
    rows = [{"text": text, "label": "ab"[row % 2]} for row, text in enumerate([*short, "b " * 400, "c " * 900])]
    training, validation, test = short_reviews(held_out=0.2, test=10)(rows, rows[::-1])
    assert [len(training), len(validation), len(test)] == [80, 20, 10]
    texts = [row["text"] for part in (training, validation, test) for row in part]
    assert all(text.startswith("a,") and "<br" not in text for text in texts)
    assert len({row["text"] for row in [*training, *validation]}) == 100


def test_what_is_left_and_what_is_drawn_are_all_rows():
    rows = messages("x", 60)
    left, taken = stratified(rows, 21)
    assert sorted(row["text"] for row in [*left, *taken]) == sorted(row["text"] for row in rows)
    assert Counter(row["label"] for row in taken) == {"a": 14, "b": 7}
