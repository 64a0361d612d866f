"""A word that alone decides must be found by every explainer that claims to know, and chance must look like chance."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import families
import word_models
from salience import EXPLAINERS, Batch
from salience.classify import TextClassifier
from salience.data.batching import Collator
from salience.data.texts import Texts
from salience.explainers import Attention, ClsAttention
from salience.explainers.chance import random_words
from salience.explainers.explain import explain_words
from salience.faithfulness.evaluation import evaluate
from salience.papers.attention_classifiers.building import word_tokenizer

pytestmark = pytest.mark.whole  # it trains real models, or many of them

CUES = ["sun", "moon", "star"]  # a class each
FILLER = [start + end for start in ("ba", "do", "ki", "lu", "me") for end in "nrst"]
NEARLY_ALL = 0.9


def texts_with_a_cue(count: int, seed: int, without: float = 0.0) -> Texts:
    """Five to ten words at random, and somewhere among them the cue of the text's class.

    Args:
        without: the part of texts that have no cue, so that nothing tells their class.
    """
    draw = random.Random(seed)
    texts, labels = [], []
    for number in range(count):
        words, label = draw.choices(FILLER, k=draw.randint(5, 10)), number % len(CUES)
        if draw.random() >= without:
            words.insert(draw.randint(0, len(words)), CUES[label])
        texts.append(" ".join(words))
        labels.append(label)
    return Texts(texts, labels=labels)


# Without texts that have no cue, one of the classes may become the one that needs none.
TRAINING, TEST = texts_with_a_cue(900, seed=0, without=0.3), texts_with_a_cue(90, seed=1)
VOCABULARY = [" ".join(FILLER + CUES)]
PLACES = [next(place for place, word in enumerate(text.split()) if word in CUES) for text in TEST.texts]


def trained(model, tokenizer, rate: float, steps: int = 200) -> TextClassifier:
    """A plain loop: what is trained here must not depend on what it tests."""
    classifier = TextClassifier(model, tokenizer, 64)
    encoded, pad = classifier.encode(TRAINING), Collator(tokenizer.pad_token_id)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(0)
    model.train()
    for _ in range(steps):
        rows = torch.randint(len(TRAINING), (32,), generator=generator).tolist()
        own = Batch(**pad([encoded[row] for row in rows]))
        logits = model(input_ids=own.input_ids, attention_mask=own.attention_mask).logits
        optimizer.zero_grad()
        # Smoothed: a model that is wholly sure of itself has no gradient left to look at.
        torch.nn.functional.cross_entropy(logits, own.labels, label_smoothing=0.1).backward()
        optimizer.step()
    model.eval()
    return classifier


@pytest.fixture(scope="module")
def classifiers() -> SimpleNamespace:
    pieces, words = families.tiny_tokenizer(VOCABULARY), word_tokenizer(VOCABULARY)
    bert = families.build("bert", 2, len(CUES), vocabulary=len(pieces), layers=2, spread=0.1)
    own = word_models.word_classifier(
        "embeddings", pooling="additive", vocab_size=len(words), embedding_size=16,
        special_token_ids=[words.sep_token_id],
    )  # fmt: skip
    return SimpleNamespace(bert=trained(bert, pieces, 3e-3), words=trained(own, words, 1e-2))


def part_found(classifier: TextClassifier, explainer, target: np.ndarray | None = None) -> float:
    """In how many of the test texts the highest word is the cue."""
    scores = explain_words(classifier.model, classifier.encode(TEST, words=True), explainer, target)
    return float(np.mean([own.argmax() == place for own, place in zip(scores, PLACES, strict=True)]))


@pytest.mark.parametrize("model", ["bert", "words"])
def test_the_models_have_learned_the_cue(classifiers, model):
    classifier = getattr(classifiers, model)
    probabilities = classifier.probabilities(classifier.encode(TEST))
    assert (probabilities.argmax(1) == TEST.labels).all()
    assert probabilities.max(1).min() > 0.8


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *(("words", name) for name in EXPLAINERS if name not in ("attention", "cls-attention", "random")),
        # Gradient times input is left out for BERT: a first order at a place behind a LayerNorm, where rows hold
        # positions too, finds the cue in a quarter to three quarters of the texts.
        *(("bert", name) for name in ("gradient", "integrated-gradients", "occlusion")),
    ],
)
def test_whoever_is_informed_ranks_the_cue_first(classifiers, model, name):
    assert part_found(getattr(classifiers, model), EXPLAINERS[name]) >= NEARLY_ALL


@pytest.mark.parametrize("layer", [0, 1])
def test_self_attention_of_this_model_finds_the_cue(classifiers, layer):
    """Nothing promises that: of three seeds, the first layer's ranks the cue first in 86 to 100 % of the texts, and
    the last one's in two classes of three or in all. This is the seed in which both do."""
    assert part_found(classifiers.bert, Attention(layer)) >= NEARLY_ALL


def test_what_the_first_token_of_this_model_attends_to_is_the_cue(classifiers):
    """In its last layer, behind which the head reads this token alone."""
    assert part_found(classifiers.bert, ClsAttention()) >= NEARLY_ALL


@pytest.mark.parametrize("model", ["bert", "words"])
def test_chance_finds_it_by_chance(classifiers, model):
    """One word in about eight and a half."""
    assert part_found(getattr(classifiers, model), EXPLAINERS["random"]) < 0.3


def test_chance_knows_no_word_lengths():
    """A word of many pieces is ranked first as often as one of a single piece."""
    pieces = families.tiny_tokenizer(["sun moon"])
    classifier = TextClassifier(families.build("bert", 2, 2, vocabulary=len(pieces)), pieces, 64)
    encoded = classifier.encode(["sun unheardofunspeakable moon"] * 600, words=True)
    assert (encoded.words_of(0) == 1).sum() > 5 and encoded.words.counts[0] == 3
    first = [own.argmax() for own in random_words(encoded.words.counts, np.random.default_rng(0))]
    assert np.bincount(first).min() > 150


