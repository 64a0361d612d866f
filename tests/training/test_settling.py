"""What a method leaves open is settled by the training loops, and told."""

import pytest
from transformers import TrainingArguments

from families import FAMILIES, batch, tiny_tokenizer
from salience import AttentionMix, MixTrainer, RandomUNK, SSMix
from salience.errors import InputError
from salience.mixing import rank_heads
from salience.mixing.choosing import choose_method
from salience.training.settling import rehearse, settle


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


def test_the_unknown_token_is_the_tokenizers(tmp_path):
    assert trainer(tmp_path, RandomUNK()).method.unknown == tiny_tokenizer().unk_token_id
    assert trainer(tmp_path, RandomUNK(unknown=7)).method.unknown == 7


def test_the_head_is_chosen_on_the_training_rows_and_told(tmp_path, caplog):
    model = FAMILIES["bert"]()
    with caplog.at_level("INFO", logger="salience"):
        found = trainer(tmp_path, AttentionMix(head="auto", level=1), model)
    best = rank_heads(model, found.first_batches())[0]
    assert (found.method.layer, found.method.head, found.method.level) == (best.layer, best.head, 1)
    assert f"head {best.head} of layer {best.layer}" in caplog.text
    assert f"{best.agreement:.2f}" in caplog.text
    found.train()


def test_what_is_settled_stays(tmp_path):
    for method in (SSMix(), AttentionMix(layer=1, head=1), AttentionMix(), None):
        assert settle(method, None, None, iter(())) == method


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("attentionmix", {"layer": 3}, ["--method attentionmix", "layers 0 to 2", "not 3"]),
        ("attentionmix", {"head": 2}, ["heads 0 to 1", "not 2"]),
        ("tmix", {"levels": [9]}, ["--method tmix", "no level 9", "1, 2, 3"]),
    ],
)
def test_a_field_that_does_not_fit_the_model_is_found_before_training(name, options, words):
    with pytest.raises(InputError) as caught:
        rehearse(name, choose_method(name, options), FAMILIES["bert"](), batch([5, 2]))
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("dropmix-g", {"direction": "drop"}, "'replace' or 'keep', not 'drop'"),
        ("attentionmix", {"head": "best"}, "'auto', not 'best'"),
        ("attentionmix", {"denominator": "union"}, "'both' or 'own'"),
        ("ssmix", {"span": False}, "guide=None"),
    ],
)
def test_a_value_that_a_method_does_not_take_is_one_line(name, options, words):
    with pytest.raises(InputError, match=f"--method {name}.*{words}"):
        choose_method(name, options)
