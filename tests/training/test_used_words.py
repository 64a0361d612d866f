"""Training the used word rows alone gives the weights of training the whole table."""

import torch
from transformers import TrainerCallback, TrainingArguments

import families
from salience import MixTrainer, TMix
from salience.data.batching import Collator
from salience.data.encoding import Encoded
from salience.training import trainer as training

STEPS = 4


def texts() -> Encoded:
    own = families.batch([9, 2, 5, 1, 7, 4])
    real = own.attention_mask.bool()
    labels = torch.arange(6).numpy() % 3
    return Encoded(own.input_ids[real].numpy(), own.segment[real].numpy(), real.sum(1).numpy(), labels)


class Watch(TrainerCallback):
    """What the table and the checkpoint's weights are after each step, and the sizes of what the optimizer trains."""

    def on_step_end(self, args, state, control, model, optimizer, **_):
        words = model.get_input_embeddings()
        self.same = torch.equal(model.state_dict()["bert.embeddings.word_embeddings.weight"], words.weight)
        self.names = set(model.state_dict())
        self.rows = {len(weight) for group in optimizer.param_groups for weight in group["params"]}


def trained(tmp_path, method=None, resume=None, **options):
    model, watch = families.MODELS["bert, mean"](seed=3, vocabulary=300).float(), Watch()
    arguments = TrainingArguments(
        output_dir=str(tmp_path), max_steps=STEPS, per_device_train_batch_size=3, use_cpu=True, learning_rate=0.01,
        report_to="none", disable_tqdm=True, **{"weight_decay": 0.0, "seed": 0, "save_strategy": "no"} | options,
    )  # fmt: skip
    names = set(model.state_dict())
    trainer = MixTrainer(
        model, method, args=arguments, train_dataset=texts(), data_collator=Collator(), callbacks=[watch]
    )
    trainer.train(resume_from_checkpoint=resume)
    assert watch.names == names == set(model.state_dict()) and watch.same
    assert model.get_input_embeddings().weight.requires_grad
    return model.state_dict(), watch


def test_weights_are_those_of_training_the_whole_table(tmp_path, monkeypatch):
    found, watch = trained(tmp_path)
    assert 300 not in watch.rows  # the table is not trained as a whole
    monkeypatch.setattr(training.UsedWords, "pays", False)
    expected, watch = trained(tmp_path)
    assert 300 in watch.rows
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, rtol=1e-5, atol=1e-6)
    moved = (found["bert.embeddings.word_embeddings.weight"] != families.MODELS["bert, mean"](
        seed=3, vocabulary=300
    ).float().state_dict()["bert.embeddings.word_embeddings.weight"]).any(1)  # fmt: skip
    assert set(moved.nonzero()[:, 0].tolist()) == set(texts().ids.tolist()) - {0}


def test_weight_decay_leaves_unused_rows_as_they_are(tmp_path):
    before = families.MODELS["bert, mean"](seed=3, vocabulary=300).float().get_input_embeddings().weight
    found, _ = trained(tmp_path, weight_decay=0.1)
    unused = sorted(set(range(300)) - set(texts().ids.tolist()) - {0})
    assert torch.equal(found["bert.embeddings.word_embeddings.weight"][unused], before[unused])


def test_methods_that_read_below_the_vector_train_the_table(tmp_path):
    _, watch = trained(tmp_path, TMix())
    assert 300 in watch.rows


def test_a_resumed_training_ends_with_the_same_weights(tmp_path):
    whole, watch = trained(tmp_path / "whole", save_strategy="steps", save_steps=2)
    assert 300 not in watch.rows
    checkpoint = tmp_path / "whole" / "checkpoint-2"
    resumed, _ = trained(tmp_path / "resumed", resume=str(checkpoint))
    for name, weight in whole.items():
        assert torch.equal(resumed[name], weight), name