@pytest.mark.parametrize("name", ["integrated-gradients", "occlusion"])
def test_the_cue_speaks_for_its_class_and_against_the_others(classifiers, name):
    own = classifiers.words.encode(TEST, words=True)
    gold = TEST.labels
    for shift, sign in ((0, 1), (1, -1), (2, -1)):
        scores = explain_words(classifiers.words.model, own, EXPLAINERS[name], (gold + shift) % len(CUES))
        of_cues = np.array([row[place] for row, place in zip(scores, PLACES, strict=True)])
        assert np.mean(np.sign(of_cues) == sign) >= NEARLY_ALL


# ------------------------------------------------------------------------------------------------------- faithfulness


@pytest.mark.parametrize(
    ("model", "informed"),
    [
        ("bert", ["gradient", "integrated-gradients"]),
        ("words", ["pooling-attention", "gradient", "gradient-x-input", "integrated-gradients", "occlusion"]),
    ],
)
def test_chance_is_clearly_below_whoever_is_informed(classifiers, model, informed):
    classifier = getattr(classifiers, model)
    evaluation = evaluate(classifier, TEST, explainers=["random", *informed], most=4, at=1, curves=True)
    assert [row.explainer for row in evaluation.rows] == [*informed, "random"]
    *rows, chance = evaluation.rows
    for row in rows:
        for name, metric in evaluation.metrics.items():
            if name == "loo-tau":  # of unlike explainers it says little
                continue
            low, high = (row, chance) if metric.higher_is_better else (chance, row)
            assert low.metrics[name].low > high.metrics[name].high, (row.explainer, name)  # intervals apart
        assert row.metrics["post-hoc-accuracy@1"].mean >= 100 * NEARLY_ALL
        # Without its cue a text is taken for one class or another.
        assert row.without[0] == 1 and row.without[1] < 0.5
        assert all(low <= mean <= high for mean, low, high in row.metrics.values())
    assert chance.without[1] > 0.8


def test_the_table_says_what_was_measured(classifiers):
    """Means, intervals and curves are those of the values that each text has, which are kept."""
    evaluation = evaluate(
        classifiers.words, TEST, explainers=OF_WORDS, most=3, at=2, leave_one_out_texts=7, curves=True
    )
    for row in evaluation.rows:
        for metric, estimate in row.metrics.items():
            assert estimate.mean == pytest.approx(np.nanmean(row.values[metric]))
            assert estimate.low <= estimate.mean <= estimate.high
            assert len(row.values[metric]) == len(TEST)
            assert np.isfinite(row.values[metric]).sum() == (7 if metric == "loo-tau" else len(TEST))
        assert len(row.without) == len(row.alone) == 4
        assert row.metrics["accuracy-drop@2"].mean == pytest.approx(100 * (row.without[0] - row.without[2]))
        assert row.metrics["post-hoc-accuracy@2"].mean == pytest.approx(100 * row.alone[2])
        assert row.without[0] == row.alone[0] == 1


OF_WORDS = ("occlusion", "pooling-attention")


def test_leave_one_out_agrees_with_itself(classifiers):
    """Occlusion of tokens is leave-one-out where words are tokens: the same order, but for what is nearly equal."""
    evaluation = evaluate(classifiers.words, TEST, explainers=OF_WORDS, metrics=["loo-tau"], leave_one_out_texts=20)
    assert evaluation["occlusion"].metrics["loo-tau"].mean > 0.95
    assert abs(evaluation["random"].metrics["loo-tau"].mean) < 0.15


def test_marked_words_are_found_by_who_finds_the_cue(classifiers):
    labels = classifiers.words.labels
    marks = [
        [labels[label] if at == place else "-" for at in range(len(text.split()))]
        for text, label, place in zip(TEST.texts, TEST.labels, PLACES, strict=True)
    ]
    marked = replace(TEST, marks=marks)
    *informed, chance = evaluate(classifiers.words, marked, explainers=OF_WORDS, most=3, at=3).rows
    for row in informed:
        assert row.marked.keys() == set(labels)
        for values in row.marked.values():
            assert values["P@1"] >= 100 * NEARLY_ALL and values["R@1"] == values["P@1"]
            assert values["R@3"] >= 100 * NEARLY_ALL and values["P@3"] == pytest.approx(values["R@3"] / 3)
        assert row.metrics["detection@3"].mean == pytest.approx(np.mean([row.marked[name]["F1@3"] for name in labels]))
    assert all(values["P@1"] < 40 for values in chance.marked.values())


def test_the_judge_need_not_be_the_model_that_is_explained(classifiers):
    """Explanations of one model, decisions of the other, which cuts texts into the same words."""
    occlusion, chance = evaluate(
        classifiers.bert, TEST, explainers=["occlusion"], judge=classifiers.words, most=2, at=1, curves=True
    ).rows
    own = classifiers.words.encode(TEST, words=True)
    assert occlusion.without[0] == np.mean(classifiers.words.probabilities(own).argmax(1) == own.labels)
    assert occlusion.metrics["accuracy-drop@1"].low > chance.metrics["accuracy-drop@1"].high


def test_random_is_always_in_the_table(classifiers):
    rows = evaluate(
        classifiers.words, TEST.take(range(6)), explainers={"mine": EXPLAINERS["gradient"]}, most=2, at=1
    ).rows
    assert [row.explainer for row in rows] == ["mine", "random"]
