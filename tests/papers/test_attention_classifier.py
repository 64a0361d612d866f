"""Attention classifiers: worked examples, saving, what the pooling may read, mixing over word encoders, |V^T W|."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoConfig, AutoModelForSequenceClassification, Trainer, TrainingArguments

import families
import word_models
from labelled import planned
from reference import close, soft_cross_entropy
from salience import METHODS, Batch, EmbedMix, MixTrainer, SSMix, forward_mixed, mixed
from salience.classify import TextClassifier
from salience.classify.classifier import predict_probabilities
from salience.data.batching import Collator
from salience.data.encoding import Encoded, encode_texts
from salience.hooks.hooks import forward
from salience.mixing import neighbours
from salience.mixing.method import swap_halves
from salience.models.architectures import alignment_penalty, architecture
from salience.papers.attention_classifiers.building import word_tokenizer
from salience.papers.attention_classifiers.classifier import (
    ENCODERS,
    AttentionClassifier,
    AttentionClassifierConfig,
    TypeScalars,
)
from salience.papers.attention_classifiers.options import HEADS, POOLINGS, WordRecipe
from salience.training.fit import fit
from salience.training.objective import penalised, plain
from salience.training.prepare import Prepared
from salience.training.procedures import Standard
from salience.training.recipe import Recipe
from word_models import CLASSES, SEPARATOR, VOCABULARY, bits, padded, torchs_lstm, word_batch, word_classifier

LAYERED = ["embeddings", "affine", "lstm", "bidirectional"]  # of word_models


def classifier(encoder: str, pooling: str, **settings) -> AttentionClassifier:
    """Any combination, tiny, without dropout."""
    if encoder == "transformer":
        return families.attention_classifier(pooling=pooling, **settings)
    return word_classifier(encoder, pooling=pooling, **settings)


def batch_for(encoder: str, lengths: list[int], pairs: list[int] | None = None) -> Batch:
    return (families.batch if encoder == "transformer" else word_batch)(lengths, pairs)


def read(model: AttentionClassifier, own: Batch):
    """The model's output for a batch, as anyone would call it: without word_mask."""
    with torch.no_grad():
        return model(input_ids=own.input_ids, attention_mask=own.attention_mask, labels=own.labels)


# ----------------------------------------------------------------------------------------------------- worked by hand

# methods.md 3.10, golds a and b: e1 = (ln 2, 1), e2 = (0, -1), V = (1, 0), x = [e1, e2]; what comes of it.
GOLDS = {
    "a": {"W": (0.0, 1.0), "scale": 1.0, "label": 1, "attention": (2 / 3, 1 / 3), "s": 1 / 3,
          "loss": 0.5403055747, "beta": 0.4174297935,
          "polarity": ((0.0, 0.2782865, 0.2728469), (0.0, 0.1391433, -0.1391433)),
          "attended": ((0.0, 0.1855244, 0.4601844), (0.0, -0.1855244, -0.3710487))},
    "b": {"W": (1.0, 1.0), "scale": 2.0, "label": 0, "attention": (2 - math.sqrt(2), math.sqrt(2) - 1),
          "s": 0.5776091, "loss": 1.0230886, "beta": 0.6405171,
          "polarity": ((-0.2092784, -0.7504124, -0.2901643), (0.2092784, -0.5306217, 0.1098954)),
          "attended": ((-0.1876031, -0.1046392, -0.2595526), (-0.1326554, 0.1046392, 0.2092784))},
}  # fmt: skip


def by_hand(gold: dict) -> tuple[AttentionClassifier, Batch]:
    config = AttentionClassifierConfig(
        encoder="embeddings", embedding_size=2, vocab_size=3, scale=gold["scale"], num_labels=2
    )
    model = AttentionClassifier(config).double().eval()
    with torch.no_grad():
        model.get_input_embeddings().weight[1:] = torch.tensor([[math.log(2), 1], [0, -1]])
        model.get_input_embeddings().weight[1, 0] = math.log(2)  # in double precision
        model.pooling.query.copy_(torch.tensor([[1.0, 0.0]]))
        model.head.weight.copy_(torch.tensor([gold["W"]]))
    ids = torch.tensor([[1, 2]])
    return model, Batch(ids, torch.ones_like(ids), torch.ones_like(ids), torch.tensor([gold["label"]]))


def test_two_classes_as_worked_by_hand():
    for name in GOLDS:
        gold = GOLDS[name]
        model, own = by_hand(gold)
        found = read(model, own)
        s = found.logits[0, 1] - found.logits[0, 0]
        sign = 2 * gold["label"] - 1
        assert close(found.attentions[0][0, 0], torch.tensor(gold["attention"], dtype=torch.float64))
        assert s.item() == pytest.approx(gold["s"], abs=1e-7)
        assert found.loss.item() == pytest.approx(gold["loss"], abs=1e-7)
        assert torch.sigmoid(-sign * s).item() == pytest.approx(gold["beta"], abs=1e-7)
        assert close(found.logits, torch.stack([-s / 2, s / 2])[None])
        assert close(found.loss, -F.logsigmoid(sign * s))


