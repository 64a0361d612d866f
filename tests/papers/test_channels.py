"""Channels that matter for a class, and the words they react to, against slow loops and against DropMix-C."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import torch

import families
import word_models
from salience.batch import Batch
from salience.data.batching import DIFFERENTIATED, Collator
from salience.data.encoding import Encoded, encode_texts
from salience.explainers.gradient import gradient_map
from salience.mixing.dropmix import DropMix
from salience.papers.dropmix.channels import Channels, scan_channels

WIDTH = 16
LENGTHS = [5, 1, 9, 3, 7, 12, 2, 9]
SPECIAL = -1  # of no token


def encoded(own: Batch) -> Encoded:
    """A batch's texts without their padding."""
    real = own.attention_mask.bool()
    types = None if own.token_type_ids is None else own.token_type_ids[real].numpy()
    return Encoded(
        own.input_ids[real].numpy(), own.segment[real].numpy(), real.sum(1).numpy(), own.labels.tolist(), types=types
    )


def texts_of(family: str, pairs: bool = False) -> Encoded:
    found = encoded(families.batch(LENGTHS, [4, 1, 2, 8, 3, 1, 6, 5] if pairs else None, family=family))
    found.labels = [0, 1, 2, 2, 0, 1, 0, 1]  # each class has its texts
    return found


@pytest.fixture
def narrow_batches(monkeypatch):
    """Several batches of a few texts each, in order of length, not of rows."""
    monkeypatch.setitem(DIFFERENTIATED, "cpu", 24)


def gradient_by_hand(model, row: dict) -> torch.Tensor:
    """|d cross-entropy of the gold label / d output of the embedding block| (T, D) of one text."""
    seen = []
    embeddings = model.base_model.embeddings
    handle = embeddings.register_forward_hook(lambda module, arguments, result: seen.append(result))
    ids = torch.tensor(np.asarray(row["input_ids"]), dtype=torch.long)[None]
    known = {}
    if getattr(model.base_model.config, "type_vocab_size", 0) > 1:
        second = np.flatnonzero(np.asarray(row["segment"]) == 2)
        types = torch.zeros_like(ids)
        if len(second):
            types[0, second[0] :] = 1
        known["token_type_ids"] = types
    logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), **known).logits[0]
    handle.remove()
    loss = torch.logsumexp(logits, 0) - logits[row["labels"]]
    return torch.autograd.grad(loss, seen[0])[0][0].abs()


def scan_by_hand(model, texts: Encoded, number: int):
    """The `number` columns of the most energy, and the word of the largest gradient in every column; text by text."""
    selected, strongest = [], []
    for index in range(len(texts)):
        row = texts[index]
        gradient = gradient_by_hand(model, row).tolist()
        columns = range(len(gradient[0]))
        energy = [sum(line[column] ** 2 for line in gradient) for column in columns]
        best = sorted(columns, key=lambda column: -energy[column])[:number]
        selected.append([column in best for column in columns])
        words = np.flatnonzero(row["segment"] > 0).tolist()
        strongest.append([
            int(row["input_ids"][max(words, key=lambda place: gradient[place][column])]) if words else SPECIAL
            for column in columns
        ])  # fmt: skip
    return np.array(selected), np.array(strongest)


# ---------------------------------------------------------------------------------------------------- importance


def channels(selected: list[list[int]], labels: list[int], strongest=None) -> Channels:
    chosen = np.array(selected, bool)
    return Channels(
        chosen, np.zeros(chosen.shape, int) if strongest is None else np.array(strongest), np.array(labels)
    )


def test_the_worked_example():
    """Positive texts select {0}, {0}, {2}, negative ones {1}, {0}."""
    found = channels([[1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]], [1, 0, 1, 0, 1])
    negative, positive = found.importance(2)
    assert positive == pytest.approx([2 / 3, 0, 1 / 3])
    assert negative == pytest.approx([1 / 2, 1 / 2, 0])
    against, preferred = found.preference(2)
    assert preferred == pytest.approx([1 / 6, -1 / 2, 1 / 3])
    assert against == pytest.approx([-1 / 6, 1 / 2, -1 / 3])
    assert np.argsort(-preferred).tolist() == [2, 0, 1]


