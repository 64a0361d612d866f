"""What must hold of every explainer: its shape, its class, its padding, and that it leaves no trace."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

import families
import word_models
from reference import close
from salience import EXPLAINERS, AttentionMix, Batch, DropMix, SSMix
from salience.classify import TextClassifier
from salience.data.encoding import encode_texts
from salience.data.texts import Texts
from salience.data.words import word_spans
from salience.explainers import Attention, gradient, gradient_map
from salience.explainers.explain import explain_texts, word_scores

CLASSES = 3
FAMILIES = ["bert", "roberta", "deberta-v2", "modernbert", "albert", "attention"]
WORDS = ["words, embeddings", "words, bidirectional"]
OF_A_CLASS = ["gradient", "gradient-x-input", "integrated-gradients", "occlusion"]
OF_THE_TEXT = ["attention", "cls-attention", "pooling-attention"]  # the same whichever class is asked about
WORDS_ONLY = ["pooling-attention", "integrated-gradients", "occlusion", "random"]  # special tokens get 0


def fits(explainer: str, name: str) -> bool:
    if explainer in ("attention", "cls-attention"):
        return name not in WORDS
    return explainer != "pooling-attention" or name in ("attention", *WORDS)


def every_case(explainers=EXPLAINERS):
    every = 1 if explainers is EXPLAINERS else 2  # two tests alone are of all explainers
    return families.crossed("explainer", explainers, "name", [*FAMILIES, *WORDS], fits, every)


quiet = pytest.mark.filterwarnings("ignore:.*attention interface")
SECONDS = (None, [3, 6, 2])  # single texts, and pairs


def model_of(name: str):
    if name in WORDS:
        return word_models.word_classifier(name.removeprefix("words, "), pooling="additive").double()
    return families.MODELS[name]().double()


def texts_of(name: str, pairs=None, labelled: bool = False) -> Batch:
    if name in WORDS:
        own = word_models.word_batch([5, 1, 9], pairs, extra_padding=2)
    else:
        own = families.batch([5, 1, 9], pairs, extra_padding=2, family=name)
    return own if labelled else replace(own, labels=None)


# ------------------------------------------------------------------------------------------------------------- scores


@quiet
@every_case()
def test_a_score_a_token_and_none_for_padding(explainer, name):
    model = model_of(name)
    for pairs in SECONDS:
        own = texts_of(name, pairs)
        scores = EXPLAINERS[explainer](model, own)
        assert scores.shape == own.input_ids.shape
        assert scores.is_floating_point() and not scores.requires_grad
        assert scores.isfinite().all()
        silent = own.segment == 0 if explainer in WORDS_ONLY else own.attention_mask == 0
        assert (scores[silent] == 0).all()
        assert (scores[own.segment > 0] != 0).all()


@quiet
@every_case([name for name in EXPLAINERS if name != "random"])
def test_a_text_alone_and_in_a_padded_batch_has_the_same_scores(explainer, name):
    model = model_of(name)
    for pairs in SECONDS:
        own = texts_of(name, pairs)
        together = EXPLAINERS[explainer](model, own)
        for row in range(len(own)):
            text = families.alone(own, row)
            length = text.input_ids.shape[1]
            assert close(EXPLAINERS[explainer](model, text)[0], together[row, :length], 1e-5)


def test_random_scores_are_drawn_anew_and_follow_the_seed():
    model, own = model_of("bert"), texts_of("bert")
    first, second = (EXPLAINERS["random"](model, own) for _ in range(2))
    torch.default_generator.manual_seed(0)
    assert torch.equal(EXPLAINERS["random"](model, own), first)
    assert not torch.equal(second, first)
    long = EXPLAINERS["random"](model, families.batch([5000], classes=1))
    assert long.min() == 0 and long.max() < 1
    assert float(long.sum() / 5000) == pytest.approx(0.5, abs=0.02)  # five standard errors


# ------------------------------------------------------------------------------------------------------------ classes


@every_case(OF_A_CLASS)
def test_the_class_is_the_one_given_else_the_label_else_the_predicted_one(explainer, name):
    function, model, bare = EXPLAINERS[explainer], model_of(name), texts_of(name)
    by_class = [function(model, bare, torch.full((len(bare),), number)) for number in range(CLASSES)]
    for number in range(CLASSES):
        assert not close(by_class[number], by_class[number - 1], 1e-4)  # it matters what is explained

    def expected(target: torch.Tensor) -> torch.Tensor:
        return torch.stack([by_class[number][row] for row, number in enumerate(target.tolist())])

    inputs = {"input_ids": bare.input_ids, "attention_mask": bare.attention_mask}
    with torch.no_grad():
        predicted = model(**inputs).logits.argmax(1)
    labels, asked = (predicted + 1) % CLASSES, (predicted + 2) % CLASSES
    labelled = replace(bare, labels=labels)
    assert close(function(model, bare), expected(predicted), 1e-6)
    assert close(function(model, labelled), expected(labels), 1e-6)
    assert close(function(model, labelled, asked), expected(asked), 1e-6)


@quiet
@every_case(OF_THE_TEXT)
def test_what_a_model_attends_to_is_the_same_for_every_class(explainer, name):
    model, own = model_of(name), texts_of(name, labelled=True)
    found = [EXPLAINERS[explainer](model, own, torch.full((len(own),), number)) for number in range(CLASSES)]
    assert all(torch.equal(scores, EXPLAINERS[explainer](model, own)) for scores in found)


def test_attention_of_the_pooling_is_what_the_model_says_it_is():
    for name in ("attention", *WORDS):
        model, own = model_of(name), texts_of(name)
        with torch.no_grad():
            (expected,) = model(own.input_ids, own.attention_mask).attentions
        found = EXPLAINERS["pooling-attention"](model, own)
        assert close(found, expected.mean(1), 1e-9)
        assert close(found.sum(1), torch.ones(len(own)), 1e-9)


def test_attention_is_the_last_layers():
    model, own = model_of("bert"), texts_of("bert")
    assert torch.equal(EXPLAINERS["attention"](model, own), Attention(families.LAYERS - 1)(model, own))
    assert not close(EXPLAINERS["attention"](model, own), Attention(0)(model, own), 1e-3)


# --------------------------------------------------------------------------------------------- nothing is left behind


def state_of(model) -> list:
    """Modes, hooks, and which weights learn."""
    registries = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return [
        [module.training for module in model.modules()],
        [len(getattr(module, registry)) for module in model.modules() for registry in registries],
        [id(module) for module in model.modules()],
        [weight.requires_grad for weight in model.parameters()],
        str(model.config),
    ]


def half_training(model):
    """In training, but for one module that a user has set to evaluation; every weight with a gradient of its own."""
    model.train()
    model.base_model.embeddings.eval()
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    return model


def unchanged(model, before: list, weights: dict, gradients: list) -> bool:
    own = model.state_dict()
    return (
        state_of(model) == before
        and all(torch.equal(own[name], weight) for name, weight in weights.items())
        and all(
            torch.equal(weight.grad, kept) for weight, kept in zip(model.parameters(), gradients, strict=True)
        )
    )  # fmt: skip


@quiet
@every_case()
def test_the_model_is_as_it_was(explainer, name):
    model, own = half_training(model_of(name)), texts_of(name, labelled=True)
    before, weights = state_of(model), copy.deepcopy(model.state_dict())
    gradients, texts = [weight.grad.clone() for weight in model.parameters()], copy.deepcopy(own)
    with torch.no_grad():  # as a user who only looks may have it
        quietly = EXPLAINERS[explainer](model, own)
        assert not torch.is_grad_enabled()
    assert unchanged(model, before, weights, gradients)
    assert families.same_parts(own, texts)
    if explainer != "random":
        assert torch.equal(EXPLAINERS[explainer](model, own), quietly)
        assert unchanged(model, before, weights, gradients)


class Broken(Exception):
    pass


@quiet
@every_case([name for name in EXPLAINERS if name != "random"])  # which runs no model
def test_the_model_is_as_it_was_also_after_an_error(explainer, name):
    model, own = half_training(model_of(name)), texts_of(name, labelled=True)
    expected = EXPLAINERS[explainer](model, own)
    turn = 2 if explainer in ("integrated-gradients", "occlusion") else 1  # after the pass that sees the whole text
    calls = iter(range(1, 1000))

    def fail(*_):
        if next(calls) == turn:
            raise Broken

    handle = model.base_model.embeddings.register_forward_hook(fail)
    before, weights = state_of(model), copy.deepcopy(model.state_dict())
    gradients = [weight.grad.clone() for weight in model.parameters()]
    with pytest.raises(Broken):
        EXPLAINERS[explainer](model, own)
    assert unchanged(model, before, weights, gradients)
    handle.remove()
    assert torch.equal(EXPLAINERS[explainer](model, own), expected)


@quiet
@every_case([name for name in EXPLAINERS if name != "random"])
def test_a_model_that_does_not_learn_is_explained_all_the_same(explainer, name):
    model, own = model_of(name), texts_of(name, labelled=True)
    expected = EXPLAINERS[explainer](model, own)
    model.requires_grad_(False)
    assert torch.equal(EXPLAINERS[explainer](model, own), expected)


@pytest.mark.parametrize("explainer", ["attention", "pooling-attention", "integrated-gradients", "occlusion"])
def test_dropout_does_not_disturb_what_is_computed_in_evaluation(explainer):
    model, own = families.MODELS["attention"](dropout=0.5), texts_of("attention", labelled=True)
    expected = EXPLAINERS[explainer](model, own)
    model.train()
    state = torch.get_rng_state()
    assert torch.equal(EXPLAINERS[explainer](model, own), expected)
    assert torch.equal(torch.get_rng_state(), state)  # a training run draws the same numbers with and without


# ------------------------------------------------------------------------------------------------------------- guides


def test_what_guides_a_method_is_what_explains():
    assert SSMix().guide is gradient is EXPLAINERS["gradient"]
    assert DropMix().guide is gradient_map
    assert AttentionMix(layer=-1).guide == EXPLAINERS["attention"]
    assert AttentionMix(layer=2, head=1, mean=False).guide == Attention(2, 1, False)


def test_dropmix_sees_the_parts_of_what_ssmix_sees():
    model, own = model_of("bert"), texts_of("bert", labelled=True)
    parts = DropMix().guide(model, own)
    assert parts.shape == (*own.input_ids.shape, model.config.hidden_size)
    assert (parts >= 0).all()
    assert close(parts.norm(dim=2), SSMix().guide(model, own), 1e-5)


# -------------------------------------------------------------------------------------------- models that do not fit


@pytest.mark.parametrize(
    ("explainer", "name", "message"),
    [
        ("attention", "words, embeddings", "AttentionClassifier has no self-attention"),
        ("attention", "words, bidirectional", "AttentionClassifier has no self-attention"),
        ("pooling-attention", "bert", "BertForSequenceClassification has no attention pooling"),
        ("pooling-attention", "modernbert", "ModernBertForSequenceClassification has no attention pooling"),
    ],
)
def test_a_model_that_has_no_such_attention_is_refused_by_name(explainer, name, message):
    with pytest.raises(ValueError, match=message):
        EXPLAINERS[explainer](model_of(name), texts_of(name))


def test_a_pooling_without_attention_is_refused_by_name():
    model = word_models.word_classifier("lstm", pooling="max")
    with pytest.raises(ValueError, match="max pooling has no attention"):
        EXPLAINERS["pooling-attention"](model, texts_of("words, embeddings"))
    with pytest.raises(ValueError, match="first pooling reads the first token only"):
        EXPLAINERS["pooling-attention"](word_models.word_classifier(pooling="first"), texts_of("words, embeddings"))
    assert not any(len(module._forward_pre_hooks) for module in model.modules())


@pytest.mark.parametrize("explainer", ["gradient", "gradient-x-input", "integrated-gradients"])
def test_a_model_without_an_embedding_block_that_is_known_is_refused_by_name(explainer):
    class Strange(torch.nn.Module):
        config = None

        def forward(self, input_ids, attention_mask):
            return SimpleNamespace(logits=torch.zeros(len(input_ids), CLASSES))

    with pytest.raises(ValueError, match="Strange has no embedding block"):
        EXPLAINERS[explainer](Strange(), texts_of("bert", labelled=True))


# ------------------------------------------------------------------------------------------ words of other tokenizers


def bytes_tokenizer() -> PreTrainedTokenizerFast:
    """As ModernBERT's: bytes, of which a space at the end of a text is one."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    specials = families.BERT_SPECIALS
    tokenizer.train_from_iterator(
        ["a good film", "bad"],
        BpeTrainer(
            special_tokens=list(specials), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, specials[name]) for name in ("[CLS]", "[SEP]")],
    )  # fmt: skip
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