def test_the_gradients_as_worked_by_hand():
    """How polarity and attention score of a word change in a step of gradient descent: A + B + C and D + E + F."""
    for name in GOLDS:
        gold = GOLDS[name]
        model, own = by_hand(gold)
        loss = model(input_ids=own.input_ids, labels=own.labels).loss
        table, attention, polarity = model.get_input_embeddings().weight, model.pooling.query, model.head.weight
        by_word, by_attention, by_polarity = torch.autograd.grad(loss, [table, attention, polarity])
        for word in (1, 2):
            polarity_changes = -(by_word[word] @ polarity[0] + table[word] @ by_polarity[0])
            attention_changes = -(by_word[word] @ attention[0] + table[word] @ by_attention[0]) / gold["scale"]
            assert polarity_changes.item() == pytest.approx(sum(gold["polarity"][word - 1]), abs=2e-7)
            assert attention_changes.item() == pytest.approx(sum(gold["attended"][word - 1]), abs=2e-7)


def test_the_score_of_a_text_is_the_mean_of_its_words_scores_by_attention():
    """s = sum_j alpha_j s_j with s_j = h_j . W, in logits -s/2 and s/2; columns of -W/2 and W/2 are the same."""
    for encoder in LAYERED:
        model, own = word_classifier(encoder, classes=2, scale=0.7).double(), word_batch([5, 1, 3], classes=2)
        found = read(model, own)
        with torch.no_grad():
            states = model.encoder(own.input_ids, own.attention_mask).last_hidden_state
            words = states @ model.head.weight[0]  # s_j
            columns = torch.stack([-model.head.weight[0] / 2, model.head.weight[0] / 2], 1)
            pooled, _ = model.pooling(states, own.segment > 0)
        s = (found.attentions[0][:, 0] * words).sum(1)
        assert close(found.logits, torch.stack([-s / 2, s / 2], 1))
        assert close(found.logits, pooled @ columns)
        assert close(found.logits.softmax(1)[:, 1], torch.sigmoid(s))
        assert close(found.loss, -F.logsigmoid((2 * own.labels - 1) * s).mean())


def test_three_classes_have_a_vector_each_and_no_bias():
    model, own = word_classifier().double(), word_batch([4, 2])
    assert model.head.weight.shape == (CLASSES, 4)
    assert model.head.bias is None
    with torch.no_grad():
        states = model.encoder(own.input_ids).last_hidden_state
        expected = torch.einsum("bt,btd,cd->bc", read(model, own).attentions[0][:, 0], states, model.head.weight)
    assert close(read(model, own).logits, expected)


def test_the_affine_encoder_with_an_identity_is_none():
    affine, bare = word_classifier("affine", hidden_size=4), word_classifier()
    torch.nn.init.eye_(affine.encoder.layers[0].dense.weight)
    for name in ("encoder.embeddings.word_embeddings.weight", "pooling.query", "head.weight"):
        with torch.no_grad():
            affine.get_parameter(name).copy_(bare.get_parameter(name))
    own = word_batch([5, 2])
    assert close(read(affine, own).logits, read(bare, own).logits, 1e-6)


# --------------------------------------------------------------------------------------------------- save, load, call


@families.crossed("encoder", ENCODERS, "pooling", POOLINGS)
def test_saved_models_load_as_any_model_of_transformers(encoder, pooling, tmp_path):
    model = classifier(encoder, pooling, head=HEADS[len(encoder + pooling) % 2], scale=0.5).float()
    model.save_pretrained(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"config.json", "model.safetensors"}
    loaded, found = AutoModelForSequenceClassification.from_pretrained(
        tmp_path, use_safetensors=True, output_loading_info=True
    )
    assert isinstance(loaded, AttentionClassifier)
    assert not found["missing_keys"] and not found["unexpected_keys"] and not found["mismatched_keys"]
    assert bits(loaded) == bits(model)
    own = batch_for(encoder, [5, 1, 3])
    one, other = read(model, own), read(loaded, own)
    assert torch.allclose(one.logits, other.logits, atol=1e-6)
    assert pooling == "max" or torch.allclose(one.attentions[0], other.attentions[0], atol=1e-6)


@families.crossed("encoder", ENCODERS, "pooling", POOLINGS)
def test_what_a_model_gives(encoder, pooling):
    """Logits, the loss where there are labels, and the pooling's attention in a tuple of one."""
    model, own = classifier(encoder, pooling), batch_for(encoder, [5, 1, 3])
    found = read(model, own)
    size, tokens = own.input_ids.shape
    assert found.logits.shape == (size, CLASSES)
    assert close(found.loss, F.cross_entropy(found.logits, own.labels))
    if pooling == "max":
        assert found.attentions is None
    else:
        assert isinstance(found.attentions, tuple) and len(found.attentions) == 1
        assert found.attentions[0].shape == (size, 1, tokens)
        assert close(found.attentions[0].sum(2), torch.ones(size, 1), 1e-6)
    assert model(input_ids=own.input_ids, attention_mask=own.attention_mask).loss is None


def test_several_heads_attend_by_themselves():
    for pooling in ["dot", "additive", "variational"]:
        model, own = word_classifier("affine", pooling=pooling, pooling_heads=3), word_batch([5, 2])
        (attention,) = read(model, own).attentions
        assert attention.shape == (2, 3, 5)
        assert not close(attention[:, 0], attention[:, 1], 1e-3)


