"""Attention and polarity scores of words (section 3; methods.md 3.10 and 3.11) against the formulas, word by word."""

import copy
from itertools import product

import pytest
import torch
from given_texts import batches_of, random_texts, text_batch, weights_of
from hypothesis import given, settings
from hypothesis import strategies as st

import families
from families import BERT_SPECIALS, attention_classifier, batch, build, rearranged
from families import padded as padded_pieces
from reference import close
from reference_attention import token_types
from reference_understanding import read
from salience import Batch
from salience.hooks.hooks import forward
from salience.papers.uaftc import analysis as module
from salience.papers.uaftc.analysis import check_scored, global_scores, local_scores, token_scores
from word_models import torchs_lstm, word_classifier

V = 23
KINDS = {  # whose states are read off one word alone
    "DP": {"encoder": "embeddings"},
    "DP-A": {"encoder": "affine"},
    "AD": {"encoder": "embeddings", "pooling": "additive"},
    "AD-A": {"encoder": "affine", "pooling": "additive"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_lstm = pytest.mark.parametrize("encoder", ["lstm", "bidirectional"])


def model_of(kind: str = "DP", classes: int = 2, scale: float = 3.0, vocabulary: int = V, seed: int = 0, **settings):
    settings = KINDS[kind] | settings
    model = word_classifier(seed=seed, classes=classes, vocab_size=vocabulary, scale=scale, **settings)
    return model.double()


def column(scores: torch.Tensor, classes: int) -> torch.Tensor:
    """Two classes have one polarity score, (V, 1)."""
    return scores[:, None] if classes == 2 else scores


# --------------------------------------------------------------------------------------------------------- global


@families.crossed("classes", [2, 3, 4], "scale", [0.1, 1.0, 10.0])
def test_global_scores_over_embeddings_are_two_products(classes, scale):
    """E V / lambda and E W, as methods.md has them for DP."""
    model = model_of("DP", classes, scale)
    table, own = model.get_input_embeddings().weight, weights_of(model)
    found = global_scores(model)
    assert close(found.attention, table @ own.query / scale)
    assert close(found.polarity, column(table @ own.polarity, classes))


def test_global_scores_over_an_affine_map():
    """h = M e."""
    for classes in [2, 3]:
        model = model_of("DP-A", classes)
        own = weights_of(model)
        found = global_scores(model)
        assert close(found.attention, own.table @ own.affine.T @ own.query / 3)
        assert close(found.polarity, column(own.table @ own.affine.T @ own.polarity, classes))


def test_global_scores_of_additive_attention():
    """tanh(M_a e) V / lambda; the polarity is DP's."""
    for classes in [2, 3]:
        model = model_of("AD", classes)
        own = weights_of(model)
        found = global_scores(model)
        assert close(found.attention, (own.table @ own.key.T).tanh() @ own.query / 3)
        assert close(found.polarity, column(own.table @ own.polarity, classes))


@families.crossed("classes", [2, 3], "kind", KINDS)
def test_global_scores_against_the_formulas_word_by_word(kind, classes):
    model = model_of(kind, classes)
    own, found = weights_of(model), global_scores(model)
    for word in range(V):
        assert found.attention[word].item() == pytest.approx(own.attention(word), abs=1e-12)
        assert close(found.polarity[word], own.token(word))


@families.crossed("classes", [2, 3], "encoder", ["lstm", "bidirectional"])
def test_global_scores_of_an_lstm_are_of_its_state_after_one_word(encoder, classes):
    """torch's own LSTM with the same weights reads a sequence of one."""
    model = word_classifier(encoder, classes=classes, vocab_size=V, scale=3.0).double()
    table, own = model.get_input_embeddings().weight, weights_of(model)
    lstm = torchs_lstm(model)
    found = global_scores(model)
    for word in range(V):
        state = lstm(table[word][None])[0][0]
        assert close(found.attention[word], state @ own.query / 3)
        assert close(found.polarity[word], state @ own.polarity)


def test_global_scores_of_an_lstm_are_a_single_step_of_its_cell():
    """From nothing: c = sigma(i) tanh(g), h = sigma(o) tanh(c); the gate that forgets has nothing to forget."""
    model = word_classifier("lstm", classes=2, vocab_size=V, scale=3.0).double()
    table, lstm, own = model.get_input_embeddings().weight, model.encoder.layers[0].directions[0], weights_of(model)
    gates = table @ lstm.weight_ih_l0.T + lstm.bias_ih_l0 + lstm.bias_hh_l0
    into, _, cell, out = gates.chunk(4, 1)
    states = out.sigmoid() * (into.sigmoid() * cell.tanh()).tanh()
    found = global_scores(model)
    assert close(found.attention, states @ own.query / 3)
    assert close(found.polarity[:, 0], states @ own.polarity)


@families.crossed(
    "special",
    [(), (BERT_SPECIALS["[CLS]"], BERT_SPECIALS["[SEP]"])],
    "classes, pooling",
    product([2, 3], ["dot", "additive"]),
)
def test_global_scores_of_a_transformer_are_of_a_word_between_special_tokens(pooling, classes, special):
    model = attention_classifier(classes=classes, head="linear", pooling=pooling, scale=3.0).double()
    found = global_scores(model, special)
    for word in range(model.config.vocab_size):
        text = torch.tensor([[*special[:1], word, *special[1:]]])
        state = model.encoder(input_ids=text).last_hidden_state[0, len(special) // 2]
        key = model.pooling.key(state).tanh() if pooling == "additive" else state
        assert close(found.attention[word], key @ model.pooling.query[0] / 3)
        assert close(found.polarity[word], model.head(state))


def test_special_tokens_around_a_word_are_read():
    model = attention_classifier(head="linear", pooling="dot").double()
    bare, between = global_scores(model), global_scores(model, (2, 3))
    assert ((bare.attention - between.attention).abs() > 1e-3).float().mean() > 0.9
    assert not close(global_scores(model, (3, 2)).attention, between.attention, 1e-3)  # each in its place


def test_of_a_type_by_itself_the_weight_is_one_and_it_occurs_once():
    for kind in KINDS:
        found = global_scores(model_of(kind))
        assert found.weight.tolist() == [1.0] * V
        assert found.occurrences.tolist() == [1.0] * V


@pytest.mark.parametrize("special", [(), (2, 3)])
def test_vocabularies_of_more_than_one_batch(special, monkeypatch):
    """Every type in its place, wherever the batches are cut; what stands around it is not counted."""
    model = attention_classifier(classes=3, head="linear", pooling="dot").double()
    whole = global_scores(model, special)
    for size in (10, 52, 103):
        monkeypatch.setattr(module, "CHUNK", size)
        parts = global_scores(model, special)
        assert close(parts.attention, whole.attention)
        assert close(parts.polarity, whole.polarity)
        assert close(parts.weight, whole.weight)
        assert parts.occurrences.tolist() == [1.0] * 104


def test_a_vocabulary_larger_than_a_batch():
    model = model_of("DP", 2, 1.0, vocabulary=2500)
    own, found = weights_of(model), global_scores(model)
    assert close(found.attention, own.table @ own.query)
    assert close(found.polarity[:, 0], own.table @ own.polarity)


def test_the_scale_divides_attention_scores_and_leaves_polarity_alone():
    one, ten = (global_scores(model_of("AD", 3, scale)) for scale in (1.0, 10.0))
    assert close(ten.attention, one.attention / 10)
    assert close(ten.polarity, one.polarity)


# ---------------------------------------------------------------------------------------------------------- local


def loop_over_occurrences(readings, types: int, kinds: int):
    """The means, from lists of (word, attention score, weight, polarity) of every text."""
    sums = {word: [] for word in range(types)}
    for occurrences in readings:
        for word, *scores in occurrences:
            sums[word].append(scores)
    attention, weight, number = (torch.zeros(types, dtype=torch.float64) for _ in range(3))
    polarity = torch.zeros(types, kinds, dtype=torch.float64)
    for word, found in sums.items():
        number[word] = len(found)
        if found:
            attention[word], weight[word] = (sum(scores[at] for scores in found) / len(found) for at in (0, 1))
            polarity[word] = sum(scores[2] for scores in found) / len(found)
    return attention, polarity, weight, number


def agrees(found, expected, tolerance: float = 1e-9) -> bool:
    parts = (found.attention, found.polarity, found.weight, found.occurrences)
    return all(
        part.shape == wanted.shape and close(part, wanted, tolerance)
        for part, wanted in zip(parts, expected, strict=True)
    )


def read_off(states: torch.Tensor, words: list[int], model) -> list[tuple]:
    """One text's occurrences from the states (T, D) of its words."""
    key = model.pooling.key(states).tanh() if model.config.pooling == "additive" else states
    scores = (key @ model.pooling.query[0] / model.config.scale).detach()
    weights, polarity = scores.softmax(0), (states @ model.head.weight.T).detach()
    return list(zip(words, scores, weights, polarity, strict=True))


ragged = st.lists(st.lists(st.integers(1, 6), max_size=7), min_size=1, max_size=6).filter(any)


@settings(max_examples=60)
@given(
    texts=ragged, kind=st.sampled_from(list(KINDS)), classes=st.integers(2, 4), size=st.integers(1, 6),
    padding=st.integers(1, 3), scale=st.sampled_from([0.3, 1.0, 20.0]),
)  # fmt: skip
def test_local_scores_against_a_loop_over_occurrences(texts, kind, classes, size, padding, scale):
    """Repeated words, empty texts, several batches each with padding of its own; the batches are read once."""
    model = model_of(kind, classes, scale, vocabulary=8)
    own = weights_of(model)
    readings = [
        [(word, own.attention(word), share, token)
         for word, share, token in zip(words, text.alpha, text.tokens, strict=True)]
        for words, text in ((words, read(own, words)) for words in texts if words)
    ]  # fmt: skip
    expected = loop_over_occurrences(readings, 8, 1 if classes == 2 else classes)
    found = local_scores(model, batches_of(texts, [0] * len(texts), size, padding))
    assert agrees(found, expected)


@families.crossed("size", [1, 3, 8], "classes, encoder", product([2, 3], ["lstm", "bidirectional"]))
def test_local_scores_of_an_lstm_against_a_loop(encoder, classes, size):
    """Each text passes through torch's LSTM alone, without packing or padding."""
    model = word_classifier(encoder, classes=classes, vocab_size=V, scale=3.0).double()
    texts, labels = random_texts([5, 1, 9, 0, 12, 3, 3], V, classes)
    table, lstm = model.get_input_embeddings().weight, torchs_lstm(model)
    readings = [read_off(lstm(table[words])[0], words, model) for words in texts if words]
    expected = loop_over_occurrences(readings, V, 1 if classes == 2 else classes)
    assert agrees(local_scores(model, batches_of(texts, labels, size, extra_padding=2)), expected)


@families.crossed("pairs", [None, [3, 8, 1, 2]], "pooling", ["dot", "additive"])
def test_local_scores_of_a_transformer_against_a_loop(pooling, pairs):
    """Special tokens are read by the encoder, and neither attended to nor counted."""
    model = attention_classifier(head="linear", pooling=pooling, scale=3.0).double()
    own = batch([5, 1, 9, 4], pairs, extra_padding=2)
    readings = []
    for row, length in enumerate(own.attention_mask.sum(1).tolist()):
        ids, mask, segment = (
            part[row : row + 1, :length] for part in (own.input_ids, own.attention_mask, own.segment)
        )
        states = model.encoder(input_ids=ids, token_type_ids=token_types(segment, mask)).last_hidden_state[0]
        words = segment[0] > 0
        readings.append(read_off(states[words], ids[0, words].tolist(), model))
    found = local_scores(model, [own])
    assert agrees(found, loop_over_occurrences(readings, 104, 3))
    assert found.occurrences[[*BERT_SPECIALS.values()]].sum() == 0
    assert found.occurrences.sum() == (own.segment > 0).sum()


@families.crossed("classes", [2, 3], "kind", KINDS)
def test_where_no_context_is_read_local_scores_are_the_global_ones(kind, classes):
    model = model_of(kind, classes)
    texts, labels = random_texts([5, 1, 9, 12], V, classes)
    local, alone = local_scores(model, batches_of(texts, labels, 3)), global_scores(model)
    seen = torch.tensor([any(word in words for words in texts) for word in range(V)])
    assert 5 < seen.sum() < V
    assert close(local.attention[seen], alone.attention[seen])
    assert close(local.polarity[seen], alone.polarity[seen])
    assert torch.equal(local.occurrences > 0, seen)


def test_where_context_is_read_they_differ_but_for_a_text_of_one_word():
    for encoder in ["lstm", "bidirectional"]:
        model = word_classifier(encoder, vocab_size=V).double()
        local, alone = local_scores(model, [text_batch([[3], [4, 5, 6]])]), global_scores(model)
        assert close(local.attention[3], alone.attention[3])
        assert close(local.polarity[3], alone.polarity[3])
        assert not close(local.attention[6], alone.attention[6], 1e-4)
        assert not close(local.polarity[6], alone.polarity[6], 1e-4)


def test_types_that_stand_in_no_text_have_scores_of_zero():
    found = local_scores(model_of(classes=3), [text_batch([[3, 3, 5]])])
    others = torch.tensor([word for word in range(V) if word not in (3, 5)])
    for part in (found.attention, found.polarity, found.weight, found.occurrences):
        assert (part[others] == 0).all()
        assert (part[3] != 0).all()


def test_no_text_at_all():
    found = local_scores(model_of(), [])
    assert found.attention.tolist() == found.weight.tolist() == found.occurrences.tolist() == [0.0] * V


def test_a_weight_is_the_mean_of_the_attention_a_type_gets():
    """A word that stands in a text of two equal words and in one by itself: (1/2 + 1/2 + 1) / 3."""
    found = local_scores(model_of(), [text_batch([[3, 3], [3]])])
    assert found.weight[3].item() == pytest.approx(2 / 3)
    assert found.occurrences[3] == 3


def test_many_texts_in_single_precision_are_added_in_double():
    """4000 times the same numbers have the mean of 100 of them, to the last bit."""
    model = word_classifier(classes=2, vocab_size=V)
    found = local_scores(model, (text_batch([[3] * 10] * 10) for _ in range(40)))
    once = local_scores(model, [text_batch([[3] * 10] * 10)])  # one batch: another size may round in another way
    assert found.attention.dtype == found.polarity.dtype == torch.float64
    assert found.occurrences[3] == 4000
    assert close(found.attention, once.attention, 1e-14)
    assert close(found.polarity, once.polarity, 1e-14)


# ------------------------------------------------------------------------------------------------ in their places

MODELS = {
    **{kind: lambda kind=kind, classes=3: model_of(kind, classes) for kind in KINDS},
    "DP-L": lambda classes=3: word_classifier("lstm", classes=classes, vocab_size=104).double(),
    "BERT": lambda classes=3: attention_classifier(classes=classes, head="linear", pooling="dot").double(),
}


def batch_for(name: str, **shape) -> Batch:
    if name == "BERT":
        return batch([5, 1, 9, 0], **shape)
    texts, labels = random_texts([5, 1, 9, 0], V, 3)
    return text_batch(texts, labels, shape.get("extra_padding", 0))


@families.crossed("classes", [2, 3], "name", MODELS)
def test_a_texts_score_is_the_sum_of_its_tokens_by_attention(name, classes):
    """s = sum alpha_j s_j: with two classes the difference of the logits, else the logits."""
    model, own = MODELS[name](classes=classes), batch_for(name)
    _, weights, polarity, mask = token_scores(model, own)
    with torch.no_grad():
        logits = forward(model, own)
    summed = torch.einsum("bt,btk->bk", weights, polarity)
    assert close(summed, logits[:, 1:] - logits[:, :1] if classes == 2 else logits)
    assert torch.equal(mask, own.segment > 0)


def test_shapes_and_what_is_no_word():
    for name in MODELS:
        model, own = MODELS[name](), batch_for(name, extra_padding=2)
        scores, weights, polarity, mask = token_scores(model, own)
        assert scores.shape == weights.shape == mask.shape == own.input_ids.shape
        assert polarity.shape == (*own.input_ids.shape, 3)
        assert (weights[~mask] == 0).all()
        assert close(weights.sum(1), torch.tensor([1.0, 1.0, 1.0, 0.0]))  # the last text is empty
        assert not any(part.requires_grad for part in (scores, weights, polarity))


def test_weights_are_the_softmax_of_the_scores():
    """lambda is in the scores already."""
    for name in MODELS:
        model, own = MODELS[name](), batch_for(name)
        scores, weights, _, mask = token_scores(model, own)
        for row in range(3):
            assert close(weights[row, mask[row]], scores[row, mask[row]].softmax(0))


def test_padding_and_order_of_the_texts_change_nothing():
    for name in MODELS:
        model, own = MODELS[name](), batch_for(name)
        expected = local_scores(model, [own])
        wide = padded_pieces(own, 5)
        order = torch.tensor([2, 0, 3, 1])
        turned = rearranged(own, order)
        parts = (expected.attention, expected.polarity, expected.weight, expected.occurrences)
        assert agrees(local_scores(model, [wide]), parts)
        assert agrees(local_scores(model, [turned]), parts)


# -------------------------------------------------------------------------------------- what is left as it was


def test_scores_are_taken_without_dropout_and_the_mode_comes_back():
    """Module by module: a head that was in evaluation mode stays in it."""
    for name in MODELS:
        model, own = MODELS[name](), batch_for(name)
        expected = local_scores(model, [own]), global_scores(model)
        for part in model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.5
        model.train()
        model.head.eval()
        modes = {key: part.training for key, part in model.named_modules()}
        for before, after in zip(expected, (local_scores(model, [own]), global_scores(model)), strict=True):
            assert torch.equal(before.attention, after.attention)
            assert torch.equal(before.polarity, after.polarity)
            assert torch.equal(before.weight, after.weight)
        assert {key: part.training for key, part in model.named_modules()} == modes
        assert not any(part._forward_pre_hooks or part._forward_hooks for part in model.modules())


def test_weights_and_gradients_are_untouched():
    for name in MODELS:
        model, own = MODELS[name](), batch_for(name)
        for weight in model.parameters():
            weight.grad = torch.full_like(weight, 7.0)
        before = copy.deepcopy(model.state_dict())
        local_scores(model, [own])
        global_scores(model)
        assert all(torch.equal(weight, before[key]) for key, weight in model.state_dict().items())
        assert all(weight.requires_grad and (weight.grad == 7).all() for weight in model.parameters())


def test_batches_are_moved_to_the_models_device(monkeypatch):
    """Texts are collated on the CPU wherever the model is."""
    moved = []
    monkeypatch.setattr(Batch, "to", lambda batch, device: moved.append(device) or batch)
    model = model_of()
    local_scores(model, [text_batch([[1, 2]]), text_batch([[3]])])
    assert moved == [model.device] * 2


def test_the_mode_comes_back_when_a_batch_fails():
    model = model_of().train()
    with pytest.raises(IndexError):
        local_scores(model, [text_batch([[V + 1]])])
    assert all(part.training for part in model.modules())
    assert not any(part._forward_pre_hooks for part in model.modules())


# ------------------------------------------------------------------------------------------------------- refusals

REFUSED = {
    "perceptron": (lambda: model_of(head="perceptron"), "linear head"),
    "no attention classifier": (lambda: build("bert"), "attention classifiers"),
    "max": (lambda: model_of(pooling="max"), "dot and additive attention"),
    "mean": (lambda: model_of(pooling="mean"), "dot and additive attention"),
    "first": (lambda: model_of(pooling="first"), "dot and additive attention"),
    "two heads": (lambda: model_of(pooling_heads=2), "with one head"),
    "two heads, additive": (lambda: model_of("AD", pooling_heads=2), "with one head"),
    "compressor": (lambda: model_of(pooling="variational", inference="compressor"), "VAT's compressor predicts"),
}


def test_models_without_these_scores_are_refused_and_told_why():
    for case in REFUSED:
        make, why = REFUSED[case]
        model = make()

        def batches():
            pytest.fail("a batch was asked for")
            yield

        for ask in (check_scored, global_scores, lambda own: local_scores(own, batches())):
            with pytest.raises(ValueError, match=why):
                ask(model)


def test_the_others_are_not():
    for name in MODELS:
        model = MODELS[name]()
        assert check_scored(model) == (model.pooling, model.head)
