"""The studies that train, explain and judge: small runs of them, whose numbers are counted again by hand."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from made import rows, write

import families
from salience.classify import TextClassifier
from salience.data.encoding import encode_texts
from salience.data.texts import Texts
from salience.explainers import Attention
from salience.explainers.explain import explain_tokens
from salience.faithfulness.erasure import as_judged
from salience.papers import datasets as training
from salience.papers.attention_classifiers.building import word_tokenizer
from salience.papers.attentionmix import figures as attentionmix_figures
from salience.papers.dropmix import table5 as dropmix_table5
from salience.papers.vat import tables as judging
from salience.papers.vat import tables as vat
from word_models import word_classifier

pytestmark = pytest.mark.whole  # it trains real models, or many of them


@pytest.fixture
def folder(tmp_path):
    for part, count in (("train", 60), ("dev", 20), ("test", 30)):
        write(tmp_path / "sst_trees", part, rows(count, seed=count))
    return tmp_path


def test_one_cell_of_vat_holds_all_five_tables(folder, monkeypatch):
    plan = replace(vat.SETUPS["lstm"], epochs=4, iterations=2, judged=20, most=6)
    monkeypatch.setitem(vat.SETUPS, "lstm", plan)
    found = vat.run(vat.Cell("sst5", "lstm-random", 0), folder)
    assert len(found["test"]) == len(found["validation"]) == 3  # iterations 0 to 2
    assert found["accuracy"] == found["test"][int(np.argmax(found["validation"]))]
    assert (found["rows"], found["judged"]) == (60, 20)
    for name in ("random", "ATT", "VAT"):
        own = found["explanations"][name]
        assert len(own["without"]) == len(own["alone"]) == 7
        assert own["without"][0] == own["alone"][0]  # the whole texts
        assert own["AOPC@5"] == pytest.approx(100 * (own["without"][0] - own["without"][5]))
        assert own["post-hoc@5"] == pytest.approx(100 * own["alone"][5])
        assert own["AOPC over K"] == pytest.approx(100 * np.mean(own["without"][0] - np.array(own["without"])))
        assert own["alone"][6] == own["alone"][0]  # six words are all there are
        assert len(own["positive"]) == len(own["negative"]) == 6
    report = vat.report([{"set": "sst5", "encoder": "lstm-random", "seed": 0} | found])
    assert "Table 5" in report and "58.7 26.0 32.7 30.3 54.2 34.7" in report


def test_marked_words_are_found_polarity_by_polarity():
    """Scores that point at the marked word find it at 1; those of texts of the other polarity do not count."""
    part = Texts(
        ["a lovely film", "a dull film", "no opinion", "two words parted"],
        labels=[3, 0, 2, 4],
        marks=[
            ["neutral", "positive", "neutral"],
            ["neutral", "very negative", "neutral"],
            ["neutral"] * 2,
            ["positive"],
        ],
    )
    labels = ("very negative", "negative", "neutral", "positive", "very positive")
    scores = [np.array([0.0, 1.0, 0.5]), np.array([1.0, 0.0, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 0.0, 0.0])]
    found = judging.detection(scores, part, labels)
    assert found["positive"][:3] == [100, 100, 100]  # the fourth text's words are not parted as its marks are
    assert found["negative"][:3] == [0, 0, 0]
    assert found["negative"][4] == 100  # recall at 5: all three words are taken


def test_scores_of_a_pair_stay_with_their_words_where_the_judge_reads_more():
    """The explained model reads a, b | p, q, the judge a, b, c | p, q, r."""
    tokenizer, pair = word_tokenizer(["a b c p q r"]), [("a b c", "p q r")]
    whole = len(tokenizer(["a b c"], ["p q r"])["input_ids"][0])
    model = word_classifier("lstm", 0, vocab_size=len(tokenizer))
    own, judged = (
        TextClassifier(model, tokenizer, longest).encode(pair, words=True).words for longest in (whole - 2, whole)
    )
    assert (own.names, judged.names) == ([["a", "b", "p", "q"]], [["a", "b", "c", "p", "q", "r"]])
    (found,) = as_judged([np.array([1.0, 2.0, 3.0, 4.0])], own, judged)
    assert found.tolist() == [1, 2, -np.inf, 3, 4, -np.inf]
    (back,) = as_judged([np.arange(6.0)], judged, own)
    assert back.tolist() == [0, 1, 3, 4]


LABELS = ("negative", "positive")
TAGS = {"lovely": "ADJ", "great": "ADJ", "dull": "ADJ", "awful": "VERB", "film": "ADV"}


def tagger(texts):
    """By a list; every word stands between spaces."""
    for text in texts:
        start, spans = 0, []
        for word in text.split():
            spans.append((start, start + len(word), TAGS.get(word, "NOUN")))
            start += len(word) + 1
        yield spans


@pytest.fixture
def two_classes():
    return [
        {"text": row["text"], "label": row["label"].split()[-1]}
        for row in rows(120, seed=1)
        if row["label"] != "neutral"
    ]


@pytest.fixture
def folder_of_two(tmp_path, two_classes):
    for part, own in (("train", two_classes[:60]), ("dev", two_classes[60:75]), ("test", two_classes[75:])):
        write(tmp_path / "mr", part, own)
        write(tmp_path / "sst2", part, own)
    return tmp_path


@pytest.fixture
def trained(monkeypatch, two_classes):
    """A tiny BERT in MiniLM's place; the list holds the readers that were trained."""
    texts, kept = [row["text"] for row in two_classes], []

    def tiny(name, labels):
        model = families.build("bert", classes=2, vocabulary=300)
        model.config.id2label = dict(enumerate(labels))
        return model, families.tiny_tokenizer(texts)

    train = training.train_classifier
    monkeypatch.setattr(training, "load_classifier", tiny)
    monkeypatch.setattr(training, "train_classifier", lambda *values: kept.append(train(*values)[0]) or (kept[-1], []))
    return kept