def test_labels_give_gradients_to_every_weight_that_the_learner_has():
    for encoder in LAYERED:
        model = word_classifier(encoder, pooling="variational", head="perceptron")
        read_with_gradients = model(**vars(word_batch([5, 2, 3])) | {"segment": None})
        read_with_gradients.loss.backward()
        for name, weight in model.named_parameters():
            learnt = not name.startswith("compressor.")
            assert (weight.grad is not None and bool(weight.grad.any())) == learnt, name


def test_the_config_repeats_itself():
    """As it is written, and as a transformer's own configuration lies in it."""
    for model in (word_classifier("lstm", bidirectional=True, latent_size=3), families.attention_classifier()):
        config = model.config
        again = AutoConfig.for_model(**config.to_dict())
        assert isinstance(again, AttentionClassifierConfig)
        assert again.to_dict() == config.to_dict()
    assert families.attention_classifier().config.encoder_config.model_type == "bert"


def test_the_latent_width_is_the_encoders_unless_set():
    assert word_classifier("lstm", pooling="variational").compressor.mean[-1].out_features == 6
    assert word_classifier("lstm", pooling="variational", latent_size=3).compressor.classifier[0].in_features == 3
    assert word_classifier("lstm", pooling="additive").compressor is None


def test_fresh_weights_are_drawn_as_the_papers_draw_them():
    wide = {"vocab_size": 50, "embedding_size": 400, "hidden_size": 400}
    attention = AttentionClassifier(AttentionClassifierConfig("lstm", pooling="additive", **wide))
    variational = AttentionClassifier(AttentionClassifierConfig("lstm", pooling="variational", **wide))
    table = attention.get_input_embeddings().weight
    assert (table[0] == 0).all()
    assert attention.pooling.query.std().item() == pytest.approx(1, rel=0.2)
    for weight, bound in [
        (table[1:], 0.1),
        (variational.pooling.query, 0.1),
        (attention.head.weight, 400**-0.5),
        (attention.pooling.key.weight, 400**-0.5),
        *((weight, 400**-0.5) for weight in attention.encoder.layers.parameters()),
    ]:
        assert weight.abs().max() <= bound
        assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.1)


# -------------------------------------------------------------------------------------------- what is refused by name


def test_settings_that_do_not_fit_are_refused_by_name():
    for settings, message in [
        ({"encoder": "gru"}, "encoder is one of embeddings, affine, lstm, transformer, not 'gru'"),
        ({"pooling": "median"}, "pooling is one of first, max, mean, dot, additive, variational, not 'median'"),
        ({"head": "mlp"}, "head is one of linear, perceptron, not 'mlp'"),
        ({"encoder": "transformer"}, "a transformer encoder needs encoder_config"),
        ({"scale": 0}, "scale must be above 0"),
        ({"scale": -1.0}, "scale must be above 0"),
        ({"scale": math.nan}, "scale must be above 0"),
        (
            {"encoder": "lstm", "hidden_size": 10, "pooling_heads": 3},
            "the width 10 must be divisible by pooling_heads 3",
        ),
        (
            {"encoder": "lstm", "hidden_size": 9, "bidirectional": True},
            "a bidirectional encoder needs an even width, not 9",
        ),
        ({"pooling_heads": 0}, "pooling_heads"),
        ({"encoder": "lstm", "hidden_size": 10, "pooling_heads": -1}, "pooling_heads"),
    ]:
        with pytest.raises(ValueError, match=message):
            AttentionClassifierConfig(**settings)


# ------------------------------------------------------------------------------------------- padding, order, specials


@families.crossed("encoder", LAYERED, "pooling", POOLINGS)
def test_padding_and_order_change_nothing(encoder, pooling):
    model, own = word_classifier(encoder, pooling=pooling).double(), word_batch([5, 1, 3], [2, 4, 1])
    found, wide = read(model, own), read(model, padded(own, 4))
    assert close(wide.logits, found.logits)
    if pooling != "max":
        tokens = own.input_ids.shape[1]
        assert close(wide.attentions[0][..., :tokens], found.attentions[0])
        assert (wide.attentions[0][..., tokens:] == 0).all()
    order = torch.tensor([2, 0, 1])
    assert close(read(model, families.rearranged(own, order)).logits, found.logits[order])
    for row in range(3):
        alone = read(model, families.rearranged(own, torch.tensor([row])))
        assert close(alone.logits, found.logits[row : row + 1])


@families.crossed("scale", [1e-3, 1.0, 1e4], "encoder", ["lstm", "bidirectional"])
def test_a_text_of_one_word_has_all_the_attention(encoder, scale):
    """And so its score is the word's, whatever the scale (methods.md 3.11)."""
    model, own = word_classifier(encoder, classes=2, scale=scale).double(), word_batch([1, 4, 1], classes=2)
    found = read(model, own)
    first = torch.tensor([1.0, 0, 0, 0])
    assert close(found.attentions[0][[0, 2], 0], first.expand(2, 4))
    with torch.no_grad():
        states = model.encoder(own.input_ids, own.attention_mask).last_hidden_state
    for row in (0, 2):
        assert close(found.logits[row, 1] - found.logits[row, 0], states[row, 0] @ model.head.weight[0])


def test_an_lstm_reads_no_padding_and_gives_zeros_there():
    model, own = word_classifier("bidirectional"), word_batch([4, 2])
    with torch.no_grad():
        states = model.encoder(own.input_ids, own.attention_mask).last_hidden_state
    assert (states[1, 2:] == 0).all()
    changed = own.input_ids.clone()
    changed[1, 2:] = 7
    with torch.no_grad():
        assert torch.equal(model.encoder(changed, own.attention_mask).last_hidden_state, states)