@pytest.mark.parametrize("text", ["a good film", "a good film ", " a  good film\n", "a good film \n "])
def test_space_around_a_text_is_no_word(text):
    encoded = encode_texts(bytes_tokenizer(), [text], spans=word_spans)
    assert encoded.words.names == [["a", "good", "film"]]
    assert encoded.words.counts.tolist() == [3]
    assert len(word_scores(encoded, 0, torch.ones(len(encoded.ids)).numpy())) == 3


def test_space_behind_the_first_text_of_a_pair_is_not_a_word_of_the_second():
    encoded = encode_texts(bytes_tokenizer(), ["a good "], ["film bad "], spans=word_spans)
    pieces = bytes_tokenizer().convert_ids_to_tokens(encoded.ids)
    assert encoded.words.names == [["a", "good", "film", "bad"]]
    for word, name in enumerate(encoded.words.names[0]):
        own = [piece for piece, number in zip(pieces, encoded.words_of(0), strict=True) if number == word]
        assert "".join(own).strip("Ġ") == name
    assert len(word_scores(encoded, 0, torch.ones(len(encoded.ids)).numpy())) == 4


@pytest.mark.parametrize("explainer", ["gradient", "occlusion"])
def test_a_text_with_a_space_at_its_end_has_a_score_a_word(explainer):
    tokenizer = bytes_tokenizer()
    model = families.build("modernbert", classes=2, vocabulary=len(tokenizer))
    (found,) = explain_texts(
        TextClassifier(model, tokenizer, 512), Texts(["a good film "]), {explainer: EXPLAINERS[explainer]}
    )
    assert found.words == ["a", "good", "film"]
    assert found.scores[explainer].shape == (3,)
