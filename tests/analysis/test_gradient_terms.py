"""What one step of gradient descent does to a word's scores (section 4, appendix; methods.md 3.10): the worked
examples, slow loops over types, texts and places, and autograd."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from given_texts import batches_of, random_texts, text_batch, weights_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

import reference_understanding as slow
from families import attention_classifier, build, same_parts
from reference import close
from salience import Batch
from salience.analysis.gradient_terms import GradientTerms, gradient_terms
from salience.analysis.token_scores import global_scores
from salience.hooks.hooks import forward
from word_models import padded, word_batch, word_classifier

KINDS = {
    "dot": {"encoder": "embeddings"},
    "affine": {"encoder": "affine"},
    "additive": {"encoder": "embeddings", "pooling": "additive"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_number_of_classes = pytest.mark.parametrize("classes", [2, 3, 4])


def model_of(kind: str = "dot", classes: int = 2, scale: float = 2.0, vocabulary: int = 8, seed: int = 0, **settings):
    settings = KINDS[kind] | {"embedding_size": 3, "hidden_size": 4} | settings
    return word_classifier(seed=seed, classes=classes, vocab_size=vocabulary, scale=scale, **settings).double()


def parts(terms: GradientTerms) -> dict[str, torch.Tensor]:
    """All that was found, by name."""
    return terms.polarity | terms.attention | {"pi": terms.pi, "rho": terms.rho}


def total(terms: dict[str, torch.Tensor]) -> torch.Tensor:
    return sum(terms.values())


def largest(*numbers: torch.Tensor) -> float:
    return max(float(number.abs().max()) for number in numbers)


def agree(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], tolerance: float = 1e-9) -> None:
    """Equal, but for a share of the largest number under that name."""
    for name, wanted in expected.items():
        own = found[name].squeeze(1) if wanted.ndim < found[name].ndim else found[name]  # two classes: (V, 1)
        assert own.shape == wanted.shape, name
        assert close(own, wanted, tolerance * max(largest(wanted), 1e-300)), name


# --------------------------------------------------------------------------------------------------- worked examples

GOLD_A = {
    "pi": (0.2782865, 0.1391433),
    "rho": (0.1855244, -0.1855244),
    "A": (0, 0),
    "B": (0.2782865, 0.1391433),
    "C": (0.2728469, -0.1391433),
    "D": (0, 0),
    "E": (0.1855244, -0.1855244),
    "F": (0.4601844, -0.3710487),
}
GOLD_B = {
    "pi": (-0.3752062, -0.2653109),
    "rho": (-0.4185568, 0.4185568),
    "A": (-0.2092784, 0.2092784),
    "B": (-0.7504124, -0.5306217),
    "C": (-0.2901643, 0.1098954),
    "D": (-0.1876031, -0.1326554),
    "E": (-0.1046392, 0.1046392),
    "F": (-0.2595526, 0.2092784),
}


def gold_model(polarity: tuple[float, float], scale: float):
    """e1 = (ln 2, 1), e2 = (0, -1), V = (1, 0); the type 0 is padding."""
    model = model_of(vocabulary=3, embedding_size=2, scale=scale)
    with torch.no_grad():
        table = torch.tensor([[0, 0], [math.log(2), 1], [0, -1]], dtype=torch.float64)
        model.get_input_embeddings().weight.copy_(table)
        model.pooling.query.copy_(torch.tensor([[1.0, 0.0]]))
        model.head.weight.copy_(torch.tensor([polarity]))
    return model


@pytest.mark.parametrize(
    ("polarity", "scale", "label", "alpha", "score", "loss", "beta", "gold"),
    [
        ((0.0, 1.0), 1.0, 1, (2 / 3, 1 / 3), 1 / 3, 0.5403055747, 0.4174297935, GOLD_A),
        ((1.0, 1.0), 2.0, 0, (2 - 2**0.5, 2**0.5 - 1), 0.5776091, 1.0230886, 0.6405171, GOLD_B),
    ],
    ids=["a", "b"],
)
def test_golds_a_and_b(polarity, scale, label, alpha, score, loss, beta, gold):
    model = gold_model(polarity, scale)
    own = text_batch([[1, 2]], [label])
    logits = forward(model, own)
    states = model.get_input_embeddings().weight[own.input_ids]
    assert model.pooling(states, own.segment > 0)[1].flatten().tolist() == pytest.approx(alpha, abs=1e-12)
    assert (logits[0, 1] - logits[0, 0]).item() == pytest.approx(score, abs=5e-8)
    assert F.cross_entropy(logits, own.labels).item() == pytest.approx(loss, abs=5e-8)

    terms = gradient_terms(model, [own])
    found = parts(terms)
    for name, numbers in gold.items():
        assert found[name][1:].flatten().tolist() == pytest.approx(numbers, abs=6e-8), name
    assert found["pi"].sum().item() == pytest.approx(beta if label else -beta, abs=6e-8)
    assert found["rho"].sum().item() == pytest.approx(0, abs=1e-15)
    assert list(terms.polarity) == ["A", "B", "C"]
    assert list(terms.attention) == ["D", "E", "F"]


def test_the_loops_give_the_golds_too():
    """What the library is held against is itself held against the numbers worked out by hand."""
    for polarity, scale, y, gold in (((0.0, 1.0), 1.0, 1, GOLD_A), ((1.0, 1.0), 2.0, -1, GOLD_B)):
        found = slow.dot_terms(weights_of(gold_model(polarity, scale)), [[1, 2]], [y])
        for name, numbers in gold.items():
            assert found[name][1:].tolist() == pytest.approx(numbers, abs=6e-8), name


# ------------------------------------------------------------------------------------------------------- slow loops

VOCABULARY = 6
LOOPS = {"dot": slow.dot_terms, "affine": slow.affine_terms, "additive": slow.additive_terms}
words = st.lists(st.integers(1, VOCABULARY - 1), min_size=1, max_size=6)  # 1 to 5: types come again and again
scales = st.sampled_from([0.2, 1.0, 3.0, 10.0, 1000.0])


@st.composite
def corpora(draw, kinds=tuple(KINDS), fewest=2, most=4, texts=words):
    """A model of `fewest` to `most` classes, ragged texts with labels, and how many of them make a batch."""
    kind, classes, seed = draw(st.sampled_from(kinds)), draw(st.integers(fewest, most)), draw(st.integers(0, 10**6))
    model = model_of(kind, classes, draw(scales), VOCABULARY, seed)
    own = draw(st.lists(texts, min_size=1, max_size=5))
    labels = draw(st.lists(st.integers(0, model.config.num_labels - 1), min_size=len(own), max_size=len(own)))
    return model, own, labels, draw(st.integers(1, 5))


@settings(max_examples=50)
@given(corpora(most=2))
def test_two_classes_against_the_loops(corpus):
    """Eq. 16, 19, 20 and 27; the affine formulas of methods.md 3.10 (1); additive attention piece by piece."""
    model, texts, labels, size = corpus
    kind = "additive" if model.config.pooling == "additive" else model.config.encoder
    expected = LOOPS[kind if kind in LOOPS else "dot"](weights_of(model), texts, [2 * label - 1 for label in labels])
    terms = gradient_terms(model, batches_of(texts, labels, size))
    agree(parts(terms), expected)
    assert {*terms.polarity, *terms.attention} == {*expected} - {"pi", "rho"}


@settings(max_examples=40)
@given(corpora(kinds=("dot",), fewest=3, most=5))
def test_several_classes_against_the_loop(corpus):
    """Eq. 82 and 83 with the factors that the print has lost."""
    model, texts, labels, size = corpus
    expected = slow.multiclass_terms(weights_of(model), texts, labels)
    agree(parts(gradient_terms(model, batches_of(texts, labels, size))), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_pi_and_rho_of_every_kind_and_several_classes_against_a_loop(kind):
    model = model_of(kind, 3)
    texts, labels = random_texts([5, 1, 7, 3], 8, 3)
    own = weights_of(model)
    pi, rho = torch.zeros(8, 3, dtype=torch.float64), torch.zeros(8, dtype=torch.float64)
    for text, label in zip((slow.read(own, text) for text in texts), labels, strict=True):
        for word, alpha, token in zip(text.words, text.alpha, text.tokens, strict=True):
            pi[word] -= alpha * slow.missing(text, label)
            rho[word] -= alpha * (token - text.score) @ slow.missing(text, label)
    agree(parts(gradient_terms(model, [text_batch(texts, labels)])), {"pi": pi, "rho": rho})


# --------------------------------------------------------------------------------------------------------- autograd


def type_scores(model, weights: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Every type's polarity (V, K) and attention score (V,) as a function of all the weights."""
    states = weights["encoder.embeddings.word_embeddings.weight"]
    if model.config.encoder == "affine":
        states = states @ weights["encoder.layers.0.dense.weight"].T
    keys = (states @ weights["pooling.key.weight"].T).tanh() if model.config.pooling == "additive" else states
    return states @ weights["head.weight"].T, keys @ weights["pooling.query"][0] / model.config.scale