def test_an_lstm_is_torchs_over_packed_sequences():
    """States, and the gradients of weights and words, of texts of one to seven words."""
    for encoder in ["lstm", "bidirectional"]:
        model, lengths = word_classifier(encoder).double(), torch.tensor([7, 1, 3, 6])
        layer, packed = model.encoder.layers[0], torchs_lstm(model, batch_first=True)
        states = torch.randn(4, 7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        weights = torch.randn(4, 7, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        ours, theirs = states.clone().requires_grad_(), states.clone().requires_grad_()
        found = layer(ours, (torch.arange(7) < lengths[:, None]).long())
        expected = pack_padded_sequence(theirs, lengths, batch_first=True, enforce_sorted=False)
        expected = pad_packed_sequence(packed(expected)[0], batch_first=True, total_length=7)[0]
        assert close(found, expected)
        (found * weights).sum().backward()
        (expected * weights).sum().backward()
        assert close(ours.grad, theirs.grad)
        for ending, own in zip(("", "_reverse"), layer.directions, strict=False):
            for name, weight in own.named_parameters():
                assert close(weight.grad, getattr(packed, name + ending).grad)


def test_an_lstm_that_is_explained_leaves_cudnn_alone(monkeypatch):
    """cuDNN refuses the backward pass in evaluation mode, and only there."""
    model, own, seen = word_classifier("bidirectional"), word_batch([4, 2]), []
    reads = torch.nn.LSTM.forward

    def watched(self, states):
        seen.append(torch.backends.cudnn.enabled)
        return reads(self, states)

    monkeypatch.setattr(torch.nn.LSTM, "forward", watched)
    forward(model.eval(), own)
    with torch.no_grad():
        forward(model, own)
    forward(model.train(), own)
    assert seen == [False, False, True, True, True, True]
    assert torch.backends.cudnn.enabled
    with torch.backends.cudnn.flags(enabled=False):  # by the user: it stays so
        forward(model.train(), own)
    assert seen[6:] == [False, False]


@pytest.mark.parametrize("encoder", ["embeddings", "transformer"])
def test_the_stock_trainer_may_accumulate(encoder, tmp_path):
    """A step is the same in one piece and in four: the mean over the batch is divided among them."""
    steps = []
    for pieces in (1, 4):
        torch.manual_seed(0)
        model = classifier(encoder, "dot")
        own = batch_for(encoder, [3] * 8)
        rows = [
            {"input_ids": own.input_ids[row], "attention_mask": own.attention_mask[row], "labels": row % 2}
            for row in range(8)
        ]
        before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
        settings = TrainingArguments(
            tmp_path, max_steps=1, per_device_train_batch_size=8 // pieces, gradient_accumulation_steps=pieces,
            learning_rate=0.1, optim="sgd", lr_scheduler_type="constant", max_grad_norm=0, report_to="none",
            save_strategy="no", disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        Trainer(model, settings, train_dataset=rows).train()
        steps.append({name: weight.detach() - before[name] for name, weight in model.named_parameters()})
    assert steps[0]["head.weight"].abs().max() > 1e-4
    for name, change in steps[0].items():
        assert close(steps[1][name], change, 1e-6), name


@families.crossed("encoder", LAYERED, "pooling", ["max", "mean", "dot", "additive", "variational"])
def test_a_text_without_a_word_among_others_has_the_logits_of_nothing(encoder, pooling):
    model, own = word_classifier(encoder, pooling=pooling), word_batch([3, 0, 2])
    found = model(input_ids=own.input_ids, attention_mask=own.attention_mask, labels=own.labels)
    assert (found.logits[1] == 0).all()  # a linear head has no bias
    found.loss.backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())


@families.crossed("encoder", ENCODERS, "pooling", POOLINGS)
def test_texts_without_a_word_alone_get_probabilities(encoder, pooling):
    """A tokenizer of words adds no special tokens, so that a batch of empty texts has no column."""
    model = classifier(encoder, pooling)
    tokenizer = families.tiny_tokenizer() if encoder == "transformer" else word_tokenizer(["a b"])
    probabilities = predict_probabilities(model, encode_texts(tokenizer, ["", " "]))
    assert probabilities.shape == (2, CLASSES)
    assert torch.tensor(probabilities).isfinite().all()


TEXTS = ["a good film", "bad", "the film is good and bad and unheard-of"]
PAIRS = ["quite so", "the film is a bad film", "no"]


@families.crossed(
    "pooling", ["mean", "dot", "additive", "variational"], "pairs, words", product([None, PAIRS], [True, False])
)
def test_special_tokens_are_never_attended_to(words, pairs, pooling):
    """Their places are worked out from ids where a batch does not say; [UNK] stands for a word, and is read."""
    tokenizer = word_tokenizer(TEXTS[:2] + PAIRS) if words else families.tiny_tokenizer(TEXTS[:2] + PAIRS)
    special = sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})
    if words:
        model = word_classifier(pooling=pooling, special_token_ids=special)
    else:
        model = families.attention_classifier(pooling=pooling)
        model.resize_token_embeddings(len(tokenizer))
        assert model.config.special_token_ids == special
    encoded = encode_texts(tokenizer, TEXTS, pairs, [0, 1, 2])
    own = Batch(**Collator.of(tokenizer)([encoded[row] for row in range(3)]))
    derived = own.attention_mask.bool() & ~torch.isin(own.input_ids, torch.tensor(model.config.special_token_ids))
    assert torch.equal(derived, own.segment > 0)
    assert not words or (own.input_ids == tokenizer.unk_token_id).any()

    seen = []
    handle = model.register_forward_hook(lambda *call: seen.append(call[2].attentions[0]))
    with torch.no_grad():
        logits = forward(model, own)
        types = {} if words else {"token_type_ids": ((own.segment == 2).cumsum(1) > 0).long() * own.attention_mask}
        again = model(input_ids=own.input_ids, attention_mask=own.attention_mask, **types).logits
    handle.remove()
    assert close(again, logits)
    assert torch.equal(*seen)
    assert (seen[0][(own.segment == 0)[:, None]] == 0).all()
    assert (seen[0][(own.segment > 0)[:, None]] > 0).all()


