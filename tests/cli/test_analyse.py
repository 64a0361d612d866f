"""`salience analyse`: what is printed and written, and what is refused in one line."""

import csv
import json
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import pytest
from test_bad_input import refused
from test_train_attention import arguments

import families
from labelled import FILLER, WORDS, labelled_rows, write_csv
from salience.classify.classifier import predict_probabilities
from salience.data.encoding import encode_texts
from salience.explainers import Attention
from salience.models.loading import load_trained
from salience.papers.attentionmix import parts_of_speech as tagging
from salience.papers.attentionmix.parts_of_speech import given_tags, meetings, tagged_attention
from salience.papers.dropmix.channels import scan_channels
from salience.papers.vat.representations import map_of, representations, silhouette

LABELS = ["food", "music", "sport"]
ROWS = labelled_rows(40, seed=2)
TEXTS = [text for text, _ in ROWS]


def tags_of(text: str) -> list[str]:
    """Parts of speech for the words of `labelled_rows`."""
    content = " ".join(WORDS.values()).split()
    return ["NOUN" if word in content else "ADV" if word in ("very", "quite") else "DET" for word in text.split()]


def saved_model(folder, seed: int = 0, labels=LABELS):
    """A tiny BERT that knows its labels by name."""
    tokenizer = families.tiny_tokenizer([*WORDS.values(), " ".join(FILLER)])
    model = families.build("bert", seed, len(labels), vocabulary=len(tokenizer), layers=2, dropout=0.1)
    model.config.id2label = dict(enumerate(labels))
    model.config.label2id = {label: number for number, label in enumerate(labels)}
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return saved_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def over_words(place, tmp_path_factory):
    """A trained attention classifier over bare embeddings."""
    from salience.cli.main import main

    folder = tmp_path_factory.mktemp("models") / "words"
    assert main(arguments(place, folder, "--set-model", "scale=10", "--set-model", "width=8")) == 0
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Labelled texts; and with tags, between spaces and as lists."""
    folder = tmp_path_factory.mktemp("data")
    write_csv(folder / "texts.csv", ROWS)
    tagged = [(text, label, " ".join(tags_of(text))) for text, label in ROWS]
    write_csv(folder / "tagged.csv", tagged, ("text", "label", "pos"))
    with (folder / "tagged.jsonl").open("w") as file:
        file.writelines(json.dumps({"body": text, "tags": tags_of(text)}) + "\n" for text in TEXTS)
    return folder


@pytest.fixture
def analyse(salience, tmp_path):
    """Runs an analysis into a fresh folder."""

    def run(kind, *options):
        return salience("analyse", kind, *options, "--output", tmp_path / "out")

    return run


def read(file):
    """JSON as the standard has it: it knows no NaN."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)


