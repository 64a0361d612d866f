"""A recipe in the words of the Hugging Face Trainer, and what this machine cannot do of it."""

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


def check_device(recipe: Recipe) -> None:
    """Refuses by name what this machine cannot do, before anything is read."""
    if recipe.device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: this machine has no CUDA device that torch sees; use --device cpu or auto")
    on_cpu = recipe.device == "cpu" or not torch.cuda.is_available()
    if recipe.precision == "fp16" and on_cpu:
        raise InputError("--precision fp16 needs a CUDA device; use fp32, or bf16")
    if recipe.precision == "bf16" and not on_cpu and not is_torch_bf16_gpu_available():
        raise InputError("--precision bf16: this machine's CUDA device has none; use fp16, fp32, or --device cpu")
    check_launcher()


def trains_on_cpu(recipe: Recipe) -> bool:
    """Whether the Trainer must be told to use the CPU, which it does by itself where there is nothing else.

    Except with bf16, which it refuses on a CPU that it has chosen.
    """
    return recipe.device == "cpu" or (recipe.precision == "bf16" and not is_torch_bf16_gpu_available())


def training_arguments(recipe: Recipe, checkpoints: Path, has_validation: bool) -> TrainingArguments:
    """The recipe in the Trainer's words.

    Raises:
        InputError: the batch cannot be cut into that many pieces.
    """
    assert recipe.steps is not None and recipe.batch_size is not None  # nothing is left open in a resolved recipe
    pieces = recipe.accumulation * world_size()
    if recipe.batch_size % pieces:
        raise InputError(f"--batch-size {recipe.batch_size} cannot be cut into {pieces} equal pieces")
    every = math.ceil(recipe.steps / recipe.evaluations)
    chosen: dict[str, Any] = {"eval_strategy": "steps", "eval_steps": every, "load_best_model_at_end": True,
              "metric_for_best_model": "selection", "greater_is_better": True}  # fmt: skip
    return TrainingArguments(
        output_dir=str(checkpoints),
        max_steps=recipe.steps,
        per_device_train_batch_size=recipe.batch_size // pieces,
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
        save_steps=every,
        save_total_limit=2,  # the best and the last
        restore_callback_states_from_checkpoint=True,  # a resumed run knows how long it has waited for a better one
        logging_steps=every,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
        **(chosen if has_validation else {}),
    )