def test_word_mask_says_what_the_pooling_may_read():
    model, own = word_classifier(), word_batch([4, 3])
    mask = torch.tensor([[1, 0, 1, 0], [0, 0, 1, 1]]).bool()
    attention = model(own.input_ids, own.attention_mask, word_mask=mask).attentions[0][:, 0]
    assert ((attention > 0) == (mask & own.attention_mask.bool())).all()


def test_without_a_mask_every_token_is_there():
    model, own = word_classifier("lstm"), word_batch([4, 4])
    with torch.no_grad():
        assert close(model(own.input_ids).logits, model(own.input_ids, own.attention_mask).logits)


# -------------------------------------------------------------------------------------------------------------- mixing

# Bare embeddings have no layer to meet at, and word encoders no self-attention to be guided by.
UNFIT = {("embeddings", "tmix"): "no level 1", ("embeddings", "mixupencoding"): "no level 1"} | {
    (encoder, "attentionmix"): "no self-attention to read: its encoder is no transformer" for encoder in LAYERED
}
fitting = families.crossed(
    "encoder", ("embeddings", "lstm"), "name", METHODS, lambda encoder, name: (encoder, name) not in UNFIT
)


def mix_of(model, own, method, seed=0):
    torch.default_generator.manual_seed(seed)
    scores = method.guide(model, own) if method.guide is not None else None
    torch.default_generator.manual_seed(seed)
    return method(own, scores)


def settled(method, **values):
    """The method with those of the values for which it has a field."""
    known = {field.name for field in fields(method)}
    return replace(method, **{name: value for name, value in values.items() if name in known})


def test_methods_that_do_not_fit_say_why():
    for encoder, name in UNFIT:
        model, own = word_classifier(encoder).train(), word_batch([5, 2, 4])
        for clean in (0.5, 0.0):
            with pytest.raises(ValueError, match=UNFIT[encoder, name]):
                list(mixed(METHODS[name](), clean)(model, own))
        assert model(own.input_ids, own.attention_mask).logits.isfinite().all()  # and nothing is left behind


@fitting
def test_keeping_everything_gives_the_plain_logits(encoder, name):
    model, own = word_classifier(encoder).double(), word_batch([5, 2, 9, 4, 5])
    mix = mix_of(model, own, METHODS[name]())
    mix = replace(mix, keep=torch.ones_like(mix.keep))
    with torch.no_grad():
        assert close(forward_mixed(model, own, mix), forward(model, own))


@fitting
def test_keeping_nothing_gives_the_partners_logits(encoder, name):
    """Where what is the partner's takes a place in one's own text, partners are equally long."""
    model, own = word_classifier(encoder).double(), word_batch([5, 2, 9, 4, 5, 9])
    mix = mix_of(model, own, METHODS[name]())
    partner = torch.tensor([4, 1, 5, 3, 0, 2] if mix.attend == "own" else [2, 3, 1, 0, 5, 4])
    mix = replace(mix, partner=partner, keep=torch.zeros_like(mix.keep), donor=None)
    with torch.no_grad():
        assert close(forward_mixed(model, own, mix), forward(model, own)[partner])


@fitting
def test_padding_changes_no_mixture(encoder, name):
    for pairs in (None, [3, 8, 1, 0, 2]):
        check_padding(encoder, name, pairs)


def check_padding(encoder, name, pairs):
    model, own = word_classifier(encoder).double(), word_batch([5, 2, 9, 0, 7], pairs)
    wide, columns = padded(own, 6), own.input_ids.shape[1]
    narrow_mix, wide_mix = (mix_of(model, texts, METHODS[name]()) for texts in (own, wide))
    keep = wide_mix.keep
    assert close(narrow_mix.share, wide_mix.share)
    assert close(narrow_mix.keep, keep[:, :columns] if keep.ndim >= 2 and keep.shape[1] == columns + 6 else keep)
    with torch.no_grad():
        assert close(forward_mixed(model, own, narrow_mix), forward_mixed(model, wide, wide_mix))


@fitting
def test_a_training_step_gives_finite_gradients(encoder, name):
    for clean, lengths in product((0.5, 0.0), ([5, 2, 9, 0, 1], [0, 1])):
        model, own = word_classifier(encoder, dropout=0.3, embedding_dropout=0.3).train(), word_batch(lengths)
        losses = []
        for loss in mixed(METHODS[name](), clean)(model, own):
            loss.backward()
            losses.append(loss.item())
        assert all(map(math.isfinite, losses))
        assert len(losses) == 1 + (clean > 0)
        assert all(weight.grad.isfinite().all() for weight in model.parameters() if weight.grad is not None)
        assert len(lengths) == 2 or model.head.weight.grad.any()  # dropout may take all of a word


