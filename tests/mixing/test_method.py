"""Methods fill in what depends on the model and the data; a dry run reports what does not fit before training."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from transformers import AutoModelForSequenceClassification, TrainingArguments

import families_page
from families import FAMILIES, batch, tiny_tokenizer
from salience import METHODS, AttentionMix, DropMix, EmbedMix, Mix, MixTrainer, RandomUNK, SSMix, TMix, WordMixup
from salience.errors import InputError
from salience.mixing import Method, dry_run, rank_heads
from salience.mixing.choosing import choose_method


def rows(count: int = 12) -> list[dict]:
    own = batch([5, 2, 9, 4] * (count // 4))
    return [
        {"input_ids": own.input_ids[row][own.attention_mask[row].bool()].tolist(), "labels": int(own.labels[row])}
        for row in range(count)
    ]


def trainer(tmp_path, method, model=None) -> MixTrainer:
    arguments = TrainingArguments(tmp_path, max_steps=2, use_cpu=True, report_to="none", save_strategy="no")
    model = model or FAMILIES["bert"]()
    return MixTrainer(
        model=model, method=method, args=arguments, train_dataset=rows(), processing_class=tiny_tokenizer()
    )


# ------------------------------------------------------------------------------------------------------------- resolve


def test_the_unknown_token_is_the_tokenizers(tmp_path):
    assert trainer(tmp_path, RandomUNK()).method.unknown == tiny_tokenizer().unk_token_id
    assert trainer(tmp_path, RandomUNK(unknown=7)).method.unknown == 7


def test_without_a_tokenizer_the_unknown_token_is_berts():
    assert RandomUNK().resolve(FAMILIES["bert"](), None, never()).unknown == 100


def test_an_unknown_token_beyond_the_vocabulary_is_refused():
    model = FAMILIES["bert"]()
    last = model.get_input_embeddings().num_embeddings - 1
    assert RandomUNK(unknown=last).resolve(model, None, ()) == RandomUNK(unknown=last)
    with pytest.raises(InputError, match=f"unknown={last + 1}: the model's tokens are numbered from 0 to {last}"):
        RandomUNK(unknown=last + 1).resolve(model, None, ())


def test_the_head_is_chosen_on_the_training_rows_and_told(tmp_path, caplog):
    model = FAMILIES["bert"]()
    with caplog.at_level("INFO", logger="salience"):
        made = trainer(tmp_path, AttentionMix(head="auto", level=1), model)
    best = rank_heads(model, made.first_batches())[0]
    assert (made.method.layer, made.method.head, made.method.level) == (best.layer, best.head, 1)
    assert f"head {best.head} of layer {best.layer}" in caplog.text
    assert f"{best.agreement:.2f}" in caplog.text
    made.train()


def test_the_choice_is_told_to_the_callers_note():
    lines = []
    AttentionMix(head="auto").resolve(FAMILIES["bert"](), None, [batch([5, 2, 9])], lines.append)
    assert len(lines) == 1
    assert "AttentionMix uses head" in lines[0]


def never():
    """Batches that no method may read if it has nothing to choose on them."""
    raise AssertionError
    yield


@pytest.mark.parametrize("name", sorted(METHODS))
def test_what_depends_on_nothing_stays(name):
    method, model = METHODS[name](), FAMILIES["bert"]()
    lines = []
    resolved = method.resolve(model, tiny_tokenizer(), never(), lines.append)
    assert lines == []
    assert type(resolved) is type(method)
    assert resolved == (RandomUNK(unknown=tiny_tokenizer().unk_token_id) if name == "randomunk" else method)
    assert resolved.resolve(model, tiny_tokenizer(), never()) == resolved


def test_chosen_heads_stay():
    for method in (AttentionMix(layer=1, head=1), AttentionMix(layer=2)):
        assert method.resolve(None, None, never()) == method


@dataclass(frozen=True)
class Reversed(Method):
    """A method as a user writes it: a rule alone, with the defaults of `Method`."""

    share: float = 0.5

    def __call__(self, batch, scores):
        assert scores is None
        partner = torch.arange(len(batch)).flip(0)
        share = torch.full((len(batch),), self.share)
        return Mix("embeddings", partner, share[:, None, None], share)


def test_a_method_needs_a_rule_alone(tmp_path):
    made = trainer(tmp_path, Reversed())
    assert made.method == Reversed()
    assert made.train().global_step == 2
    dry_run(Reversed(), FAMILIES["bert"](), batch([5, 2]))


def test_a_method_without_a_rule_is_none():
    class Empty(Method):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Empty()


# ------------------------------------------------------------------------------------------------------------- dry run


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (AttentionMix(layer=3), ["AttentionMix", "layers 0 to 2", "not 3"]),
        (AttentionMix(head=2), ["AttentionMix", "heads 0 to 1", "not 2"]),
        (TMix(levels=(9,)), ["TMix", "no level 9", "1, 2, 3"]),
        (DropMix(width=1000), ["DropMix", "width=1000"]),
    ],
)
def test_a_field_that_does_not_fit_the_model_is_found_before_training(method, words):
    with pytest.raises(InputError) as caught:
        dry_run(method, FAMILIES["bert"](), batch([5, 2]))
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    for word in words:
        assert word in message


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_dry_run_changes_nothing(name):
    model = FAMILIES["bert"](dropout=0.1).train()
    state, weights = torch.get_rng_state(), [weight.clone() for weight in model.parameters()]
    dry_run(METHODS[name](), model, batch([5, 2]))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(module.training for module in model.modules())
    assert all(map(torch.equal, model.parameters(), weights))
    assert all(weight.grad is None for weight in model.parameters())


# -------------------------------------------------------------------------------------------------------------- fields


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("dropmix-g", {"direction": "drop"}, 'unknown direction "drop"; known: keep, replace'),
        ("attentionmix", {"head": "best"}, "head='best': give a head's number or auto, or null"),
        ("attentionmix", {"denominator": "union"}, 'unknown denominator "union"; known: both, own'),
        ("ssmix", {"span": False}, "guide=None"),
    ],
)
def test_a_value_that_a_method_does_not_take_is_one_line(name, options, words):
    with pytest.raises(InputError, match=f"--method {name}.*{words}"):
        choose_method(name, options)


@pytest.mark.parametrize(
    ("kind", "method", "reason"),
    [
        ("longformer", EmbedMix(), "states at level 'embeddings' are not one for each token of each text"),
        ("squeezebert", WordMixup(), "a text that is exchanged for another at level 'words' is not read as the other"),
        ("squeezebert", TMix(levels=(1,)), "a text that is exchanged for another at level 1 is not read as the other"),
        ("xlm", EmbedMix(), "has no embedding block"),
    ],
)
def test_a_level_at_which_a_model_would_not_mix_is_refused(kind, method, reason, tmp_path):
    """Longformer pads texts itself, and the others read masks and positions in places of their own."""
    model = AutoModelForSequenceClassification.from_pretrained(families_page.save(tmp_path, kind))
    with pytest.raises(InputError, match=f"{type(method).__name__} cannot be used with this model: .*{reason}"):
        dry_run(method, model, replace(batch([5, 2]), token_type_ids=None))


@pytest.mark.parametrize(
    ("kind", "method", "reason"),
    [
        ("longformer", EmbedMix(), "states at level 'embeddings' are not one for each token of each text"),
        ("squeezebert", WordMixup(), "a text that is exchanged for another at level 'words' is not read as the other"),
        ("squeezebert", TMix(levels=(1,)), "a text that is exchanged for another at level 1 is not read as the other"),
    ],
)
def test_a_trainer_refuses_it_too(kind, method, reason, tmp_path):
    """Who calls it has not been through the command line."""
    model = AutoModelForSequenceClassification.from_pretrained(families_page.save(tmp_path, kind))
    with pytest.raises(InputError, match=f"{type(method).__name__} cannot be used with this model: .*{reason}"):
        trainer(tmp_path, method, model)


@pytest.mark.parametrize(
    ("method", "most"), [(None, 3), (TMix(levels=(2,)), 3 + 1 + 1), (SSMix(), 3), (TMix(levels=(1, 2)), 3 + 1 + 2)]
)
def test_a_trial_is_two_texts_for_each_level(method, most, tmp_path):
    """And for the padding: three passes, one of two texts. Nothing is left of it."""
    model, seen = FAMILIES["bert"](dropout=0.1).train(), []
    model.register_forward_hook(
        lambda module, arguments, named, output: seen.append(len(output.logits)), with_kwargs=True
    )
    trainer(tmp_path, method, model)
    assert len(seen) <= most and max(seen) == 2 and model.training
    assert torch.equal(torch.get_rng_state(), torch.Generator().manual_seed(42).get_state())  # the Trainer's own
