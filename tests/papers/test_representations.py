"""A text's vector is what the last linear map sees; silhouettes are those of a loop, and maps repeat themselves."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import families
import word_models
from salience.batch import Batch
from salience.data.batching import TOKENS
from salience.data.encoding import Encoded
from salience.papers.vat.representations import map_of, representations, silhouette

LENGTHS = [5, 1, 9, 3, 12, 7, 2, 9]
LAST = {  # the last linear map, by its name in the model
    "bert": "classifier", "roberta": "classifier.out_proj", "distilbert": "classifier",
    "electra": "classifier.out_proj", "deberta-v2": "classifier", "mpnet": "classifier.out_proj",
    "modernbert": "classifier", "modernbert-mean": "classifier", "albert": "classifier", "attention": "head",
    "mpnet, mean": "classifier",
}  # fmt: skip
WORDS = {  # attention classifiers over words: their settings
    "embeddings": {},
    "lstm": {},
    "lstm, the largest values": {"head": "perceptron", "pooling": "max"},
    "lstm, a perceptron": {"head": "perceptron"},
    "lstm, by turns": {"head": "perceptron", "pooling": "variational"},
}


def encoded(own: Batch) -> Encoded:
    """A batch's texts without their padding or labels."""
    real = own.attention_mask.bool()
    return Encoded(own.input_ids[real].numpy(), own.segment[real].numpy(), real.sum(1).numpy())


@pytest.fixture
def narrow_batches(monkeypatch):
    """Several batches of a few texts each, in order of length, not of rows."""
    monkeypatch.setitem(TOKENS, "cpu", 24)


def last_of(family: str) -> str:
    """The name of the last map; a pooling layer before the head does not change it."""
    return LAST.get(family) or LAST[family.partition(",")[0]]


def logits_of_vectors(model, name: str, vectors: np.ndarray) -> torch.Tensor:
    """W v + b; of one vector for two classes s, of which -s/2 and s/2 are made."""
    last = model.get_submodule(name)
    found = torch.from_numpy(vectors) @ last.weight.detach().T
    found = found if last.bias is None else found + last.bias.detach()
    return found if found.shape[1] > 1 else torch.cat([-found / 2, found / 2], 1)


@torch.no_grad()
def logits_of_texts(model, own: Batch) -> torch.Tensor:
    """Each text by itself, as anyone would call the model."""
    rows = [ids[mask.bool()] for ids, mask in zip(own.input_ids, own.attention_mask, strict=True)]
    return torch.cat([model(input_ids=row[None], attention_mask=torch.ones_like(row)[None]).logits for row in rows])


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    return found.shape == expected.shape and torch.allclose(found, expected, rtol=0, atol=1e-5)


# ------------------------------------------------------------------------------------------------------------ vectors


@families.crossed("classes", [2, 3], "family", families.MODELS)
def test_the_last_map_makes_the_logits_of_the_vectors(family, classes, narrow_batches):
    model, own = families.MODELS[family](classes=classes), families.batch(LENGTHS, family=family)
    vectors = representations(model, encoded(own))
    assert vectors.shape == (len(LENGTHS), model.get_submodule(last_of(family)).in_features)
    assert close(logits_of_vectors(model, last_of(family), vectors), logits_of_texts(model, own))


@families.crossed("classes", [2, 3], "name", WORDS)
def test_of_attention_classifiers_the_whole_head_does(name, classes, narrow_batches):
    """R of VAT: what the pooling makes of a text, before a perceptron's own layer."""
    model = word_models.word_classifier(name.partition(",")[0], classes=classes, **WORDS[name])
    own = word_models.word_batch(LENGTHS)
    vectors = representations(model, encoded(own))
    with torch.no_grad():
        assert close(model.classify(torch.from_numpy(vectors)), logits_of_texts(model, own))