def check_pictures(folder, *names) -> None:
    """Each is there as PNG and as SVG, and there is no other."""
    found = {file.name for file in folder.iterdir() if file.suffix in (".png", ".svg")}
    assert found == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    for name in names:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        assert ElementTree.parse(folder / f"{name}.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"


def refused_at_last(answer, folder, *parts: str) -> None:
    """Whatever was noted before, the fault is the last line; and nothing has been written."""
    assert answer.code == 2, answer
    *notes, last = answer.err.splitlines()
    assert last.startswith("salience: ")
    for part in parts:
        assert part in last
    assert not [line for line in notes if "Traceback" in line or line.startswith("salience: ")]
    assert not (folder / "out").exists()


# ------------------------------------------------------------------------------------------------------------- pos


def expected_pos(model, head, texts=TEXTS, mean=True, words=False):
    """What the library says of a head."""
    tagged = [given_tags(tags_of(text), {"text": text}) for text in texts]
    pieces, summed = (
        tagged_attention(*load_trained(model), texts, tagged, Attention(*head, mean=mean), words=own)
        for own in (False, words)
    )
    return summed.by_tag(), meetings(pieces, np.random.default_rng(0).permutation(len(texts)))


def check_pos(found: dict, head, by_tag, met) -> None:
    assert (found["layer"], found["head"]) == head
    assert found["mean"] == pytest.approx(by_tag.overall, rel=1e-4)
    assert list(found["tags"]) == by_tag.tags
    for tag, count, mean, relative in zip(by_tag.tags, by_tag.count, by_tag.mean, by_tag.relative, strict=True):
        own = found["tags"][tag]
        assert own["count"] == count
        assert (own["mean"], own["relative"]) == pytest.approx((mean, relative), rel=1e-4)
        assert own["difference"] == pytest.approx(mean - by_tag.overall, abs=1e-5)
    mixtures = found["mixtures"]
    assert mixtures["tags"] == met.tags
    assert mixtures["own words keep"] == pytest.approx(met.own.tolist(), abs=1e-5)
    assert mixtures["partner's words take"] == pytest.approx(met.partner.tolist(), abs=1e-5)
    kept = np.array(mixtures["own words keep, by partner's tag"], float)
    assert kept == pytest.approx(met.kept, abs=1e-5, nan_ok=True)


def test_pos(analyse, model, data, tmp_path):
    answer = analyse("pos", model, data / "tagged.csv", "--tags", "pos", "--heads", "0:1,1")
    assert answer.code == 0, answer.err
    found = read(tmp_path / "out" / "pos.json")
    assert len(found) == 2
    for own, head in zip(found, [(0, 1), (1, None)], strict=True):
        check_pos(own, head, *expected_pos(model, head))
    check_pictures(tmp_path / "out", "pos", "meetings")
    assert "40 texts of tagged.csv" in answer.out
    assert "layer 0, head 1" in answer.out and "layer 1, mean of its heads" in answer.out
    assert f"saved: {tmp_path / 'out'}/pos.json" in answer.out.replace("\n", "")
    # the table begins with what the first head attends to most
    tags = [line.split()[1] for line in answer.out.splitlines() if line.startswith("│")]
    by_tag = expected_pos(model, (0, 1))[0]
    assert tags == [by_tag.tags[index] for index in np.argsort(-by_tag.relative)]


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        (["--words", "--sums", "--most", "7"], {"words": True, "mean": False, "texts": TEXTS[:7]}),
        *(
            pytest.param(*case, marks=pytest.mark.whole)
            for case in (
                ([], {}),
                (["--words"], {"words": True}),
                (["--sums"], {"mean": False}),
                (["--most", "7"], {"texts": TEXTS[:7]}),
            )
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_pos_with_lists_of_tags(options, changed, analyse, model, data, tmp_path):
    answer = analyse("pos", model, data / "tagged.jsonl", "--text", "body", "--tags", "tags", *options)
    assert answer.code == 0, answer.err
    (found,) = read(tmp_path / "out" / "pos.json")
    check_pos(found, (0, None), *expected_pos(model, (0, None), **changed))


@pytest.fixture
def taggers(tmp_path, monkeypatch):
    """A module of one's own with a tagger."""
    (tmp_path / "my_taggers.py").write_text(
        "import re\n"
        "def by_length(texts):\n"
        "    for text in texts:\n"
        "        yield [(*m.span(), 'LONG' if len(m.group()) > 3 else 'SHORT') for m in re.finditer(r'\\S+', text)]\n"
        "def too_few(texts):\n"
        "    yield [(0, 1, 'X')]\n"
        "def pairs(texts):\n"
        "    return [[('a', 'X')] for text in texts]\n"
        "def overlapping(texts):\n"
        "    return [[(0, 2, 'A'), (1, 3, 'B')] for text in texts]\n"
        "def markup(texts):\n"
        "    names = ['[/b]', '[red]x', ':x:', '\\x1b[31m\\u202e', '10' * 5000, '\\x01\\x00', '</text>-->$x$']\n"
        "    for text in texts:\n"
        "        words = list(re.finditer(r'\\S+', text))\n"
        "        yield [(*m.span(), names[n % len(names)]) for n, m in enumerate(words)][::-1]\n"
        "def fails(texts):\n"
        "    return {}['tag']\n"
        "number = 3\n"
    )
    (tmp_path / "broken_tagger.py").write_text("def f(texts) return\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("my_taggers", None)


def test_pos_with_a_tagger_of_ones_own(analyse, model, data, taggers, tmp_path):
    answer = analyse("pos", model, data / "texts.csv", "--tagger", "my_taggers:by_length", "--heads", "1:0")
    assert answer.code == 0, answer.err
    (found,) = read(tmp_path / "out" / "pos.json")
    words = [word for text in TEXTS for word in text.split()]
    assert {tag: own["count"] for tag, own in found["tags"].items()} == {
        "LONG": sum(len(word) > 3 for word in words), "SHORT": sum(len(word) <= 3 for word in words)
    }  # fmt: skip


def test_tags_are_shown_as_they_are(analyse, model, data, taggers, tmp_path):
    """A tag is no markup of the terminal's table, and its control characters do not reach the terminal."""
    answer = analyse("pos", model, data / "texts.csv", "--tagger", "my_taggers:markup")
    assert answer.code == 0, answer.err
    for tag in ("[/b]", "[red]x", ":x:", "\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}"):
        assert tag in answer.out
    assert not set("\x00\x01\x1b\u202e") & set(answer.out)
    (found,) = read(tmp_path / "out" / "pos.json")
    assert {"[/b]", "\x1b[31m\u202e", "\x01\x00"} <= set(found["tags"])
    assert sum(own["count"] for own in found["tags"].values()) == sum(len(text.split()) for text in TEXTS)
    check_pictures(tmp_path / "out", "pos", "meetings")


def test_pos_without_spacy(analyse, model, data, tmp_path, monkeypatch):
    monkeypatch.setattr(tagging, "find_spec", lambda name: None)
    refused_at_last(analyse("pos", model, data / "texts.csv"), tmp_path, "need spaCy", "--tags COLUMN")


BAD_POS = {  # the file, the options, and what the line says
    "a head that is none": ("tagged.csv", ["--tags", "pos", "--heads", "a:b"], ['"a:b" is no head', "--heads 0:8"]),
    "no head": ("tagged.csv", ["--tags", "pos", "--heads", ""], ['"" is no head']),
    "no such head": ("tagged.csv", ["--tags", "pos", "--heads", "0:9"], ["heads 0 to 1", "not 9"]),
    "no such layer": ("tagged.csv", ["--tags", "pos", "--heads", "7"], ["layers 0 to 1", "not 7"]),
    "no such column": ("tagged.csv", ["--tags", "tags"], ['no column "tags" for --tags', "text, label, pos"]),
    "no column of texts": ("tagged.jsonl", ["--tags", "tags", "--text", "text"], ['no column "text"', '"body"']),
    "other tags": ("tagged.csv", ["--tags", "label"], ['tagged.csv: row 1, column "label": 1 mark, but the text has']),
    "no such file": ("tagges.csv", ["--tags", "pos"], ["tagges.csv: no such file", 'Did you mean "tagged.csv"?']),
    "no such module": (
        "texts.csv",
        ["--tagger", "no_such_module:f"],
        ["--tagger no_such_module:f", "No module named"],
    ),
    "no such function": ("texts.csv", ["--tagger", "my_taggers:f"], ["--tagger my_taggers:f", "'f'"]),
    "no module": ("texts.csv", ["--tagger", ":f"], ["--tagger :f"]),
    "no function": (
        "texts.csv",
        ["--tagger", "my_taggers:number"],
        ["my_taggers:number: number is no function"],
    ),
    "too few texts": ("texts.csv", ["--tagger", "my_taggers:too_few"], ["--tagger my_taggers:too_few"]),
    "pairs, as others give them": (
        "texts.csv",
        ["--tagger", "my_taggers:pairs"],
        ["--tagger my_taggers:pairs: a word is (from, to, tag)", "not ('a', 'X')"],
    ),
    "words that overlap": (
        "texts.csv",
        ["--tagger", "my_taggers:overlapping"],
        ["text 1: the tagged words at characters 0 to 2 and 1 to 3 overlap"],
    ),
    "a tagger that fails": ("texts.csv", ["--tagger", "my_taggers:fails"], ["my_taggers:fails: KeyError: 'tag'"]),
    "a module that fails": (
        "texts.csv",
        ["--tagger", "broken_tagger:f"],
        ["--tagger broken_tagger:f: ", "(broken_tagger.py, line 1)"],
    ),
    "no room for a word": ("tagged.csv", ["--tags", "pos", "--max-length", "2"], ["--max-length 2 leaves no place"]),
}


@pytest.mark.parametrize("case", BAD_POS)
def test_bad_pos_is_one_line(case, analyse, model, data, taggers, tmp_path):
    file, options, parts = BAD_POS[case]
    refused_at_last(analyse("pos", model, data / file, *options), tmp_path, *parts)


def test_pos_needs_a_transformer(analyse, over_words, data, tmp_path):
    answer = analyse("pos", over_words, data / "tagged.csv", "--tags", "pos")
    refused_at_last(answer, tmp_path, "cannot analyse", "no self-attention to read")


# -------------------------------------------------------------------------------------------------------- channels


def scanned(model, rows, ratio):
    classifier, tokenizer = load_trained(model)
    labels = [LABELS.index(label) for _, label in rows]
    return scan_channels(classifier.eval(), encode_texts(tokenizer, [text for text, _ in rows], labels=labels), ratio)


def test_channels(analyse, model, data, tmp_path):
    answer = analyse("channels", model, data / "texts.csv", "--ratio", "0.25", "--top", "2")
    assert answer.code == 0, answer.err
    found, expected = read(tmp_path / "out" / "channels.json"), scanned(model, ROWS, 0.25)
    assert (found["texts"], found["ratio"], list(found["importance"])) == (40, 0.25, LABELS)
    importance = np.array(list(found["importance"].values()))
    assert importance == pytest.approx(expected.importance(3), abs=1e-5)
    assert importance.sum(1) == pytest.approx([4, 4, 4], abs=1e-4)
    vocabulary = load_trained(model)[1].convert_ids_to_tokens
    for number, label in enumerate(LABELS):
        channels = found["contributed"][label]
        others = np.delete(expected.importance(3), number, 0).mean(0)
        order = np.argsort(others - expected.importance(3)[number], kind="stable")
        assert list(channels) == [str(channel) for channel in order[:2]]
        for channel, words in channels.items():
            counted = expected.contributed(number, int(channel))
            assert words == {vocabulary(token): count for token, count in counted.most_common(15)}
            assert f"{label}, channel {channel}: {' '.join(words)}" in answer.out
    check_pictures(tmp_path / "out", "channels")


@pytest.mark.whole
def test_patches_of_a_sentence(analyse, model, data, tmp_path):
    answer = analyse("channels", model, data / "texts.csv", "--sentence", "the band's new song, quite $x^2$ loud",
                     "--most", "9")  # fmt: skip
    assert answer.code == 0, answer.err
    assert read(tmp_path / "out" / "channels.json")["texts"] == 9
    assert "patches.png" in answer.out
    check_pictures(tmp_path / "out", "channels", "patches")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--ratio", "0.01"], "--ratio 0.01 selects none of the 16 channels: give at least 0.062"),
        (["--sentence", " "], "--sentence has no words"),
    ],
)
def test_bad_channels_are_one_line(options, part, analyse, model, data, tmp_path):
    refused_at_last(analyse("channels", model, data / "texts.csv", *options), tmp_path, part)


@pytest.mark.whole
def test_a_sentence_that_is_not_utf_8(analyse, model, data):
    answer = analyse("channels", model, data / "texts.csv", "--sentence", "caf\udce9 goal", "--most", "9")
    assert answer.code == 0, answer.err


def test_pos_reads_texts_at_once(analyse, model, data, tmp_path):
    shutil.copytree(model, tmp_path / "long")
    settings = json.loads((tmp_path / "long" / "config.json").read_text())
    (tmp_path / "long" / "config.json").write_text(json.dumps(settings | {"long_texts": "windows"}))
    answer = analyse("pos", tmp_path / "long", data / "tagged.csv", "--tags", "pos")
    assert answer.code == 2 and "reads parts of long texts, with --long windows" in answer.err
    assert not (tmp_path / "out").exists()


def test_channels_of_texts_without_one_of_the_classes(analyse, model, tmp_path):
    """As the first rows of a sorted file are. Those that are there are compared, and the file is JSON."""
    rows = [row for row in ROWS if row[1] != "music"]
    answer = analyse("channels", model, write_csv(tmp_path / "some.csv", rows), "--ratio", "0.25", "--top", "1")
    assert answer.code == 0, answer.err
    found, importance = read(tmp_path / "out" / "channels.json"), scanned(model, rows, 0.25).importance(3)
    assert found["importance"]["sport"] == pytest.approx(importance[2].tolist(), abs=1e-5)
    best = np.argsort(importance[0] - importance[2], kind="stable")[0]
    assert list(found["contributed"]["sport"]) == [str(best)]


@pytest.mark.whole
def test_channels_of_a_classifier_over_words(analyse, over_words, data, tmp_path):
    answer = analyse("channels", over_words, data / "texts.csv", "--sentence", "the new song", "--ratio", "0.25")
    assert answer.code == 0, answer.err
    check_pictures(tmp_path / "out", "channels", "patches")


# ------------------------------------------------------------------------------------------------------ embeddings


def test_embeddings(analyse, model, data, tmp_path):
    answer = analyse("embeddings", model, data / "texts.csv")
    assert answer.code == 0, answer.err
    found = read(tmp_path / "out" / "embeddings.json")
    gold = [LABELS.index(label) for _, label in ROWS]
    assert (found["labels"], found["gold"]) == (LABELS, gold)
    classifier, tokenizer = load_trained(model)
    vectors = representations(classifier, encode_texts(tokenizer, TEXTS))
    (own,) = found["models"]
    assert (own["model"], own["texts"], own["width"]) == ("tiny", 40, 16)
    value = silhouette(vectors, np.array(gold))
    assert own["silhouette"] == pytest.approx(value, abs=1e-5)
    assert np.array(own["map"]).shape == map_of(vectors).shape == (40, 2)
    assert f"{model}: silhouette {value:.3f} over 40 texts" in answer.out
    check_pictures(tmp_path / "out", "embeddings")


@pytest.mark.whole
def test_models_beside_each_other(analyse, model, over_words, data, tmp_path):
    other = saved_model(tmp_path / "other", seed=1)
    answer = analyse(
        "embeddings", model, data / "texts.csv", "--beside", other, "--beside", over_words, "--most", "12"
    )
    assert answer.code == 0, answer.err
    found = read(tmp_path / "out" / "embeddings.json")
    assert [own["model"] for own in found["models"]] == ["tiny", "other", "words"]
    assert [own["width"] for own in found["models"]] == [16, 16, 8]
    assert len({own["silhouette"] for own in found["models"]}) == 3
    assert [len(own["map"]) for own in found["models"]] == [12] * 3 and len(found["gold"]) == 12
    assert answer.out.count(": silhouette ") == 3
    check_pictures(tmp_path / "out", "embeddings")


@pytest.mark.whole
def test_the_texts_are_drawn_by_the_seed(salience, model, data, tmp_path):
    found = []
    for number, seed in enumerate((3, 3, 4)):
        output = tmp_path / str(number)
        options = ["--most", "9", "--seed", seed, "--output", output]
        answer = salience("analyse", "embeddings", model, data / "texts.csv", *options)
        assert answer.code == 0, answer.err
        found.append((output / "embeddings.json").read_bytes())
    assert found[0] == found[1] != found[2]


def test_models_of_other_labels_are_not_compared(analyse, model, data, tmp_path):
    other = saved_model(tmp_path / "other", labels=["food", "music", "pets"])
    answer = analyse("embeddings", model, data / "texts.csv", "--beside", other)
    refused_at_last(answer, tmp_path, "other knows the labels food, music, pets", "food, music, sport")


# ---------------------------------------------------------------------------------------- what both of them refuse

BAD = {  # the command, its options, and what the line says
    "a part of nothing": ("channels", ["--ratio", "0"], ["--ratio is a part of the channels"]),
    "a part of everything": ("channels", ["--ratio", "1"], ["between 0 and 1, not 1.0"]),
    "no text": ("channels", ["--most", "0"], []),
    "no vector": ("embeddings", ["--most", "0"], []),
    "fewer than none": ("embeddings", ["--most", "-3"], []),
    "one vector": ("embeddings", ["--most", "1"], ["texts.csv", "labels"]),
    "no such column of labels": ("channels", ["--label", "lable"], ['no column "lable"', 'Did you mean "label"?']),
    "no such column of texts": ("embeddings", ["--text", "txt"], ['no column "txt"', 'Did you mean "text"?']),
    "no such device": ("embeddings", ["--device", "cpuu"], ['Did you mean "cpu"?']),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options_are_one_line(case, analyse, model, data, tmp_path):
    command, options, parts = BAD[case]
    refused_at_last(analyse(command, model, data / "texts.csv", *options), tmp_path, *parts)


@pytest.mark.parametrize("command", ["channels", "embeddings"])
def test_labels_that_the_model_does_not_know(command, analyse, model, tmp_path):
    file = write_csv(tmp_path / "other.csv", [("a song", "pop"), ("the guitar", "rock")])
    refused_at_last(
        analyse(command, model, file), tmp_path, "other.csv: 2 rows with a label", '"food", "music", "sport"'
    )


def test_one_class_alone_has_no_silhouette(analyse, model, tmp_path):
    file = write_csv(tmp_path / "one.csv", [row for row in ROWS if row[1] == "food"])
    refused_at_last(
        analyse("embeddings", model, file),
        tmp_path,
        "of ",
        "one.csv: there is no silhouette",
        "take more texts or classes",
    )


@pytest.mark.parametrize("command", ["pos", "channels", "embeddings", "attention"])
def test_an_earlier_analysis_is_kept(command, salience, model, data, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    texts = [data / "texts.csv"] if command == "attention" else [model, data / "texts.csv"]
    answer = salience("analyse", command, *texts, "--output", tmp_path / "out")
    assert answer.code == 2 and "exists: choose another --output, or --overwrite it" in answer.err
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["thesis.txt"]


@pytest.mark.whole
def test_and_replaced_when_asked(analyse, model, data, tmp_path):
    (tmp_path / "out").mkdir()
    answer = analyse("pos", model, data / "tagged.csv", "--tags", "pos", "--overwrite")
    assert answer.code == 0, answer.err
    assert (tmp_path / "out" / "pos.json").is_file()


@pytest.mark.parametrize("command", ["pos", "channels", "embeddings"])
def test_a_model_that_is_not_there(command, analyse, data, tmp_path):
    options = ["--tags", "pos"] if command == "pos" else []
    answer = analyse(command, tmp_path / "nowhere", data / "tagged.csv", *options)
    refused_at_last(answer, tmp_path, "no model at")


# ------------------------------------------------------------------------------------------------------- attention


@pytest.fixture(scope="module")
def larger(tmp_path_factory):
    """Enough texts for words of a class, and for neutral ones."""
    return write_csv(tmp_path_factory.mktemp("larger") / "larger.csv", labelled_rows(150, seed=3))


@pytest.mark.whole
def test_attention_over_scales(analyse, larger, place, tmp_path):
    answer = analyse("attention", larger, "--test", place.test, "--scales", "1,10", "--epochs", "3", "--batch-size",
                     "20")  # fmt: skip
    assert answer.code == 0, answer.err
    folder = tmp_path / "out"
    found = read(folder / "summary.json")
    assert {row["scale"] for row in found["categories"]} == {1, 10}
    assert {*LABELS, "neutral"} <= {row["category"] for row in found["categories"]} <= {*LABELS, "neutral", "other"}
    assert {scale: len(rows) for scale, rows in found["trajectories"].items()} == {"1": 4, "10": 4}
    assert "scale 1: test accuracy" in answer.out and "scale 10: test accuracy" in answer.out
    with (folder / "words.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["word"] for row in rows} == {word for text, _ in labelled_rows(150, seed=3) for word in text.split()}
    total = [sum(int(row[f"count {label}"]) for label in LABELS) for row in rows]
    assert total == sorted(total, reverse=True)
    check_pictures(folder, "polarity", "attention", "weights", "scales", "training")
    page = (folder / "index.html").read_text()
    assert page.count("<figure") == page.count("<svg") == 5
    assert "Attention on larger.csv" in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", "").replace("http://matplotlib.org", "")  # fmt: skip


@pytest.mark.whole
def test_attention_of_a_trained_model(analyse, larger, over_words, tmp_path):
    answer = analyse("attention", larger, "--model", over_words)
    assert answer.code == 0, answer.err
    found = read(tmp_path / "out" / "summary.json")
    assert {row["scale"] for row in found["categories"]} == {10}
    assert found["trajectories"] == {"10": []}
    assert {row["test accuracy"] for row in found["categories"]} == {None}
    with (tmp_path / "out" / "words.csv").open() as file:  # nothing is held out
        rows = {row["word"]: row for row in csv.DictReader(file)}
    written = Counter(word for text, _ in labelled_rows(150, seed=3) for word in text.split())
    assert {word: sum(int(row[f"count {label}"]) for label in LABELS) for word, row in rows.items()} == written
    check_pictures(tmp_path / "out", "polarity", "attention", "weights")  # nothing was trained, at one scale


@pytest.mark.whole
def test_attention_of_texts_that_are_longer_than_the_model_reads(analyse, tmp_path):
    rows = [*labelled_rows(150, seed=3), (" ".join(["very"] * 3 * families.POSITIONS), LABELS[0])]
    data = write_csv(tmp_path / "long.csv", rows)
    tokenizer = families.tiny_tokenizer([text for text, _ in rows])
    model = families.attention_classifier(pooling="dot", vocabulary=len(tokenizer))
    model.config.id2label, model.config.label2id = dict(enumerate(LABELS)), {name: i for i, name in enumerate(LABELS)}
    for saved in (model, tokenizer):
        saved.save_pretrained(tmp_path / "model")
    answer = analyse("attention", data, "--model", tmp_path / "model")
    assert answer.code == 0, answer.err


def test_attention_of_too_few_texts(analyse, over_words, tmp_path):
    """No word is of a class or neutral: nothing is left behind, and nothing was trained in vain."""
    data = write_csv(tmp_path / "few.csv", [(f"one{row} two{row}", LABELS[row % 2]) for row in range(12)])
    answer = analyse("attention", data, "--epochs", "1")
    refused(answer, "few.csv: no word occurs often enough")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", [["--scales", "1,10"], ["--seed", "1"], ["--batch-size", "5"]], ids=" ".join)
def test_options_of_training_have_no_effect_on_a_trained_model(option, analyse, larger, over_words):
    refused(analyse("attention", larger, "--model", over_words, *option), f"{option[0]} would have no effect")


@pytest.mark.parametrize(
    ("options", "told"),
    [(["--pooling", "variational"], 'unknown --pooling "variational"; known: additive, dot'),
     (["--pooling", "max"], 'unknown --pooling "max"'),
     (["--scales", "1,0"], "scale=0.0: give a number above 0"),
     (["--scales", "inf"], "scale=inf: give a number above 0")],
)  # fmt: skip
def test_settings_are_refused_before_anything_is_trained(options, told, analyse, larger):
    answer = analyse("attention", larger, *options)
    refused_last = answer.err.splitlines()[-1]
    assert answer.code == 2 and told in refused_last
    assert "scale 1:" not in answer.out


def test_a_transformer_is_not_trained_as_the_paper_trains_words(analyse, larger):
    refused(analyse("attention", larger, "--encoder", "minilm"), '--encoder "minilm" is not trained here', "--model")


@pytest.mark.whole
def test_attention_of_a_file_with_faults(analyse, over_words, tmp_path):
    data = tmp_path / "cp1252.csv"
    rows = [*labelled_rows(60, seed=3), ("café", LABELS[0]), ("", LABELS[0])]
    data.write_bytes("".join(f"{text},{label}\n" for text, label in [("text", "label"), *rows]).encode("cp1252"))
    refused(analyse("attention", data, "--model", over_words), "--encoding cp1252")
    refused(analyse("attention", data, "--model", over_words, "--encoding", "cp1252"), "--bad-rows skip")
    answer = analyse("attention", data, "--model", over_words, "--encoding", "cp1252", "--bad-rows", "skip")
    assert answer.code == 0, answer.err
    assert "left out 1 row of 62" in answer.out


@pytest.mark.whole
def test_the_accuracy_of_a_trained_model_on_test_texts(analyse, larger, over_words, place, tmp_path):
    answer = analyse("attention", larger, "--model", over_words, "--test", place.test)
    assert answer.code == 0, answer.err
    (accuracy,) = {row["test accuracy"] for row in read(tmp_path / "out" / "summary.json")["categories"]}
    model, tokenizer = load_trained(over_words)
    with open(place.test, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = encode_texts(tokenizer, [row["text"] for row in rows])
    predicted = predict_probabilities(model, texts).argmax(1)
    assert accuracy == np.mean([LABELS[number] == row["label"] for number, row in zip(predicted, rows, strict=True)])


@pytest.mark.whole
@pytest.mark.parametrize(
    "options", [["--pooling", "additive"], ["--encoder", "affine", "--alignment", "0.1"], ["--encoder", "lstm"]],
    ids=" ".join,
)  # fmt: skip
def test_attention_of_other_models(options, analyse, larger, tmp_path):
    answer = analyse("attention", larger, *options, "--epochs", "1", "--batch-size", "50", "--max-length", "8")
    assert answer.code == 0, answer.err
    check_pictures(tmp_path / "out", "polarity", "attention", "weights", "training")


BAD_ATTENTION = {
    "scales that are none": (["--scales", "1;10"], ["'1;10' are no numbers", "--scales 1,10,100"]),
    "a scale of nothing": (["--scales", "0"], ["scale=0.0: give a number above 0"]),
    "an unknown pooling": (["--pooling", "dott"], ['unknown --pooling "dott"', 'Did you mean "dot"?']),
    "a pooling without scores": (["--pooling", "max", "--epochs", "1", "--batch-size", "50"], ["unknown --pooling"]),
    "an unknown encoder": (["--encoder", "lsmt"], ['--encoder "lsmt" is not trained', 'Did you mean "lstm"?']),
    "no epoch": (["--epochs", "0"], ["epochs"]),
    "no batch": (["--batch-size", "0"], ["batch"]),
    "no such column": (["--text", "txt"], ['no column "txt"', 'Did you mean "text"?']),
    "missing vectors": (["--embeddings", "nowhere.txt"], ["nowhere.txt: the file cannot be read"]),
    "a missing test": (["--test", "nowhere.csv"], ["nowhere.csv: no such file"]),
}


@pytest.mark.parametrize("case", BAD_ATTENTION)
def test_bad_attention_is_one_line(case, analyse, larger, tmp_path):
    options, parts = BAD_ATTENTION[case]
    refused_at_last(analyse("attention", larger, *options), tmp_path, *parts)


def test_attention_of_a_model_without_scores(analyse, larger, model, tmp_path):
    refused_at_last(analyse("attention", larger, "--model", model), tmp_path, "cannot analyse", "polarity")


def test_attention_of_a_model_for_other_labels(analyse, over_words, tmp_path):
    """Its classes would be taken for the file's, number by number."""
    rows = [(text, {"food": "sport", "music": "pets", "sport": "cars"}[label]) for text, label in labelled_rows(60)]
    answer = analyse("attention", write_csv(tmp_path / "other.csv", rows), "--model", over_words)
    refused_at_last(answer, tmp_path, "labels")
