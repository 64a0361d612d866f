"""The logged loss is the mean over the steps since the last log, also where a run was resumed between two logs."""

import math

import pytest
import torch
from launching import rows
from transformers import TrainingArguments

import families
from salience import MixTrainer
from salience.training.trainer import MeanLoss

STEPS, EVERY = 8, 3  # a last log after two steps


class Recorded(MixTrainer):
    """Records the loss of every part of a step."""

    def training_step(self, *args, **options):
        loss = super().training_step(*args, **options)
        self.losses = [*getattr(self, "losses", []), loss.item()]
        return loss


def trained(folder, resume: bool = False, save: int = 1000, stop: int = STEPS, pieces: int = 1) -> Recorded:
    """A training of 8 steps, which ends after `stop` of them as if it were killed."""
    trainer = Recorded(
        model=families.MODELS["bert"](seed=3).float(), train_dataset=rows(32),
        args=TrainingArguments(
            str(folder), max_steps=STEPS, per_device_train_batch_size=8 // pieces, learning_rate=0.05, use_cpu=True,
            gradient_accumulation_steps=pieces, report_to="none", disable_tqdm=True, logging_steps=EVERY,
            save_steps=save, restore_callback_states_from_checkpoint=True,
        ),
    )  # fmt: skip
    if stop < STEPS:
        step_of = trainer.training_step

        def killed(*args, **options):
            if trainer.state.global_step == stop:
                raise KeyboardInterrupt
            return step_of(*args, **options)

        trainer.training_step = killed
    trainer.train(resume_from_checkpoint=resume or None)
    return trainer


def logged(trainer: MixTrainer) -> dict[int, float]:
    return {log["step"]: log["loss"] for log in trainer.state.log_history if "loss" in log}


@pytest.mark.parametrize("pieces", [1, 2])
def test_each_log_is_the_mean_since_the_one_before(tmp_path, pieces):
    trainer = trained(tmp_path, pieces=pieces)
    losses = torch.tensor(trainer.losses).view(STEPS, pieces).sum(1)
    found = logged(trainer)
    assert list(found) == [3, 6]
    assert found[3] == pytest.approx(losses[:3].mean().item(), rel=1e-6)
    assert found[6] == pytest.approx(losses[3:6].mean().item(), rel=1e-6)


@pytest.mark.parametrize("checkpoint", [2, 3, 5])
def test_a_resumed_run_logs_what_an_undisturbed_one_logs(tmp_path, checkpoint):
    """The Trainer itself would log the mean of step 6 alone, if it is resumed after step 5."""
    whole = logged(trained(tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "killed", save=checkpoint, stop=checkpoint)
    assert logged(trained(tmp_path / "killed", resume=True)) == whole


def test_a_step_that_fp16_skips_counts_as_no_loss(tmp_path):
    losses = MeanLoss()
    accelerator = trained(tmp_path).accelerator
    for loss in (1.0, math.inf, 2.0, math.nan):
        losses.add(torch.tensor(loss))
        losses.on_step_end(None, None, None)
    assert losses.take(accelerator) == 0.75
    assert losses.take(accelerator) == 0