def test_texts_stay_where_they_are(narrow_batches):
    """The shortest text is the second and the longest the fifth, whichever batch they were in."""
    model, own = families.build("bert"), families.batch(LENGTHS)
    found = representations(model, encoded(own))
    order = torch.tensor([4, 2, 7, 0, 1, 6, 3, 5])
    assert close(torch.from_numpy(representations(model, encoded(families.rearranged(own, order)))),
                 torch.from_numpy(found[order]))  # fmt: skip
    assert min(np.abs(found[first] - found[second]).max() for first in range(8) for second in range(first)) > 1e-2


def test_training_leaves_no_trace():
    model, own = families.build("bert", dropout=0.5), families.batch(LENGTHS)
    expected = representations(model, encoded(own))
    model.train()
    assert (representations(model, encoded(own)) == expected).all()
    assert all(module.training for module in model.modules())


# --------------------------------------------------------------------------------------------------------- silhouette


def silhouette_by_hand(vectors: list[list[float]], labels: list[int]) -> float:
    """Mean of (b - a) / max(a, b): a to one's own class, b to the nearest other class; 0 for a class of one text."""

    def distance(one: int, other: int) -> float:
        return sum((x - y) ** 2 for x, y in zip(vectors[one], vectors[other], strict=True)) ** 0.5

    total = 0.0
    for row, label in enumerate(labels):
        means = {}
        for other in set(labels):
            rows = [index for index, own in enumerate(labels) if own == other and index != row]
            if rows:
                means[other] = sum(distance(row, index) for index in rows) / len(rows)
        if label in means:
            inside, outside = means.pop(label), min(means.values())
            total += (outside - inside) / max(inside, outside)
    return total / len(labels)


def test_a_silhouette_is_that_of_a_loop():
    for labels in [[0, 0, 1, 1, 0, 1], [0, 1, 2, 0, 1, 2], [3, 3, 3, 3, 3, 8]]:
        vectors = np.random.default_rng(sum(labels)).normal(size=(6, 4)).round(2)
        assert silhouette(vectors, np.array(labels)) == pytest.approx(silhouette_by_hand(vectors.tolist(), labels))


def test_a_silhouette_by_hand():
    """0, 1 and 4, 5 on a line: a = 1; b = 4.5 outside, 3.5 inside."""
    found = silhouette(np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1]))
    assert found == pytest.approx((3.5 / 4.5 + 2.5 / 3.5) / 2)


def test_a_silhouette_needs_two_classes_and_more_texts():
    for labels in [[0, 0, 0], [0, 1, 2], [0]]:
        with pytest.raises(ValueError, match="labels"):
            silhouette(np.arange(2.0 * len(labels)).reshape(-1, 2), np.array(labels))


# ---------------------------------------------------------------------------------------------------------------- map


def test_a_map_has_a_place_for_every_text():
    for number in [2, 3, 5, 40]:
        vectors = np.random.default_rng(0).normal(size=(number, 8)).astype(np.float32)
        kept = vectors.copy()
        found = map_of(vectors)
        assert found.shape == (number, 2)
        assert np.isfinite(found).all()
        assert (vectors == kept).all()


def test_the_same_seed_is_the_same_map():
    vectors = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
    assert (map_of(vectors, 3) == map_of(vectors, 3)).all()


def test_what_is_alike_is_near():
    """Two heaps of texts stay two heaps, each text in its own row."""
    draw, heap = np.random.default_rng(0), np.arange(40) % 2
    found = map_of(draw.normal(size=(40, 8)) + 20 * heap[:, None])
    assert silhouette(found, heap) > 0.8


@pytest.mark.whole
def test_equal_vectors_do_not_end_the_process():
    """A model that has collapsed sees no difference; scikit-learn's t-SNE then divides by 0 and crashes on NaN."""
    script = (
        "import numpy as np\n"
        "from salience.papers.vat.representations import map_of\n"
        "assert np.isfinite(map_of(np.ones((10, 4), np.float32))).all()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done


def test_equal_vectors_are_one_point():
    assert map_of(np.ones((10, 4), np.float32)).tolist() == [[0, 0]] * 10