def test_every_head_is_read_as_by_itself(trained, folder_of_two, monkeypatch):
    monkeypatch.setattr(attentionmix_figures, "SpacyTagger", lambda: tagger)
    monkeypatch.setattr(attentionmix_figures, "LOOKED_AT", 20)
    row = attentionmix_figures.run(attentionmix_figures.Cell("mr", 0), folder_of_two)
    (reader,) = trained
    looked_at = attentionmix_figures.drawn(attentionmix_figures.load("mr", folder_of_two, 0).test, 20, seed=0)
    words = [word for text in looked_at.texts for word in text.split()]
    tags = np.array([TAGS.get(word, "NOUN") for word in words])
    assert row["tokens"] == {tag: (tags == tag).sum() for tag in sorted(set(tags))}  # no word is in pieces
    encoded = encode_texts(reader.tokenizer, looked_at.texts)
    for layer, heads in enumerate(row["relative"]):
        for head, relative in enumerate(heads):
            scores = np.concatenate(
                [own[1:-1] for own in explain_tokens(reader.model, encoded, Attention(layer, head))]
            )
            assert len(scores) == len(words)
            assert relative == {
                tag: pytest.approx(scores[tags == tag].mean() / scores.mean(), abs=6e-4) for tag in set(tags)
            }
    places = {(layer, head) for layer in range(len(row["relative"])) for head in range(len(heads))}
    assert len(row["agreeing"]) == 2 and set(row["agreeing"]) <= places


def test_the_lines_of_attention_by_part_of_speech():
    """Two layers of two heads: means over a layer's heads, single heads, and heads of which the hypothesis holds."""
    wordy = {"ADJ": 1.5, "ADV": 1.25, "VERB": 1.1, "PUNCT": 0.5}
    signs = {"ADJ": 0.5, "ADV": 0.75, "VERB": 1.1, "PUNCT": 3.0, "X": 9.0}  # X is too rare to count
    runs = [
        {"set": "mr", "seed": 1, "relative": [[signs, signs], [signs, signs]], "agreeing": [(0, 0), (0, 1)]},
        {"set": "mr", "seed": 0, "relative": [[wordy, signs], [wordy, wordy]], "agreeing": [(0, 1), (1, 0)]},
    ]
    lines = attentionmix_figures.report(runs).splitlines()
    assert [line for line in lines if line.startswith("| layer 0")] == [
        "| layer 0 | 1.00 | 1.00 | 1.10 | nan | nan | nan | nan | nan | nan | 1.75 |"
    ]
    assert any(line.startswith("| layer 1 | 1.50 | 1.25") for line in lines)
    assert any(line.startswith("| head 0:1 | 0.50 | 0.75") for line in lines)
    assert any(line.startswith("| head 1:0 | 1.50 | 1.25") for line in lines)
    assert lines[-1] == "| mr | 2 | 1.50 ± 2.12 of 4 | 2.50 ± 2.12 |"


