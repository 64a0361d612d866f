"""From a recipe to the `TrainingArguments` of the Hugging Face Trainer, and the check that this machine can run it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from transformers import TrainingArguments
from transformers.utils import is_torch_bf16_gpu_available

from salience.errors import InputError
from salience.processes import check_launcher, world_size
from salience.training.recipe import Recipe
from salience.training.trackers import UNTRACKED, Tracking


def check_device(recipe: Recipe) -> None:
    """Checks device, precision and launcher of a recipe, before anything is read.

    Raises:
        InputError: this machine has no such device or precision, or the variables of the launcher are incomplete.
    """
    if recipe.device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no CUDA device on this machine; use --device cpu or auto")
    on_cpu = recipe.device == "cpu" or not torch.cuda.is_available()
    if recipe.precision == "fp16" and on_cpu:
        raise InputError("--precision fp16 needs a CUDA device; use fp32, or bf16")
    if recipe.precision == "bf16" and not on_cpu and not is_torch_bf16_gpu_available():
        raise InputError(
            "--precision bf16: the CUDA device of this machine does not support it; use fp16, fp32, or --device cpu"
        )
    check_launcher()


def check_parts(recipe: Recipe) -> None:
    """Checks that a step can be made in equal parts.

    Args:
        recipe: nothing is left open in it.

    Raises:
        InputError: the batch size is not divisible by the number of accumulation steps times the number of processes.
    """
    assert recipe.batch_size is not None
    parts = recipe.accumulation * world_size()
    if recipe.batch_size % parts:
        raise InputError(
            f"--batch-size {recipe.batch_size} cannot be divided into {parts} equal parts (--accumulation times "
            f"processes); choose a multiple of {parts}"
        )


def trains_on_cpu(recipe: Recipe) -> bool:
    """Whether the Trainer is told explicitly to use the CPU.

    Without a GPU it does so by itself, but then it refuses bf16.
    """
    return recipe.device == "cpu" or (recipe.precision == "bf16" and not is_torch_bf16_gpu_available())


def training_arguments(
    recipe: Recipe, checkpoints: Path, has_validation: bool, tracking: Tracking = UNTRACKED
) -> TrainingArguments:
    """The arguments of the Trainer for a recipe in which nothing is left open.

    The optimiser is the Trainer's default: AdamW (Loshchilov and Hutter, 2019, arXiv:1711.05101) with betas 0.9 and
    0.999 and epsilon 1e-8, a linear warm-up and linear decay to 0, and gradients clipped to a norm of 1.

    Args:
        checkpoints: the folder for checkpoints; `salience.training.resuming` says when they are written.
        has_validation: whether there are validation rows, by which the best checkpoint is selected.
        tracking: where the run is reported.

    """
    assert recipe.batch_size and recipe.steps and recipe.learning_rate is not None  # a resolved recipe
    parts = recipe.accumulation * world_size()
    every = math.ceil(recipe.steps / recipe.evaluations)
    selecting: dict[str, Any] = {"eval_strategy": "steps", "eval_steps": every,
              "metric_for_best_model": "selection", "greater_is_better": True}  # fmt: skip
    return TrainingArguments(
        output_dir=str(checkpoints),
        max_steps=recipe.steps,
        per_device_train_batch_size=recipe.batch_size // parts,
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=recipe.accumulation,
        learning_rate=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        warmup_steps=round(recipe.warmup * recipe.steps),
        label_smoothing_factor=recipe.label_smoothing,
        bf16=recipe.precision == "bf16",
        fp16=recipe.precision == "fp16",
        use_cpu=trains_on_cpu(recipe),
        seed=recipe.seed,
        save_strategy="steps",
        save_steps=recipe.steps,  # `ResumePoints` decides
        save_total_limit=1,
        restore_callback_states_from_checkpoint=True,  # early stopping goes on counting in a resumed run
        logging_steps=every,
        report_to=list(tracking.trackers) or "none",
        run_name=tracking.run,
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
        **(selecting if has_validation else {}),
    )