def test_of_several_classes_each_is_held_against_the_others_mean():
    draw = np.random.default_rng(0)
    labels = [0, 1, 2, 3, 0, 1, 2, 0, 1, 0]
    found = channels(draw.random((10, 5)) < 0.4, labels)
    for own in range(4):
        for channel in range(5):
            parts = [
                Fraction(sum(bool(found.selected[row, channel]) for row in range(10) if labels[row] == label),
                         labels.count(label))
                for label in range(4)
            ]  # fmt: skip
            assert found.importance(4)[own, channel] == pytest.approx(float(parts[own]))
            others = sum(parts[label] for label in range(4) if label != own) / 3
            assert found.preference(4)[own, channel] == pytest.approx(float(parts[own] - others))


def test_a_class_without_texts_has_no_importance():
    found = channels([[1, 0], [0, 1]], [0, 2])
    assert found.importance(3) == pytest.approx(np.array([[1, 0], [np.nan, np.nan], [0, 1]]), nan_ok=True)


def test_a_class_without_texts_leaves_the_others_their_preference():
    """Two of three classes are there: each is held against the other."""
    first, absent, last = channels([[1, 0, 0], [0, 1, 0]], [0, 2]).preference(3)
    assert np.isnan(absent).all()
    assert np.argmax(first) == 0 and np.isfinite(first).all()
    assert np.argmax(last) == 1 and np.isfinite(last).all()


# ---------------------------------------------------------------------------------------------------------- words


def test_contributed_words_are_those_of_a_loop():
    draw = np.random.default_rng(1)
    labels, strongest = draw.integers(0, 3, 40).tolist(), draw.integers(SPECIAL, 6, (40, 7))
    found = channels(draw.random((40, 7)) < 0.5, labels, strongest)
    for label in range(3):
        for channel in range(7):
            own = Counter()
            for row in range(40):
                token = int(strongest[row, channel])
                if labels[row] == label and token != SPECIAL and found.selected[row, channel]:
                    own[token] += 1
            assert found.contributed(label, channel) == own


def test_the_words_of_a_channel_in_their_order():
    found = channels([[1], [1], [1], [0], [1]], [0, 0, 0, 0, 1], [[7], [9], [9], [7], [7]])
    assert found.contributed(0, 0).most_common() == [(9, 2), (7, 1)]


# ----------------------------------------------------------------------------------------------------------- scan


@families.crossed("pairs", [False, True], "family", ["bert", "roberta", "distilbert", "electra", "modernbert"])
def test_a_scan_is_that_of_a_loop(family, pairs, narrow_batches):
    model, texts = families.FAMILIES[family]().double(), texts_of(family, pairs)
    found = scan_channels(model, texts, 0.3)
    selected, strongest = scan_by_hand(model, texts, 4)  # of 16
    assert (found.selected == selected).all()
    assert (found.strongest == strongest).all()
    assert found.labels.tolist() == texts.labels


def test_the_texts_tell_channels_words_and_labels_apart():
    """Else much could be wrong above and not be seen."""
    model, texts = families.build("bert").double(), texts_of("bert")
    found = scan_channels(model, texts, 0.3)
    assert len(np.unique(found.selected, axis=0)) == len(LENGTHS)
    assert all(len(set(row.tolist())) > 1 for row, length in zip(found.strongest, LENGTHS, strict=True) if length > 3)
    texts.labels = [(label + 1) % 3 for label in texts.labels]
    assert (scan_channels(model, texts, 0.3).selected != found.selected).any()


