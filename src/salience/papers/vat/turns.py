"""VAT: learner and compressor train the same attention by turns.

Iteration 0 trains encoder, attention and head together, which is the ATT of the paper. Every later iteration first
trains attention and compressor while the encoder is frozen, then encoder and head while the attention is frozen. The
iteration with the best validation accuracy is selected, from the first on that can be kept. The accuracy is that of
what the model predicts by: the learner (attention, pooled vector, head), or its compressor. A model that predicts by
its compressor is trained in the same way, but its iteration 0, whose compressor is untrained, is never selected.

Without the compressor's turns, encoder and head are trained further with the attention of iteration 0. It is the
control that tells what the turns of the learner gain by themselves.

Zhou et al. (Findings of ACL-IJCNLP 2021), "Attending via both Fine-tuning and Compressing", section 3.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel, TrainerState, set_seed

from salience.classify.classifier import predict_probabilities
from salience.data.batching import LengthGrouped, like_length
from salience.data.encoding import Encoded
from salience.errors import InputError
from salience.hooks.hooks import evaluating
from salience.papers.attention_classifiers.classifier import AttentionClassifier, pooled_states
from salience.processes import is_main_process
from salience.training.callbacks import copied_weights, using_files
from salience.training.fit import Fitted, Listeners, build_trainer, of_texts, run_trainer
from salience.training.objective import Loss, cross_entropy
from salience.training.prepare import Prepared
from salience.training.procedures import Turns
from salience.training.recipe import Plan
from salience.training.trainer import MixTrainer

IN_MEMORY = 2**30  # bytes; larger features are memory-mapped from a file
LEARNING_RATE = 1e-3  # of Adam, as the paper gives for its LSTM; the modules trained here are as small


class Features:
    """The encoder's states (T, D) of every text at the tokens that the pooling may read.

    They are computed once, because the encoder is frozen while attention and compressor are trained.

    Args:
        states: (sum of lengths, D), the states of all texts one after another.
        lengths: (N,), number of tokens of each text.
        labels: (N,) long.
        device: where batches are put.
    """

    def __init__(self, states: np.ndarray, lengths: np.ndarray, labels: Tensor, device: torch.device):
        self.states, self.labels, self.device = states, labels, device
        self.lengths, self.starts = lengths, np.concatenate([[0], lengths.cumsum()])

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, rows: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """States (B, T, D) padded with zeros, their mask (B, T), and labels (B,) of the texts with these numbers."""
        indices = np.asarray(rows)
        positions = np.arange(self.lengths[indices].max())
        mask = positions < self.lengths[indices, None]
        states = self.states[np.where(mask, self.starts[indices, None] + positions, 0)]  # one copy for all texts
        states[~mask] = 0
        return (
            torch.from_numpy(states).to(self.device),
            torch.from_numpy(mask).to(self.device),
            torch.from_numpy(self.labels.numpy()[indices]).to(self.device),  # torch's indexing takes longer
        )


@torch.inference_mode()
def encode_features(
    model: AttentionClassifier, encoded: Encoded, folder: Path, in_memory: int = IN_MEMORY
) -> Features:
    """Runs the encoder once over all texts, in evaluation mode.

    Features of more than `in_memory` bytes are kept in `features.npy` in the folder.
    """
    words_before = np.concatenate([[0], (encoded.segments > 0).cumsum()])
    lengths = np.diff(words_before[encoded.starts])
    width, starts = model.config.hidden_size, np.concatenate([[0], lengths.cumsum()])
    shape = (int(lengths.sum()), width)
    if 4 * shape[0] * width <= in_memory:
        states = np.empty(shape, np.float32)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        states = np.lib.format.open_memmap(folder / "features.npy", "w+", np.float32, shape)
    with evaluating(model):
        for rows, batch in like_length(model, encoded):
            batch_states, mask = pooled_states(model, batch)
            places = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
            states[places] = batch_states[mask].float().cpu().numpy()
    return Features(states, lengths, torch.as_tensor(encoded.labels), model.device)


def compression_loss(
    model: AttentionClassifier, states: Tensor, mask: Tensor, labels: Tensor, beta: float, loss: Loss = cross_entropy
) -> Tensor:
    """The classification loss of one sample of z per text, plus beta times the mean KL term in nats: a scalar.

    This is the negative of the lower bound in Eq. 8. The text of the paper says that the expected log-likelihood is
    minimised, which is an error of sign.
    """
    pooled, _ = model.pooling(states, mask)
    assert model.compressor is not None  # only models of VAT are trained with this loss
    compressed, divergence = model.compressor(pooled)
    return loss(model.classify_compressed(compressed), labels) + beta * divergence.mean()


def compress(
    model: AttentionClassifier,
    features: Features,
    steps: int,
    batch_size: int,
    beta: float,
    loss: Loss = cross_entropy,
    learning_rate: float = LEARNING_RATE,
) -> list[float]:
    """Trains attention and compressor on features, and the head if the compressor shares it; gives every step's loss.

    Raises:
        InputError: the loss is not finite; names the step.
    """
    losses: list[float] = []
    assert model.compressor is not None  # only models of VAT are trained by turns
    parts = [model.pooling, model.compressor, *([model.head] if model.config.shared_head else [])]
    weights = [weight for part in parts for weight in part.parameters()]
    trained = set(map(id, weights))
    with frozen(weight for weight in model.parameters() if id(weight) not in trained):
        optimizer = torch.optim.Adam(weights, learning_rate, fused=True)
        for rows in batches(features.lengths, batch_size, steps):
            states, mask, labels = features.batch(rows)
            for weight in weights:
                weight.grad = None  # as `optimizer.zero_grad`, whose bookkeeping takes a thirtieth of a step
            step_loss = compression_loss(model, states, mask, labels, beta, loss)
            losses.append(step_loss.item())
            if not math.isfinite(losses[-1]):
                raise InputError(
                    f"the compressor's loss is not finite at its step {len(losses)} of {steps}: lower beta, which "
                    f"is {beta:.2g}"
                )
            step_loss.backward()
            optimizer.step()
    return losses


def batches(lengths: np.ndarray, size: int, steps: int) -> Iterator[list[int]]:
    """Batches of row numbers of texts of similar length, shuffled in every epoch, for a number of steps."""
    sampler = LengthGrouped(lengths, size, seed=int(torch.randint(2**31, ())))
    for epoch in range(math.ceil(steps / sampler.batches)):
        sampler.set_epoch(epoch)
        rows = iter(sampler)
        for _ in range(min(sampler.batches, steps - epoch * sampler.batches)):
            yield list(islice(rows, sampler.batch_size))


@contextmanager
def frozen(weights: Iterable[nn.Parameter]) -> Iterator[None]:
    """Inside the `with`, these weights are not trained. Gradients still flow through them to other weights."""
    before = {weight: weight.requires_grad for weight in weights}
    for weight in before:
        weight.requires_grad = False
    try:
        yield
    finally:
        for weight, requires_grad in before.items():
            weight.requires_grad = requires_grad


def fit_by_turns(prepared: Prepared, procedure: Turns, checkpoints: Path, listeners: Listeners) -> Fitted:
    """As `salience.training.fit.fit`, by turns. Finished phases are stored in `checkpoints`.

    The phases of later iterations have half as many steps as iteration 0, because they begin with a trained model.
    """
    plan = prepared.plan
    iterations: list[dict[str, Any]] = []
    best: tuple[dict[str, Tensor], TrainerState, dict[str, Any]] | None = None
    for iteration in range(procedure.iterations + 1):
        # Every iteration has its own seed, so that a resumed run draws the same numbers.
        steps = plan.steps if iteration == 0 else math.ceil(plan.steps / 2)
        phase = replace(prepared, plan=replace(plan, seed=(plan.seed + iteration) % 2**32, steps=steps))
        folder = checkpoints / f"iteration-{iteration}"
        trainer = build_trainer(phase, folder / "learner", listeners)
        model = trainer.model
        label = f"iteration {iteration} of {procedure.iterations}"
        if iteration > 0 and procedure.compressor == "trained":
            listeners.note(f"{label}: the compressor trains the attention")
            compressor_phase(phase, beta_of(procedure, model), trainer, folder)
        listeners.note(f"{label}: {'encoder and head' if iteration else 'encoder, attention and head'} are trained")
        state = learner_phase(phase.plan, trainer, folder, joint=iteration == 0)
        listeners.iteration(model)
        accuracy = validation_accuracy(trainer)
        row = {"iteration": iteration, "steps": state.global_step, "validation_accuracy": accuracy}
        untrained = iteration == 0 and model.predicts_compressed
        can_be_kept = iteration >= procedure.earliest and not untrained
        if can_be_kept and (accuracy is None or best is None or accuracy > best[2]["validation_accuracy"]):
            best = {name: weight.detach().clone() for name, weight in model.state_dict().items()}, state, row
        iterations.append(row)
    assert best is not None  # `Turns.check` refuses models for which no iteration can be selected
    weights, state, selected = best
    model.load_state_dict(weights)
    return Fitted(
        replace(prepared.classifier, model=model), state, [row | {"kept": row is selected} for row in iterations]
    )


def beta_of(procedure: Turns, model: PreTrainedModel) -> float:
    """The weight of the KL term as a sum over the dimensions of z."""
    return procedure.beta / (model.compressor.latent if procedure.divergence == "mean" else 1)


def compressor_phase(phase: Prepared, beta: float, trainer: MixTrainer, folder: Path) -> None:
    """Trains attention and compressor to keep only the information that the label needs.

    Only the main process trains, and the others read the weights from `folder`: the phase is a small part of the whole
    training.
    """
    plan = phase.plan
    with PartialState().main_process_first():
        if read_phase(trainer.model, folder / "compressed") is not None:
            return
        set_seed(plan.seed)
        features = encode_features(trainer.model, phase.training, folder)
        compress(trainer.model, features, plan.steps, plan.batch_size, beta, trainer.loss)
        write_phase(trainer.model, folder / "compressed", {"global_step": plan.steps})
        (folder / "features.npy").unlink(missing_ok=True)


def learner_phase(plan: Plan, trainer: MixTrainer, folder: Path, joint: bool) -> TrainerState:
    """Trains encoder and head, and also the attention if `joint`; gives the Trainer's state.

    The model predicts by its learner meanwhile, so that checkpoints are selected by what is trained.
    """
    model = trainer.model
    if (finished := read_phase(model, folder / "learnt")) is not None:
        return TrainerState(**finished)
    set_seed(plan.seed)  # the same numbers are drawn if the compressor phase is skipped in a resumed run
    inference, model.config.inference = model.config.inference, "learner"
    try:
        with frozen([*model.compressor.parameters(), *([] if joint else model.pooling.parameters())]):
            state = run_trainer(trainer)
    finally:
        model.config.inference = inference
    if is_main_process():
        names = ("global_step", "best_global_step", "log_history")
        write_phase(model, folder / "learnt", {name: getattr(state, name) for name in names})
    PartialState().wait_for_everyone()
    return state


def validation_accuracy(trainer: MixTrainer) -> float | None:
    """The accuracy on the validation rows, from 0 to 1; None if there are none."""
    rows = trainer.eval_dataset
    if rows is None:
        return None
    of_rows = predict_probabilities(trainer.model, rows, "fp32")
    probabilities, labels = of_texts(of_rows, np.asarray(rows.labels), rows.owners)
    return float((probabilities.argmax(1) == labels).mean())


def write_phase(model: PreTrainedModel, phase: Path, state: dict[str, Any]) -> None:
    """Writes a finished phase: its weights, and then its state, whose presence marks the phase as finished."""
    phase.mkdir(parents=True, exist_ok=True)
    # Copies, because safetensors refuses tensors that share their memory, such as tied embeddings.
    weights = {name: weight.contiguous() for name, weight in copied_weights(model).items()}
    with using_files(phase):
        save_file(weights, phase / "weights.safetensors")
    (phase / "unfinished.json").write_text(json.dumps(state), encoding="utf-8")
    (phase / "unfinished.json").rename(phase / "state.json")


def read_phase(model: PreTrainedModel, phase: Path) -> dict[str, Any] | None:
    """Loads the weights of a finished phase into the model and gives its state; None if the phase is not finished."""
    if not (phase / "state.json").is_file():
        return None
    model.load_state_dict(load_file(phase / "weights.safetensors", device=str(model.device)))
    return json.loads((phase / "state.json").read_text(encoding="utf-8"))