@fitting
def test_fused_and_separate_passes_give_the_same_gradient(encoder, name):
    """The trunk below a layer runs once for both losses, an LSTM too."""
    own = word_batch([5, 2, 9, 4, 12])
    method = settled(METHODS[name](), ratio=0.75, levels=(1,), pair=swap_halves)
    model, other = word_classifier(encoder).double().train(), word_classifier(encoder).double().train()
    mix = mix_of(other, own, method, seed=3)
    loss = 0.25 * F.cross_entropy(forward(other, own), own.labels)
    logits = forward_mixed(other, own, mix)
    share = mix.share.to(logits.dtype)
    loss = loss + 0.75 * soft_cross_entropy(logits, own.labels, own.labels[mix.partner], share).mean()
    loss.backward()
    torch.default_generator.manual_seed(3)
    total = 0.0
    for part in mixed(method, clean=0.25)(model, own):
        part.backward()
        total += part.item()
    assert total == pytest.approx(loss.item(), abs=1e-6)
    expected = {key: weight.grad for key, weight in other.named_parameters()}
    for key, weight in model.named_parameters():
        assert close(weight.grad, expected[key], 1e-6), key


def test_a_float_mixture_is_read_where_either_text_has_a_word():
    """And under one's own mask before they meet: an LSTM does not run on into padding."""
    model, own = word_classifier("lstm").double(), word_batch([2, 5])
    method = settled(METHODS["tmix"](), levels=(1,), ratio=0.75, pair=swap_halves)
    seen = []
    handle = model.register_forward_hook(lambda *call: seen.append(call[2].attentions[0][:, 0]))
    with torch.no_grad():
        logits = forward_mixed(model, own, mix_of(model, own, method))
        states = model.encoder(own.input_ids, own.attention_mask).last_hidden_state
        both = 0.75 * states + 0.25 * states[[1, 0]]
        pooled, attention = model.pooling(both, torch.ones(2, 5).bool())
    handle.remove()
    assert close(seen[0], attention[:, 0])
    assert close(logits, model.classify(pooled))


def test_the_separator_of_a_pair_is_not_read_in_a_mixture():
    model, own = word_classifier("lstm"), word_batch([2, 2], [3, 3])
    seen = []
    handle = model.register_forward_hook(lambda *call: seen.append(call[2].attentions[0][:, 0]))
    with torch.no_grad():
        forward_mixed(model, own, mix_of(model, own, settled(METHODS["embedmix"](), ratio=0.75)))
    handle.remove()
    assert (own.input_ids[:, 2] == SEPARATOR).all()
    assert (seen[0][:, 2] == 0).all()
    assert (seen[0] > 0).sum(1).tolist() == [5, 5]
    assert own.input_ids.max() < VOCABULARY


def test_only_variational_pooling_classifies_compressed_vectors():
    with pytest.raises(ValueError, match="additive pooling has no compressor"):
        word_classifier("lstm", pooling="additive").classify_compressed(torch.zeros(1, 6))


def test_the_table_of_word_embeddings_can_be_replaced():
    for encoder in ["lstm", "transformer"]:
        model = classifier(encoder, "dot").eval()
        own, before = batch_for(encoder, [3, 5]), set(model.state_dict())
        table = torch.nn.Embedding(*model.get_input_embeddings().weight.shape)
        logits = read(model, own).logits
        model.set_input_embeddings(table)
        assert model.get_input_embeddings() is table and set(model.state_dict()) == before
        assert not close(read(model, own).logits, logits)


def procedure(model) -> str:
    return architecture(model).procedure


def test_models_of_transformers_are_trained_in_the_standard_way():
    for family in families.FAMILIES:
        assert procedure(families.FAMILIES[family]()) == "standard"


def test_only_variational_pooling_is_trained_by_turns():
    for pooling in POOLINGS:
        expected = "turns" if pooling == "variational" else "standard"
        assert procedure(word_classifier("lstm", pooling=pooling)) == expected
        assert procedure(families.attention_classifier(pooling=pooling)) == expected


def test_a_wrapped_model_needs_what_the_model_inside_needs():
    adapted, model = nn.Module(), word_classifier("lstm", pooling="variational")
    adapted.get_base_model = lambda: model
    assert procedure(adapted) == "turns"


@pytest.mark.whole
def test_a_compiled_model_needs_what_the_model_inside_needs():
    assert procedure(torch.compile(word_classifier("lstm", pooling="variational"))) == "turns"


@families.crossed(
    "encoder, classes", product(["embeddings", "affine"], [2, 3]),
    "pooling, scale", product(["dot", "additive", "variational"], [0.01, 1.0, 100.0]),
)  # fmt: skip
def test_logits_are_the_models(encoder, pooling, classes, scale):
    model = word_models.word_classifier(encoder, classes=classes, pooling=pooling, scale=scale)
    own = word_models.word_batch([5, 1, 9], [2, 3, 1], extra_padding=2)
    with torch.no_grad():
        expected = forward(model, own)
    assert expected.abs().max() > 0.01
    assert close(TypeScalars(model).logits(own), expected, 1e-6 * max(1, float(expected.abs().max())))