def test_the_importance_of_all_channels_sums_to_their_number():
    for width, ratio, number in [(16, 0.1, 1), (16, 0.05, 0), (16, 0.5, 8), (16, 0.99, 15), (50, 0.58, 29)]:
        model, texts = families.build("bert", width=width), texts_of("bert")
        found = scan_channels(model, texts, ratio)
        assert (found.selected.sum(1) == number).all()
        importance = found.importance(3)
        assert importance.sum(1) == pytest.approx(np.full(3, number))
        assert ((importance >= 0) & (importance <= 1)).all()


def test_no_channel_reacts_to_a_special_token():
    for family in ["bert", "roberta", "distilbert"]:
        model, texts = families.FAMILIES[family](), texts_of(family, pairs=True)
        special = set(families.specials(family).values())
        found = scan_channels(model, texts, 0.5)
        largest = [gradient_by_hand(model, texts[row]).argmax(0) for row in range(len(texts))]
        assert any(
            int(texts[row]["input_ids"][place]) in special for row, own in enumerate(largest) for place in own.tolist()
        )  # without the rule they would
        assert not special & set(found.strongest.ravel().tolist())


def test_a_text_without_words_has_no_strongest_one():
    tokenizer = families.tiny_tokenizer(["a song"])
    model = families.build("bert", vocabulary=len(tokenizer))
    found = scan_channels(model, encode_texts(tokenizer, ["a song", "", "song"], labels=[0, 0, 1]), 0.5)
    assert (found.strongest[1] == SPECIAL).all()
    assert (found.strongest[[0, 2]] >= families.FIRST_WORD).all()
    assert (found.selected.sum(1) == 8).all()  # special tokens have their part in a channel's energy
    counted = sum(sum(found.contributed(0, channel).values()) for channel in range(WIDTH))
    assert counted == found.selected[0].sum() > 0


def test_training_leaves_no_trace():
    """Dropout is off while it looks; the mode and the weights' gradients stay as they were."""
    model, texts = families.build("bert", dropout=0.5), texts_of("bert")
    expected = scan_channels(model, texts, 0.5)
    model.train()
    found = scan_channels(model, texts, 0.5)
    assert (found.selected == expected.selected).all() and (found.strongest == expected.strongest).all()
    assert all(module.training for module in model.modules())
    assert all(weight.grad is None for weight in model.parameters())


@families.crossed("ratio", [0.07, 0.3, 0.5, 0.9], "family", ["bert", "modernbert", "embeddings", "lstm"])
def test_a_scan_selects_what_dropmix_would_replace(family, ratio):
    if family in word_models.ENCODERS:
        model, own = word_models.word_classifier(family, embedding_size=WIDTH), word_models.word_batch(LENGTHS)
    else:
        model, own = families.FAMILIES[family](), families.batch(LENGTHS, family=family)
    mix = DropMix(None, 1, ratio=ratio)(own, gradient_map(model, own))
    found = scan_channels(model, encoded(own), ratio)
    for row, length in enumerate(own.attention_mask.sum(1).tolist()):
        for place in range(length):
            assert (~mix.keep[row, place].numpy() == found.selected[row]).all()
    assert mix.share == pytest.approx(np.full(len(own), 1 - found.selected.sum(1) / WIDTH))


def test_rows_stay_where_they_are(narrow_batches):
    """However they are batched; the labels are looked at."""
    model, own = families.build("bert").double(), families.batch(LENGTHS)
    apart = [
        scan_channels(model, encoded(families.rearranged(own, torch.tensor([row]))), 0.3) for row in range(len(own))
    ]
    found = scan_channels(model, encoded(own), 0.3)
    for row, single in enumerate(apart):
        assert (found.selected[row] == single.selected[0]).all()
        assert (found.strongest[row] == single.strongest[0]).all()


def test_texts_as_the_collator_makes_them_are_the_same_texts():
    """What the tests above take from a batch is what a batch of them would be."""
    own = families.batch(LENGTHS)
    texts = encoded(own)
    again = Batch(**Collator(0)([texts[row] for row in range(len(texts))]))
    assert (again.input_ids == own.input_ids).all() and (again.segment == own.segment).all()
