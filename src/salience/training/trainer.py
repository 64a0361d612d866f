"""`MixTrainer`: the Hugging Face Trainer with an objective of several losses in place of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Sampler
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainingArguments

from salience.batch import Batch
from salience.data.batching import Collator, LengthGrouped
from salience.errors import InputError
from salience.hooks.hooks import forward
from salience.mixing import Method
from salience.mixing.method import resolved
from salience.training.checkpoints import using_files
from salience.training.loss import CrossEntropy, cross_entropy
from salience.training.objectives import labels_of, mixed, penalised, plain

OVERFLOWS = 20  # steps in a row that half precision may lose


class MixTrainer(Trainer):
    """Trains a sequence classifier with a mixing method. `method=None` trains on the texts as they are.

    Args:
        model: any encoder that `AutoModelForSequenceClassification` loads.
        method: a mixing method such as `SSMix()`. What it leaves open, as `AttentionMix(head="auto")` does, is chosen
            on the first training rows, and `trainer.method` is what it became.
        clean: the part of the loss on the texts as they are; 0 trains on mixtures only.
        class_weights: one weight a class, relative to a mean of 1 over the training data.
        penalty: one more loss of a step, a function of the model; `salience.training.alignment` makes one.
        group_by_length: texts of like length in one batch (`LengthGrouped`), every batch full.
        others: as the Trainer takes them. Data sets hold `input_ids` and `labels`; `salience.data.encoding` makes
            them. `label_smoothing_factor` is applied to hard and mixed labels alike.

    Mixtures are made within a batch on one device, so partners come from there. The loss of a step is the mean over
    all its texts: cut into smaller batches or spread over processes it is the same, which the stock Trainer's is not
    for classifiers (transformers issue 47688).

    Raises:
        ValueError: several GPUs in one process (`DataParallel`), which would tear partners apart.
    """

    # Our loss is divided here, by the number of texts in the step, and nowhere else.
    loss_is_scaled_for_ga = True

    def __init__(
        self,
        model: nn.Module,
        method: Method | None = None,
        clean: float = 0.5,
        args: TrainingArguments | None = None,
        class_weights: Sequence[float] | None = None,
        penalty: Callable[[nn.Module], Tensor] | None = None,
        group_by_length: bool = True,
        **others,
    ):
        tokenizer = others.get("processing_class")
        if others.get("data_collator") is None:
            others["data_collator"] = Collator.of(tokenizer) if tokenizer is not None else Collator()
        super().__init__(model=model, args=args, **others)
        if self.args.n_gpu > 1:
            raise ValueError("DataParallel would tear partners apart: launch with torchrun, or show one GPU")
        self.model_accepts_loss_kwargs = False  # else older Trainers would not divide, or divide twice
        self.label_smoother = None  # it takes hard labels only; the objective's loss smooths both kinds
        self.method = method = resolved(method, self.model, tokenizer, self.first_batches())
        weights = None if class_weights is None else tuple(class_weights)
        self.loss = CrossEntropy(weights, self.args.label_smoothing_factor)
        self.objective = partial(plain, loss=self.loss) if method is None else mixed(method, clean, self.loss)
        if penalty is not None:
            self.objective = penalised(self.objective, penalty)
        self.group_by_length = group_by_length
        self.overflows = 0  # steps in a row whose loss was not a number

    def training_step(self, model: nn.Module, inputs: dict, num_items_in_batch: Tensor | None = None) -> Tensor:
        """One batch: every loss of the objective, each back-propagated before the next is asked for."""
        model.train()
        if hasattr(self.optimizer, "train"):  # schedule-free optimizers
            self.optimizer.train()
        batch = self.batch(inputs)
        texts = len(batch) if num_items_in_batch is None else num_items_in_batch
        # Processes average their gradients, so a process's part of the step counts that many times.
        part = len(batch) * self.args.world_size / texts
        total = torch.zeros((), device=self.args.device)
        with self.compute_loss_context_manager():
            for loss in self.objective(model, batch):
                self.accelerator.backward(loss * part)
                total += loss.detach() * part
        self.check_loss(total)
        return total

    def check_loss(self, loss: Tensor) -> None:
        """Stops training where the loss is not a number, before the weights are changed by it.

        Half precision overflows now and then; its scaler skips such a step, and only many in a row are refused.

        Raises:
            InputError: says at which step, and what to lower.
        """
        self.overflows = 0 if loss.isfinite() else self.overflows + 1
        if self.overflows > (OVERFLOWS if self.args.fp16 else 0):
            raise diverged(self, "loss")

    def get_batch_samples(self, epoch_iterator, num_batches: int, device: torch.device) -> tuple[list, Tensor]:
        """The batches of one step, and how many texts they hold on all processes."""
        samples, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        texts = torch.tensor(sum(len(sample["input_ids"]) for sample in samples), device=device)
        return samples, self.accelerator.gather(texts).sum() if self.args.world_size > 1 else texts

    def compute_loss(self, model: nn.Module, inputs: dict, return_outputs: bool = False, num_items_in_batch=None):
        """The cross-entropy on the texts as they are, which evaluation reports for every method alike."""
        batch = self.batch(inputs)
        logits = forward(model, batch)
        loss = cross_entropy(logits, labels_of(batch))
        return (loss, {"logits": logits}) if return_outputs else loss

    def prediction_step(self, model: nn.Module, inputs: dict, prediction_loss_only: bool, ignore_keys=None):
        """Evaluation is the plain model: nothing is mixed, and nothing but logits is gathered."""
        batch = self.batch(inputs)
        with torch.no_grad(), self.compute_loss_context_manager():
            logits = forward(model, batch)
            loss = None if batch.labels is None else cross_entropy(logits, batch.labels)
        return loss, None if prediction_loss_only else logits, batch.labels

    def first_batches(self, rows: int = 256, size: int = 32) -> Iterator[Batch]:
        """Some training rows in their own order, whatever the order of training will be."""
        rows = min(rows, len(self.train_dataset))
        for start in range(0, rows, size):
            found = [self.train_dataset[row] for row in range(start, min(start + size, rows))]
            yield self.batch(self.data_collator(found))

    def _save_checkpoint(self, model: nn.Module, trial) -> None:
        with using_files(self.args.output_dir):
            super()._save_checkpoint(model, trial)

    def _save(self, output_dir: str | None = None, state_dict: dict | None = None) -> None:
        """A checkpoint holds the weights under the model's own names.

        Transformers would write those that the model was loaded under, such as `LayerNorm.gamma` of the first BERTs.
        Its resuming and its return to the best checkpoint do not know them and leave such weights as they are.
        """
        if not isinstance(self.model, PreTrainedModel):
            return super()._save(output_dir, state_dict)
        self.model.save_pretrained = partial(self.model.save_pretrained, save_original_format=False)
        try:
            return super()._save(output_dir, state_dict)
        finally:
            del self.model.save_pretrained

    def batch(self, inputs: dict) -> Batch:
        inputs = self._prepare_inputs(inputs)
        return Batch(inputs["input_ids"], inputs["attention_mask"], inputs["segment"], inputs.get("labels"))

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler | None:
        dataset = self.train_dataset if train_dataset is None else train_dataset
        if not self.group_by_length or not hasattr(dataset, "__len__"):
            return super()._get_train_sampler(train_dataset)
        lengths = getattr(dataset, "lengths", None)
        if lengths is None:
            lengths = [len(dataset[row]["input_ids"]) for row in range(len(dataset))]
        rows = self.args.train_batch_size * self.args.gradient_accumulation_steps * self.args.world_size
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        sampler = LengthGrouped(lengths, rows, seed)
        self.add_callback(Reshuffle(sampler))
        return sampler

    def _set_signature_columns_if_needed(self) -> None:
        """The columns that reach the collator: a Batch's, not those of the model's forward."""
        self._signature_columns = ["input_ids", "attention_mask", "segment", "label", "labels"]


class Reshuffle(TrainerCallback):
    """Tells the sampler its epoch. Loaders pass it on too, but not in every version on several processes."""

    def __init__(self, sampler: LengthGrouped):
        self.sampler = sampler

    def on_epoch_begin(self, args, state, control, **_):
        self.sampler.set_epoch(int(state.epoch))


def diverged(trainer: Trainer, what: str) -> InputError:
    """The error for training that has come to numbers that are none; `what` names them."""
    # The step that is being computed; after the last one, the last one.
    step = min(trainer.state.global_step + 1, trainer.state.max_steps)
    precision = "" if not (trainer.args.bf16 or trainer.args.fp16) else ", or use --precision fp32"
    return InputError(
        f"the {what} is not a number at step {step} of {trainer.state.max_steps}: lower --learning-rate, which is "
        f"{trainer.args.learning_rate:.2g}{precision}"
    )