def test_other_models_do_not_fit():
    """Their states, or their logits, are no sums of two scalars."""
    for settings in [
        {"pooling": "mean"},
        {"head": "perceptron"},
        {"pooling_heads": 2},
        {"encoder": "lstm"},
        {"pooling": "variational", "inference": "compressor"},
    ]:
        assert not TypeScalars.fits(word_models.word_classifier(**({"encoder": "embeddings"} | settings)))


def test_a_pooling_without_attention_scores_is_refused():
    with pytest.raises(ValueError, match="max pooling has no attention scores"):
        TypeScalars(word_models.word_classifier("embeddings", pooling="max"))


def test_predicting_many_tokens_runs_the_encoder_once():
    model = word_models.word_classifier("affine")
    batches = [word_models.word_batch([7] * 40, seed=seed) for seed in range(3)]
    ids, segments = (torch.cat([getattr(own, part).flatten() for own in batches]).numpy()
                     for part in ("input_ids", "segment"))  # fmt: skip
    texts = Encoded(ids.astype("int32"), segments.astype("int8"), torch.full((120,), 7).numpy())
    calls = []
    handle = model.encoder.register_forward_hook(lambda _, arguments, result: calls.append(result))
    found = predict_probabilities(model, texts)
    handle.remove()
    assert len(calls) == 1 and calls[0].last_hidden_state.shape[:2] == (model.config.vocab_size, 1)
    with torch.no_grad():
        expected = torch.cat([forward(model, own).softmax(1) for own in batches])
    assert close(torch.from_numpy(found), expected, 1e-6)
    assert not model.training


def test_few_tokens_are_read_as_they_are():
    """Fewer than there are types: the vocabulary would be the longer text."""
    model, own = word_models.word_classifier("embeddings"), word_models.word_batch([4])
    calls = []
    model.encoder.register_forward_hook(lambda _, arguments, result: calls.append(result.last_hidden_state.shape[0]))
    texts = Encoded(own.input_ids[0].numpy().astype("int32"), own.segment[0].numpy().astype("int8"),
                    torch.tensor([4]).numpy())  # fmt: skip
    predict_probabilities(model, texts)
    assert calls == [1]


def alignment(model, form: str = "absolute") -> torch.Tensor:
    return architecture(model).alignment(form)


def by_loops(model) -> float:
    """sum_c |sum_d V_d W_dc|, both through the map that lies between them and the words, if there is one."""
    query, polarity = model.pooling.query[0].tolist(), model.head.weight.tolist()
    between = None
    if model.config.pooling in ("additive", "variational"):
        between = model.pooling.key.weight.tolist()  # M_a: V^T M_a W
        query = [sum(query[row] * between[row][column] for row in range(len(query))) for column in range(len(query))]
    if model.config.encoder == "affine":
        between = model.encoder.layers[0].dense.weight.tolist()  # M: V^T M M^T W
        columns = range(len(between[0]))
        query = [sum(query[row] * between[row][column] for row in range(len(query))) for column in columns]
        polarity = [[sum(w * between[row][column] for row, w in enumerate(own)) for column in columns]
                    for own in polarity]  # fmt: skip
    return sum(abs(sum(v * w for v, w in zip(query, own, strict=True))) for own in polarity)


@families.crossed(
    "encoder, pooling",
    [
        ("embeddings", "dot"),
        ("affine", "dot"),
        ("lstm", "dot"),
        ("bidirectional", "dot"),
        ("embeddings", "additive"),
        ("affine", "additive"),
        ("lstm", "additive"),
        ("embeddings", "variational"),
    ],
    "classes",
    [2, 3],
)
def test_the_alignment_is_its_formula(encoder, pooling, classes):
    model = word_classifier(encoder, pooling=pooling, classes=classes, embedding_size=4, hidden_size=6).double()
    assert model.head.weight.shape[0] == (1 if classes == 2 else classes)
    found = alignment(model)
    assert found.shape == ()
    assert found.item() == pytest.approx(by_loops(model), abs=1e-12)
    assert found > 1e-3


def test_the_squares_form_is_a_sum_of_squares():
    for classes in [2, 3]:
        model = word_classifier("affine", classes=classes).double()
        found = alignment(model, "square")
        assert found.item() == pytest.approx(sum(value**2 for value in model.coupling().tolist()), abs=1e-12)
        assert found.item() != pytest.approx(alignment(model).item(), rel=0.01)
        assert alignment_penalty(0.3, "square")(model).item() == pytest.approx(0.3 * found.item(), abs=1e-12)
        assert alignment_penalty(0.0) is None


def test_a_form_is_a_known_one_and_has_a_price():
    for price, form in [(1.0, "cube"), (0.0, "cube"), (0.0, "square")]:
        with pytest.raises(ValueError, match=r"alignment.form"):
            WordRecipe(alignment=price, alignment_form=form)
        with pytest.raises(ValueError, match=r"alignment.form"):
            Standard(alignment=price, alignment_form=form)


def test_over_a_transformer_it_is_that_of_dot_and_additive():
    for pooling in ("dot", "additive"):
        model = families.attention_classifier(pooling=pooling).double()
        assert alignment(model).item() == pytest.approx(by_loops(model), abs=1e-12)