def test_a_channels_words_are_counted_on_the_training_rows(trained, folder_of_two, two_classes, monkeypatch):
    monkeypatch.setattr(dropmix_table5, "RATIO", 0.5)  # of 16 channels; a tenth would be one
    row = dropmix_table5.run(dropmix_table5.Cell("sst2", 0), folder_of_two)
    (reader,) = trained
    data = dropmix_table5.load("sst2", folder_of_two, 0)
    texts = encode_texts(reader.tokenizer, data.training.texts, labels=data.training.labels)
    channels = dropmix_table5.scan_channels(reader.model, texts, 0.5)
    size = [data.training.labels.tolist().count(label) for label in (0, 1)]
    folder_rows = two_classes[:60]
    for label, name in enumerate(LABELS):
        preference = channels.importance(2)[label] - channels.importance(2)[1 - label]
        assert row["most preferred"][name] == pytest.approx(preference.max())
        chosen = [int(channel) for channel in row["channels"][name]]  # channels can tie, up to rounding
        assert preference[chosen] == pytest.approx(np.sort(preference)[:-4:-1]) and len(set(chosen)) == 3
        for channel, words in row["channels"][name].items():
            counted = channels.contributed(label, int(channel)).most_common(15)
            assert [(word, count) for word, count, _ in words] == [
                (reader.tokenizer.convert_ids_to_tokens(token), count) for token, count in counted
            ]
            for word, _, own in words:
                having = [row["label"] for row in folder_rows if word in row["text"].split()]
                rate = [Fraction(having.count(one), size[number]) for number, one in enumerate(LABELS)]
                assert own == pytest.approx(float(rate[label] / sum(rate)), abs=6e-4)


def test_what_all_seeds_say_of_channels():
    """Words as (word, count, how much it is the class's own)."""

    def one(seed, good, bad):
        return {
            "set": "sst2", "seed": seed, "most preferred": {"negative": 0.25, "positive": 0.5},
            "channels": {"negative": {"7": bad}, "positive": {"3": good}},
        }  # fmt: skip

    runs = [
        one(1, [("good", 9, 1.0), ("plot", 2, 0.5)], [("bad", 4, 0.75)]),
        one(0, [("good", 9, 0.75)], [("bad", 4, 1.0), ("dull", 3, 0.5)]),
    ]
    lines = dropmix_table5.report(runs).splitlines()
    assert "| negative | 7 | `bad` `dull` |" in lines  # of seed 0
    assert "| positive | 3 | `good` |" in lines
    assert lines[-2:] == [
        "| negative | 2 | 75.00 ± 0.00 | 100.00 ± 0.00 | 0.25 ± 0.00 |",
        "| positive | 2 | 75.00 ± 0.00 | 75.00 ± 35.36 | 0.50 ± 0.00 |",
    ]


def test_the_papers_words_are_those_of_table_5():
    """First and last of each list; "bad" is negative, "good" positive."""
    ends = {
        channel: (words.split()[0], words.split()[-1], len(words.split()))
        for lists in dropmix_table5.PUBLISHED["sst2"].values()
        for channel, words in lists.items()
    }
    assert ends == {
        "93": ("good", "fun", 14), "183": ("good", "entertaining", 14), "485": ("funny", "wonderful", 14),
        "345": ("too", "story", 14), "96": ("movie", "bland", 14), "85": ("bad", "##less", 14),
    }  # fmt: skip