def descent(model, whole: Batch) -> dict[str, torch.Tensor]:
    """Minus the gradient of the loss, which is the mean over the texts."""
    weights = dict(model.named_parameters())
    loss = F.cross_entropy(forward(model, whole), whole.labels)
    return {name: -slope for name, slope in zip(weights, torch.autograd.grad(loss, [*weights.values()]), strict=True)}


def along_the_gradient(model, whole: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """d s_e / d tau and d a_e / d tau of every type."""
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    _, moved = torch.func.jvp(lambda own: type_scores(model, own), (weights,), (descent(model, whole),))
    return moved


def same_as_autograd(model, whole: Batch, terms: GradientTerms, tolerance: float = 1e-10) -> None:
    polarity, attention = along_the_gradient(model, whole)
    assert close(total(terms.polarity), polarity, tolerance * max(largest(*terms.polarity.values()), 1e-300))
    assert close(total(terms.attention), attention, tolerance * max(largest(*terms.attention.values()), 1e-300))


@settings(max_examples=80)
@given(corpora(texts=st.one_of(words, st.just([]))))
def test_the_terms_sum_to_the_gradients_own_direction(corpus):
    """The best single test of the family; texts without a word count among the texts and pull at nothing."""
    model, texts, labels, size = corpus
    assume(any(texts))
    terms = gradient_terms(model, batches_of(texts, labels, size))
    same_as_autograd(model, text_batch(texts, labels), terms)


@every_kind
def test_in_two_products_for_two_classes(kind):
    """-(grad_e . W + e . grad_W), for an affine map with M between them, as methods.md writes it."""
    model = model_of(kind)
    texts, labels = random_texts([5, 1, 7, 3], 8, 2)
    terms, slopes = gradient_terms(model, [text_batch(texts, labels)]), descent(model, text_batch(texts, labels))
    table, polarity, query = model.get_input_embeddings().weight, model.head.weight[0], model.pooling.query[0]
    moved = slopes["encoder.embeddings.word_embeddings.weight"], slopes["head.weight"][0], slopes["pooling.query"][0]
    if kind == "affine":
        affine, other = model.encoder.layers[0].dense.weight, slopes["encoder.layers.0.dense.weight"]
        of_scores = moved[0] @ affine.T @ polarity + table @ other.T @ polarity + table @ affine.T @ moved[1]
    else:
        of_scores = moved[0] @ polarity + table @ moved[1]
    assert close(total(terms.polarity)[:, 0], of_scores)
    if kind == "dot":
        assert close(total(terms.attention), (moved[0] @ query + table @ moved[2]) / 2)


@every_number_of_classes
@every_kind
def test_long_texts_and_many_types(kind, classes):
    model = model_of(kind, classes, 10.0, vocabulary=300, embedding_size=20, hidden_size=17)
    texts, labels = random_texts([60, 1, 40, 33, 100, 2, 2, 75], 300, classes)
    same_as_autograd(model, text_batch(texts, labels), gradient_terms(model, batches_of(texts, labels, 3)))


@every_number_of_classes
@every_kind
def test_pairs_of_texts_with_a_separator(kind, classes):
    """No separator is attended to, and pi and rho are of words alone."""
    model = model_of(kind, classes, vocabulary=104)
    own = word_batch([5, 1, 9, 4], [3, 8, 1, 2], extra_padding=2, classes=classes)
    terms = gradient_terms(model, [own])
    same_as_autograd(model, own, terms)
    assert (terms.pi[2] == 0).all()
    assert terms.rho[2] == 0


@every_number_of_classes
@every_kind
def test_one_small_step_moves_the_scores_by_the_terms(kind, classes):
    """Of plain gradient descent, with what `global_scores` calls a type's scores before and after it."""
    model, rate = model_of(kind, classes), 1e-6
    texts, labels = random_texts([5, 1, 7, 3], 8, classes)
    own = text_batch(texts, labels)
    terms, before = gradient_terms(model, [own]), global_scores(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    F.cross_entropy(forward(model, own), own.labels).backward()
    optimizer.step()
    after = global_scores(model)
    for moved, expected in (
        (after.polarity - before.polarity, total(terms.polarity)),
        (after.attention - before.attention, total(terms.attention)),
    ):
        assert close(moved / rate, expected, 1e-5 * largest(expected))
        assert largest(expected) > 1e-3


@every_kind
def test_single_precision(kind):
    """As models are trained."""
    model = model_of(kind, 3, vocabulary=50, embedding_size=20, hidden_size=20)
    texts, labels = random_texts([30, 1, 20, 9], 50, 3)
    exact = parts(gradient_terms(model, batches_of(texts, labels, 2)))
    agree(parts(gradient_terms(model.float(), batches_of(texts, labels, 2))), exact, 1e-4)


# -------------------------------------------------------------------------------------------------------- invariants


@settings(max_examples=50)
@given(corpora())
def test_rho_sums_to_nothing_and_pi_to_what_the_texts_pull(corpus):
    """sum_e rho = 0, for sum_j alpha_j (s_j - s) = 0 in each text; sum_e pi = sum_t y_t beta_t."""
    model, texts, labels, size = corpus
    terms = gradient_terms(model, batches_of(texts, labels, size))
    own = text_batch(texts, labels)
    with torch.no_grad():
        logits = forward(model, own)
    if model.config.num_labels == 2:
        y, score = 2 * own.labels - 1, logits[:, 1] - logits[:, 0]
        pull = (y * (1 - (y * score).sigmoid()))[:, None]
    else:
        pull = F.one_hot(own.labels, model.config.num_labels) - logits.softmax(1)
        assert close(terms.pi.sum(1), torch.zeros(VOCABULARY), 1e-12)  # a probability too much here is missing there
    assert close(terms.pi.sum(0), pull.sum(0), 1e-12)
    assert abs(terms.rho.sum().item()) < 1e-12


@settings(max_examples=40)
@given(corpora(), st.integers(1, 5), st.integers(0, 4), st.randoms(use_true_random=False))
def test_batches_padding_and_order_change_nothing(corpus, other_size, padding, random):
    """The mean is over texts, wherever the batches are cut."""
    model, texts, labels, size = corpus
    before = parts(gradient_terms(model, batches_of(texts, labels, size)))
    order = list(range(len(texts)))
    random.shuffle(order)
    turned = [texts[at] for at in order], [labels[at] for at in order]
    after = parts(gradient_terms(model, batches_of(*turned, other_size, padding)))
    assert before.keys() == after.keys()
    for name, numbers in before.items():
        assert close(after[name], numbers, 1e-11 * max(largest(numbers), 1)), name


@every_kind
def test_unequal_batches(kind):
    """One text alone, then four: each counts a fifth."""
    model = model_of(kind, 3)
    texts, labels = random_texts([9, 2, 3, 4, 5], 8, 3)
    split = [text_batch(texts[:1], labels[:1]), text_batch(texts[1:], labels[1:], extra_padding=3)]
    agree(parts(gradient_terms(model, split)), parts(gradient_terms(model, [text_batch(texts, labels)])))


@every_kind
def test_a_row_of_padding_is_a_text_without_words(kind):
    """It counts in the mean and pulls at nothing: all terms shrink by 2 / 3."""
    model = model_of(kind, 3)
    texts, labels = random_texts([4, 2], 8, 3)
    whole = gradient_terms(model, [text_batch(texts, labels)])
    more = gradient_terms(model, [text_batch([*texts, []], [*labels, 0])])
    agree(parts(more), {name: 2 / 3 * terms for name, terms in (whole.polarity | whole.attention).items()})
    agree(parts(more), {"pi": whole.pi, "rho": whole.rho})


@every_kind
def test_more_padding(kind):
    model = model_of(kind, 3, vocabulary=104)
    own = word_batch([5, 1, 9, 4])
    agree(parts(gradient_terms(model, [padded(own, 7)])), parts(gradient_terms(model, [own])))


@every_kind
def test_a_model_without_a_padding_type_moves_all_its_types(kind):
    """Made-up texts have a word 0. Where 0 is padding, torch gives its row no gradient, and no text should hold it."""
    model = model_of(kind, pad_token_id=None)
    own = text_batch([[0, 1, 2], [3, 0]], [1, 0])
    terms = gradient_terms(model, [own])
    same_as_autograd(model, own, terms)
    assert terms.pi[0] != 0


@every_kind
def test_what_stands_under_the_padding_is_of_no_account(kind):
    model = model_of(kind, 3, vocabulary=104)
    own = word_batch([5, 1, 9, 4], extra_padding=1)
    other = own.with_ids(own.input_ids.where(own.attention_mask > 0, torch.tensor(50)))
    assert 50 not in own.input_ids
    agree(parts(gradient_terms(model, [other])), parts(gradient_terms(model, [own])))


@every_number_of_classes
@every_kind
def test_a_type_in_no_text_is_moved_by_the_others_alone(kind, classes):
    """It has neither pi nor rho, but its scores move as W, V and the maps do."""
    model = model_of(kind, classes)
    terms = gradient_terms(model, [text_batch([[1, 2, 3], [2, 2]], [1, 0])])
    own = ("A", "B", "D", "E", "pi", "rho")
    for name, numbers in parts(terms).items():
        assert (numbers[4:] == 0).all() == (name in own), name


@every_kind
def test_texts_of_a_single_type_attend_without_choice(kind):
    """s_j = s: nothing moves attention but the embedding's way to the class, and pi is all of y beta."""
    model = model_of(kind)
    found = parts(gradient_terms(model, [text_batch([[3, 3, 3], [3]], [1, 1])]))
    for name in ("rho", "A", "E", "F"):
        assert close(found[name], torch.zeros_like(found[name]), 1e-15)
    assert found["pi"][3].item() == pytest.approx(2 * slow.sigmoid(-global_scores(model).polarity[3].item()))


@pytest.mark.parametrize("kind", KINDS)
def test_two_columns_of_half_the_vector_are_the_two_classes(kind):
    """W^h = (-W/2, W/2). Where s = s_1 - s_0 is followed, its own vector moves twice: once in each column."""
    model = model_of(kind)
    texts, labels = random_texts([5, 1, 7, 3], 8, 2)
    one = gradient_terms(model, [text_batch(texts, labels)])
    both = copy.deepcopy(model)
    both.head = torch.nn.Linear(model.config.hidden_size, 2, bias=False).double()
    both.head.weight = torch.nn.Parameter(torch.cat([-model.head.weight / 2, model.head.weight / 2]).detach())
    assert close(forward(both, text_batch(texts)), forward(model, text_batch(texts)))
    two = gradient_terms(both, [text_batch(texts, labels)])
    assert two.pi.shape == (8, 2)
    assert close(two.pi, torch.cat([-one.pi, one.pi], 1))
    agree(parts(two), one.attention | {"rho": one.rho})
    for name, terms in one.polarity.items():
        apart, times = two.polarity[name][:, 1] - two.polarity[name][:, 0], 2 if name == "C" else 1
        assert close(apart, times * terms[:, 0]), name
        assert close(two.polarity[name].sum(1), torch.zeros(8))
    same_as_autograd(both, text_batch(texts, labels), two)


@every_number_of_classes
def test_an_affine_map_that_changes_nothing(classes):
    """With M = I the terms through embeddings, W and V are those of bare embeddings; M's own come on top."""
    model, plain = model_of("affine", classes, hidden_size=3), model_of("dot", classes)
    model.encoder.layers[0].dense.weight = torch.nn.Parameter(torch.eye(3).double())
    for own, other in ((plain.pooling.query, model.pooling.query), (plain.head.weight, model.head.weight),
                       (plain.get_input_embeddings().weight, model.get_input_embeddings().weight)):  # fmt: skip
        own.data.copy_(other)
    texts, labels = random_texts([5, 1, 7, 3], 8, classes)
    expected, found = (parts(gradient_terms(own, [text_batch(texts, labels)])) for own in (plain, model))
    agree(found, expected)
    assert {*found} - {*expected} == {"A of M", "B of M", "D of M", "E of M"}


@every_number_of_classes
def test_additive_attention_where_tanh_is_nearly_nothing(classes):
    """With M_a = I and small embeddings it is dot attention, and M_a itself moves as a map of the states would."""
    model, plain = model_of("additive", classes, 1e-3), model_of("dot", classes, 1e-3)
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(1e-4)
        model.pooling.key.weight.copy_(torch.eye(3))
        for own, other in ((plain.pooling.query, model.pooling.query), (plain.head.weight, model.head.weight),
                           (plain.get_input_embeddings().weight, model.get_input_embeddings().weight)):  # fmt: skip
            own.copy_(other)
    texts, labels = random_texts([5, 1, 7, 3], 8, classes)
    expected, found = (parts(gradient_terms(own, [text_batch(texts, labels)])) for own in (plain, model))
    agree(found, expected, 1e-6)
    agree(found, {"F of M": expected["F"] * model.pooling.query[0].square().sum().item()}, 1e-6)


# ----------------------------------------------------------------------------------------------- as lambda grows


@every_number_of_classes
@every_kind
def test_d_outgrows_e_and_f_as_lambda_grows(kind, classes):
    """methods.md 3.10 (3): D itself shrinks, as 1 / lambda; E and F as 1 / lambda^2, so their ratio grows as lambda.

    A and D have the same factor V^T W / lambda: what makes A small does not make D large.
    """
    texts, labels = random_texts([5, 9, 7, 3], 8, classes)

    def sizes(scale: float) -> tuple[float, float, float, float]:
        terms = gradient_terms(model_of(kind, classes, scale), [text_batch(texts, labels)])
        first = total({name: part for name, part in terms.attention.items() if name.startswith("D")})
        rest = total({name: part for name, part in terms.attention.items() if not name.startswith("D")})
        a, b = terms.polarity["A"], terms.polarity["B"]
        return first.norm().item(), rest.norm().item(), a.norm().item(), b.norm().item()

    (d, rest, a, b), (later_d, later_rest, later_a, later_b) = sizes(1e3), sizes(1e5)
    assert later_d / later_rest == pytest.approx(100 * d / rest, rel=0.02)
    assert later_d == pytest.approx(d / 100, rel=0.02)
    assert later_rest == pytest.approx(rest / 1e4, rel=0.02)
    assert later_a == pytest.approx(a / 100, rel=0.02)
    assert later_b == pytest.approx(b, rel=0.02)
    assert later_d / later_rest > 100


def test_a_query_at_right_angles_to_the_polarity_has_neither_a_nor_d():
    """The paper's condition for scores that can be read: V^T W = 0."""
    model = model_of()
    with torch.no_grad():
        query, polarity = model.pooling.query, model.head.weight
        query -= (query @ polarity.T) / polarity.square().sum() * polarity
    texts, labels = random_texts([5, 9, 7, 3], 8, 2)
    found = parts(gradient_terms(model, [text_batch(texts, labels)]))
    assert largest(found["A"], found["D"]) < 1e-15
    assert min(largest(found[name]) for name in "BCEF") > 1e-3


# --------------------------------------------------------------------------------------------------------------- cost


class Work(TorchDispatchMode):
    """Counts operations, readings of a table's rows, and the numbers in the largest result."""

    def __init__(self, table: torch.Tensor):
        super().__init__()
        self.operations, self.readings, self.largest, self.table = 0, 0, 0, table.data_ptr()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        self.operations += 1
        if function in (torch.ops.aten.index.Tensor, torch.ops.aten.embedding.default):
            self.readings += arguments[0].data_ptr() == self.table
        sizes = [part.numel() for part in tree_leaves(result) if isinstance(part, torch.Tensor)]
        self.largest = max([self.largest, *sizes])
        return result


def work(model, batches) -> Work:
    with Work(model.get_input_embeddings().weight) as counted:
        gradient_terms(model, batches)
    return counted


@every_kind
def test_every_batch_is_read_once_and_so_are_its_rows_of_the_table(kind):
    """However many types there are; and before the next batch is asked for, so that they need not fit in memory."""
    model = model_of(kind, vocabulary=60)
    texts, labels = random_texts([5] * 12, 60, 2)
    counted, so_far = Work(model.get_input_embeddings().weight), []

    def batches():
        for own in batches_of(texts, labels, 3):
            so_far.append(counted.readings)
            yield own

    with counted:
        gradient_terms(model, batches())
    assert so_far == [0, 1, 2, 3]
    assert counted.readings == 4


@every_kind
def test_the_operations_depend_on_the_batches_alone(kind):
    """Not on the types, texts or tokens: there is no loop over them."""
    few, many = model_of(kind, vocabulary=10), model_of(kind, vocabulary=500)
    short, long = text_batch(*random_texts([3, 2], 10, 2)), text_batch(*random_texts([50] * 40, 10, 2))
    counted = {work(model, [own]).operations for model in (few, many) for own in (short, long)}
    assert len(counted) == 1
    one, two, three = (work(few, [short] * number).operations for number in (1, 2, 3))
    assert three - two == two - one


@every_kind
def test_nothing_is_as_large_as_types_times_tokens(kind):
    """Rows of states are the largest: of the tokens' number times the width, or the types'."""
    model = model_of(kind, vocabulary=500)
    texts, labels = random_texts([50] * 10, 500, 2)
    width = model.config.hidden_size
    assert work(model, [text_batch(texts, labels)]).largest <= 500 * width


def multiplications(model, texts: list[list[int]], labels: list[int]) -> int:
    with FlopCounterMode(display=False) as counted:
        gradient_terms(model, [text_batch(texts, labels)])
    return counted.get_total_flops()


@every_kind
def test_the_cost_of_types_and_that_of_tokens_are_added_not_multiplied(kind):
    """f(V, T) = g(V) + h(T), and h is proportional to T."""
    few, many = model_of(kind, vocabulary=10), model_of(kind, vocabulary=1000)
    one, two, ten = (random_texts([20] * number, 10, 2) for number in (1, 2, 10))
    assert multiplications(many, *ten) - multiplications(few, *ten) == (
        multiplications(many, *one) - multiplications(few, *one)
    )
    assert multiplications(few, *ten) - multiplications(few, *one) == pytest.approx(
        9 * (multiplications(few, *two) - multiplications(few, *one)), rel=1e-9
    )


def test_over_embeddings_dot_attention_costs_tokens_times_width():
    """methods.md 3.10 (5): O(V d + tokens d). Only the maps of the other two kinds cost a token its width's square."""
    texts, labels = random_texts([20] * 10, 50, 2)
    narrow, wide = (model_of(vocabulary=50, embedding_size=width) for width in (50, 100))
    assert multiplications(wide, texts, labels) < 2.2 * multiplications(narrow, texts, labels)


# -------------------------------------------------------------------------------------- what is left as it was


@every_kind
def test_the_terms_are_taken_without_dropout_and_the_mode_comes_back(kind):
    """Module by module: a head that was in evaluation mode stays in it."""
    model = model_of(kind, 3)
    texts, labels = random_texts([5, 1, 7, 3], 8, 3)
    expected = parts(gradient_terms(model, [text_batch(texts, labels)]))
    model.dropout.p = model.encoder.embeddings.dropout.p = 0.5
    model.train()
    model.head.eval()
    modes = {name: part.training for name, part in model.named_modules()}
    found = parts(gradient_terms(model, [text_batch(texts, labels)]))
    assert all(torch.equal(found[name], numbers) for name, numbers in expected.items())
    assert {name: part.training for name, part in model.named_modules()} == modes


@every_kind
def test_weights_gradients_and_batches_are_untouched(kind):
    model = model_of(kind, 3)
    texts, labels = random_texts([5, 1, 7, 3], 8, 3)
    own = text_batch(texts, labels)
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, 7.0)
    before, rows = copy.deepcopy(model.state_dict()), copy.deepcopy(own)
    found = parts(gradient_terms(model, [own]))
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert all(weight.requires_grad and (weight.grad == 7).all() for weight in model.parameters())
    assert same_parts(own, rows)
    assert not any(part.requires_grad for part in found.values())
    assert torch.is_grad_enabled()


def test_the_mode_comes_back_when_a_batch_fails():
    model = model_of().train()
    with pytest.raises(IndexError):
        gradient_terms(model, [text_batch([[1, 99]], [0])])
    assert all(part.training for part in model.modules())
    assert torch.is_grad_enabled()


@every_number_of_classes
@every_kind
def test_shapes(kind, classes):
    """K is 1 for two classes."""
    terms = gradient_terms(model_of(kind, classes), [text_batch([[1, 2, 3]], [1])])
    columns = 1 if classes == 2 else classes
    assert all(part.shape == (8, columns) for part in [terms.pi, *terms.polarity.values()])
    assert all(part.shape == (8,) for part in [terms.rho, *terms.attention.values()])


@every_kind
def test_batches_are_moved_to_the_models_device(kind, monkeypatch):
    """As `local_scores` does: texts are collated on the CPU wherever the model is."""
    moved = []
    monkeypatch.setattr(Batch, "to", lambda batch, device: moved.append(device) or batch)
    model = model_of(kind)
    gradient_terms(model, [text_batch([[1, 2]], [1]), text_batch([[3]], [0])])
    assert moved == [model.device] * 2


# ------------------------------------------------------------------------------------------------------------ refusals

REFUSED = {
    "perceptron": (lambda: model_of(head="perceptron"), "linear head"),
    "no attention classifier": (lambda: build("bert"), "attention classifiers"),
    "max": (lambda: model_of(pooling="max"), "dot and additive attention"),
    "mean": (lambda: model_of(pooling="mean"), "dot and additive attention"),
    "two heads": (lambda: model_of(embedding_size=4, pooling_heads=2), "with one head"),
    "LSTM": (lambda: word_classifier("lstm"), "embeddings or an affine map"),
    "transformer": (lambda: attention_classifier(head="linear", pooling="dot"), "embeddings or an affine map"),
    "additive over an affine map": (lambda: model_of("affine", pooling="additive"), "additive attention over emb"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_terms_are_derived_for_is_refused_and_told_why(case):
    """Before a batch is asked for."""
    make, why = REFUSED[case]

    def batches():
        pytest.fail("a batch was asked for")
        yield

    with pytest.raises(ValueError, match=why):
        gradient_terms(make(), batches())


def test_texts_without_labels_are_refused():
    batch = text_batch([[1, 2]], [1])
    with pytest.raises(ValueError, match="need texts with labels"):
        gradient_terms(word_classifier("embeddings"), [Batch(batch.input_ids, batch.attention_mask, batch.segment)])


def test_without_texts_there_is_no_mean():
    with pytest.raises(ValueError, match="no texts"):
        gradient_terms(word_classifier("embeddings"), [])