def test_the_gradient_is_the_sign_times_the_other_vector():
    model = word_classifier(classes=2)
    attention, polarity = model.pooling.query, model.head.weight
    by_attention, by_polarity = torch.autograd.grad(alignment(model), [attention, polarity])
    sign = torch.sign(attention[0] @ polarity[0])
    assert torch.allclose(by_attention, sign * polarity)
    assert torch.allclose(by_polarity, sign * attention)


def test_vectors_at_right_angles_cost_nothing():
    model = word_classifier(classes=2)
    with torch.no_grad():
        model.pooling.query.copy_(torch.tensor([[1.0, 0, 2, 0]]))
        model.head.weight.copy_(torch.tensor([[0.0, 3, 0, 4]]))
    assert alignment(model) == 0


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(lambda: word_classifier("embeddings", pooling="mean"), id="mean"),
        pytest.param(lambda: word_classifier("lstm", pooling="max"), id="max"),
        pytest.param(lambda: word_classifier("lstm", pooling="first"), id="first"),
        pytest.param(lambda: word_classifier("affine", pooling_heads=2), id="heads"),
        pytest.param(lambda: word_classifier("lstm", head="perceptron"), id="perceptron"),
        pytest.param(lambda: families.FAMILIES["bert"](), id="bert"),
        pytest.param(lambda: torch.nn.Linear(2, 2), id="linear"),
    ],
)
def test_other_models_have_none(model):
    with pytest.raises(ValueError, match=r"V\^T W is defined for attention classifiers with dot or additive"):
        alignment(model())


# --------------------------------------------------------------------------------------------------------- in training


def labelled_texts(count: int = 16) -> Encoded:
    own = word_batch([1 + number % 5 for number in range(count)], seed=4)
    kept = own.attention_mask.bool()
    return Encoded(own.input_ids[kept].numpy(), own.segment[kept].numpy(), kept.sum(1).numpy(), own.labels.tolist())


def step_of(folder, penalty=None, method=None, pieces: int = 1) -> dict[str, torch.Tensor]:
    """What one step_of of gradient descent adds to the weights, with a learning rate of 1: minus the gradient."""
    model = word_classifier("affine").double()
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    trainer = MixTrainer(
        model=model,
        method=method,
        penalty=penalty,
        train_dataset=labelled_texts(),
        args=TrainingArguments(
            str(folder), max_steps=1, per_device_train_batch_size=8 // pieces, gradient_accumulation_steps=pieces,
            learning_rate=1.0, lr_scheduler_type="constant", max_grad_norm=0.0, optim="sgd", use_cpu=True,
            report_to="none", disable_tqdm=True, save_strategy="no", logging_strategy="no",
        ),
    )  # fmt: skip
    trainer.train()
    return {name: weight.detach() - before[name] for name, weight in model.named_parameters()}


PRICED = {
    "plain": None,
    "ssmix": SSMix(window=0.3, pair=neighbours),
    "embedmix": EmbedMix(ratio=0.7, pair=neighbours),
}


@families.crossed("method", PRICED, "pieces", [1, 2, 4])
def test_a_step_pays_the_penalty_once(method, pieces, tmp_path):
    """However its batch is cut into pieces, and however many losses the objective has."""
    without = step_of(tmp_path, method=PRICED[method], pieces=pieces)
    with_penalty = step_of(tmp_path, lambda model: 0.3 * alignment(model), PRICED[method], pieces)
    model = word_classifier("affine").double()
    (0.3 * alignment(model)).backward()
    for name, weight in model.named_parameters():
        paid = 0 if weight.grad is None else weight.grad
        assert torch.allclose(with_penalty[name], without[name] - paid, rtol=0, atol=1e-7), name
    assert model.pooling.query.grad.abs().max() > 0.01
    assert without["head.weight"].abs().max() > 1e-3


def test_the_penalty_is_the_last_loss_of_an_objective():
    model, own = word_classifier(), word_batch([3, 2])
    losses = list(penalised(plain, alignment)(model, own))
    assert [loss.item() for loss in losses] == [next(plain(model, own)).item(), alignment(model).item()]


def trained_with(folder, **settings):
    recipe = Recipe(data="texts", steps=5, batch_size=8, learning_rate=0.02, evaluations=1, device="cpu")
    classifier = TextClassifier(word_classifier("embeddings", classes=3), None, 100)
    plan = planned(replace(recipe, procedure_options=settings))
    prepared = Prepared(plan, classifier, None, labelled_texts(), None, None, None)
    return fit(prepared, folder).classifier.model


def test_a_recipes_alignment_reaches_the_training(tmp_path):
    before = alignment(word_classifier("embeddings", classes=3)).item()
    plain, priced = trained_with(tmp_path / "0"), trained_with(tmp_path / "1", alignment=100.0)
    assert bits(plain) == bits(trained_with(tmp_path / "2", alignment=0.0))
    assert alignment(priced).item() < before - 0.3
    assert alignment(priced).item() < alignment(plain).item()


def test_a_recipes_form_of_alignment_reaches_the_training(tmp_path):
    absolute, square = (
        trained_with(tmp_path / form, alignment=1.0, alignment_form=form) for form in ("absolute", "square")
    )
    assert bits(absolute) != bits(square)


def test_a_recipes_alignment_is_a_price():
    for wrong in (-0.1, "much"):
        with pytest.raises(ValueError, match="give a number from 0"):
            Standard(alignment=wrong)
