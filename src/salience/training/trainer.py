"""`MixTrainer`: the Hugging Face Trainer with an objective that consists of several losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Sampler
from transformers import PreTrainedModel, Trainer, TrainingArguments
from transformers.trainer_utils import TrainOutput

from salience.batch import Batch
from salience.data.batching import Collator
from salience.hooks.hooks import forward
from salience.mixing import Method
from salience.mixing.method import resolved
from salience.models.precision import attending
from salience.training.checkpoints import using_files
from salience.training.diverging import OVERFLOWS, FiniteLosses
from salience.training.loss import loss_for
from salience.training.mean_loss import MeanLoss
from salience.training.objectives import Unmixed, labels_of, penalised, plain
from salience.training.progress import TellProgress
from salience.training.rates import set_rates
from salience.training.sampling import EpochOfSampler, length_grouped
from salience.training.techniques import whole_objective


class MixTrainer(Trainer):
    """Trains a sequence classifier with a mixing method. `method=None` is plain training, without mixing.

    Args:
        model: any encoder that `AutoModelForSequenceClassification` loads; on its loss see `loss_for`.
        method: a mixing method such as `SSMix()`. Settings that it leaves open, as in `AttentionMix(head="auto")`,
            are chosen on the first training rows; `trainer.method` is the resulting method.
        clean: weight of the loss on the unmixed texts, at least 0 and below 1; 0 trains on mixtures only.
        args: as for the Trainer. `label_smoothing_factor` is applied to hard and mixed labels alike.
        class_weights: one weight a class or label (C,), as of the loss.
        penalty: maps the model to a scalar that is added to the loss of every step, such as
            `salience.training.alignment.penalty`.
        group_by_length: whether batches consist of texts of similar length (`LengthGrouped`); all batches are full
            then.
        head_rate: learning rate of the head, as a multiple of that of the encoder.
        unmixed: what training without a method minimises, such as `Contrastive(0.3, 0.1)`.
        **options: further arguments of the Trainer. `encode_texts` makes data sets with `input_ids` and `labels`.

    Texts are mixed within a batch on one device. The loss of a step is the mean over all its texts, however they are
    divided into smaller batches or over processes. This is not true of the Trainer of transformers for classifiers
    (transformers issue 47688).

    Raises:
        ValueError: `clean` is out of range, or there are several GPUs in one process: `DataParallel` would separate
            texts from their partners.
    """

    # `training_step` divides the loss by the number of texts in the step, so the Trainer must not divide it again.
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
        head_rate: float = 1.0,
        unmixed: Unmixed = plain,
        **options,
    ):
        tokenizer = options.get("processing_class")
        if options.get("data_collator") is None:
            options["data_collator"] = Collator.of(tokenizer) if tokenizer is not None else Collator()
        super().__init__(model=model, args=args, **options)
        self.add_callback(TellProgress())
        self.add_callback(MeanLoss())
        if self.args.n_gpu > 1:
            raise ValueError(
                "DataParallel would separate texts from their partners: launch with torchrun, or set "
                "CUDA_VISIBLE_DEVICES to one GPU"
            )
        self.model_accepts_loss_kwargs = False  # otherwise older Trainers would scale the loss in another way
        self.label_smoother = None  # it takes hard labels only; `CrossEntropy` smooths hard and mixed labels
        self.method = method = resolved(method, self.model, tokenizer, self.first_batches())
        weights = None if class_weights is None else tuple(class_weights)
        self.loss = loss_for(self.model, weights, self.args.label_smoothing_factor)
        self.objective = whole_objective(method, clean, self.loss, unmixed)
        if penalty is not None:
            self.objective = penalised(self.objective, penalty)
        self.group_by_length = group_by_length
        self.head_rate = head_rate
        self.finite = FiniteLosses(OVERFLOWS * self.args.gradient_accumulation_steps if self.args.fp16 else 0)

    def train(self, *args, **options) -> TrainOutput:
        """Trains the model, as the Trainer does. After it, the model computes in fp32 again unless told otherwise."""
        try:
            with attending(self.model, self.args.bf16):
                return super().train(*args, **options)
        finally:  # accelerate replaces `forward` by one that always computes in the precision of the training
            self.accelerator.unwrap_model(self.model, keep_fp32_wrapper=False)

    def training_step(self, model: nn.Module, inputs: dict, num_items_in_batch: Tensor | None = None) -> Tensor:
        """The loss of one batch, a scalar. Each loss of the objective is back-propagated before the next is requested.

        Args:
            num_items_in_batch: number of texts in the whole step, over all processes.
        """
        model.train()
        if hasattr(self.optimizer, "train"):  # schedule-free optimisers have two modes, as models have
            self.optimizer.train()
        batch = self.batch(inputs)
        texts = len(batch) if num_items_in_batch is None else num_items_in_batch
        # Gradients are averaged over processes, so the part of a process is multiplied by their number.
        part = len(batch) * self.args.world_size / texts
        total = torch.zeros((), device=self.args.device)
        with self.compute_loss_context_manager():
            for loss in self.objective(model, batch):
                self.accelerator.backward(loss * part)
                total += loss.detach() * part
        self.finite.check(total, self)
        self.mean_loss.add(total)
        return total

    @property
    def mean_loss(self) -> MeanLoss:
        """The losses since the last log. A resumed Trainer has replaced the first one."""
        return next(each for each in self.callback_handler.callbacks if isinstance(each, MeanLoss))

    def log(self, logs: dict[str, float], *args, **options) -> None:
        """As the Trainer does, with the mean loss since the last log also where a run was resumed after it."""
        loss = {"loss": self.mean_loss.take(self.accelerator)} if "loss" in logs else {}
        super().log(logs | loss, *args, **options)

    def create_optimizer(self, *args, **options) -> torch.optim.Optimizer:
        """The Trainer's optimiser, with the learning rate of the head."""
        if self.optimizer is None:
            set_rates(super().create_optimizer(*args, **options), self.model, self.head_rate)
        return self.optimizer

    def get_batch_samples(self, epoch_iterator, num_batches: int, device: torch.device) -> tuple[list, Tensor]:
        """The batches of one step, and the number of texts in the step over all processes."""
        samples, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        texts = torch.tensor(sum(len(sample["input_ids"]) for sample in samples), device=device)
        return samples, self.accelerator.gather(texts).sum() if self.args.world_size > 1 else texts

    def compute_loss(self, model: nn.Module, inputs: dict, return_outputs: bool = False, num_items_in_batch=None):
        """The unweighted loss on the unmixed texts, a scalar, and the logits (B, C) if `return_outputs`."""
        batch = self.batch(inputs)
        logits = forward(model, batch)
        loss = loss_for(self.model)(logits, labels_of(batch))
        return (loss, {"logits": logits}) if return_outputs else loss

    def prediction_step(self, model: nn.Module, inputs: dict, prediction_loss_only: bool, ignore_keys=None):
        """The loss, logits (B, C) and labels, (B,) or (B, C), of the plain model: evaluation does not mix."""
        batch = self.batch(inputs)
        with torch.no_grad(), self.compute_loss_context_manager():
            logits = forward(model, batch)
            loss = None if batch.labels is None else loss_for(self.model)(logits, batch.labels)
        return loss, None if prediction_loss_only else logits, batch.labels

    def first_batches(self, rows: int = 256, size: int = 32) -> Iterator[Batch]:
        """Batches of the first training rows, in the order of the data set.

        Args:
            rows: number of rows, at most.
            size: texts in a batch.
        """
        rows = min(rows, len(self.train_dataset))
        for start in range(0, rows, size):
            items = [self.train_dataset[row] for row in range(start, min(start + size, rows))]
            yield self.batch(self.data_collator(items))

    def _save_checkpoint(self, model: nn.Module, trial) -> None:
        self.mean_loss.share(self.accelerator)
        with using_files(self.args.output_dir):
            super()._save_checkpoint(model, trial)

    def _save(self, output_dir: str | None = None, state_dict: dict | None = None) -> None:
        """Writes the weights under the names that the model's modules have.

        By default, transformers writes the names under which they were loaded, such as `LayerNorm.gamma` of the first
        BERTs. When it resumes a run or reloads the best checkpoint, it ignores these names and keeps current weights.
        """
        if not isinstance(self.model, PreTrainedModel):
            return super()._save(output_dir, state_dict)
        self.model.save_pretrained = partial(self.model.save_pretrained, save_original_format=False)
        try:
            return super()._save(output_dir, state_dict)
        finally:
            del self.model.save_pretrained

    def batch(self, inputs: dict) -> Batch:
        """What a data loader gives as a `Batch` on the device of the model."""
        rows = self._prepare_inputs(inputs)
        return Batch(rows["input_ids"], rows["attention_mask"], rows["segment"], rows.get("labels"), rows.get("pair"))

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler | None:
        dataset = self.train_dataset if train_dataset is None else train_dataset
        if not self.group_by_length or not isinstance(dataset, Sized):
            return super()._get_train_sampler(train_dataset)
        sampler = length_grouped(dataset, self.args)
        self.add_callback(EpochOfSampler(sampler))
        return sampler

    def _set_signature_columns_if_needed(self) -> None:
        """The columns that reach the collator: those of a `Batch`, not the arguments of the model's `forward`."""
        self._signature_columns = ["input_ids", "attention_mask", "segment", "pair", "label", "labels"]
