"""`MixTrainer`: the Hugging Face Trainer with an objective that consists of several losses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import Dataset, Sampler
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import TrainOutput

from salience.batch import Batch
from salience.classify.kept_states import KeptStates
from salience.data.batching import Collator, LengthGrouped, of_equal_length
from salience.data.encoding import Encoded
from salience.errors import InputError
from salience.hooks.attention import differentiating
from salience.hooks.dropout import by_few_bits
from salience.hooks.hooks import differ, evaluating, forward
from salience.hooks.packing import can_pack, packing
from salience.hooks.stages import encoder_of, stages, unwrapped
from salience.jobs import watcher
from salience.mixing import Method
from salience.mixing.forwarding import try_levels
from salience.mixing.method import lowest_level, resolved
from salience.models.mean_pooling import NARROW, head, is_narrow
from salience.training.callbacks import using_files
from salience.training.head import parts_below
from salience.training.objective import Contrastive, Objective, Unmixed, labels_of, loss_for, mixed, penalised, plain
from salience.training.used_words import UsedWords

COLUMNS = ["input_ids", "attention_mask", "segment", "token_type_ids", "label", "labels"]  # of rows that are collated
OVERFLOWS = 20  # largest number of consecutive steps that fp16 may skip


def set_rates(optimizer: Optimizer, model: nn.Module, head_rate: float = 1.0) -> None:
    """Puts weights whose learning rate differs from the optimiser's into groups of their own."""
    if head_rate == 1 and not is_narrow(model):
        return
    factors = rate_factors(model, head_rate)
    for group in list(optimizer.param_groups):
        by_factors: defaultdict[tuple[float, float], list[nn.Parameter]] = defaultdict(list)
        for weight in group["params"]:
            by_factors[factors[id(weight)]].append(weight)
        settings: dict[str, Any] = {name: value for name, value in group.items() if name != "params"}
        group["params"] = by_factors.pop((1.0, 1.0), [])
        for (rate, decay), weights in by_factors.items():
            own = settings | {"lr": group["lr"] * rate, "weight_decay": group["weight_decay"] * decay}
            optimizer.add_param_group({"params": weights, **own})


def rate_factors(model: nn.Module, head_rate: float) -> dict[int, tuple[float, float]]:
    """For each weight, by its id: the factors of its learning rate and of its weight decay."""
    model = unwrapped(model)
    factors = dict.fromkeys(map(id, model.parameters()), (head_rate, 1.0))
    below = [module for level, module in stages(model).items() if level != "sentence"]
    for module in (*parts_below(model), *below):
        factors |= dict.fromkeys(map(id, module.parameters()), (1.0, 1.0))
    if is_narrow(model):
        _, linear = head(model)
        factors[id(linear.weight)] = (head_rate / NARROW, NARROW)
    return factors


class EpochOfSampler(TrainerCallback):
    """Sets the epoch of a sampler, which not every version of accelerate does with several processes."""

    def __init__(self, sampler: LengthGrouped):
        self.sampler = sampler

    def on_epoch_begin(self, args, state, control, **_):
        self.sampler.set_epoch(int(state.epoch))


class MeanLoss(TrainerCallback, ExportableState):
    """The mean of the losses of the steps since it was last taken.

    The Trainer forgets these losses when a run is resumed, and would then log another mean than that of an undisturbed
    run. Here they are in the state that each checkpoint has.
    """

    def __init__(self, sum: Tensor | float = 0.0, steps: int = 0):
        self.sum, self.steps = sum, steps

    def add(self, loss: Tensor) -> None:
        """Adds the loss of a step, or of a part of it, a scalar. It counts as 0 if fp16 has to skip the step."""
        self.sum = self.sum + loss.nan_to_num(0.0, 0.0, 0.0)

    def on_step_end(self, args, state, control, **_):
        self.steps += 1

    def take(self, accelerator: Accelerator) -> float:
        """The mean over the steps and processes. The next one begins after the current step."""
        self.share(accelerator)
        mean = float(self.sum) / max(self.steps, 1)
        self.sum, self.steps = 0.0, 0
        return mean

    def share(self, accelerator: Accelerator) -> None:
        # A checkpoint has the state of the main process alone.
        if accelerator.num_processes > 1:
            own = torch.as_tensor(self.sum, device=accelerator.device)
            self.sum = accelerator.gather(own[None]).mean()

    def state(self) -> dict[str, Any]:
        # Written with a checkpoint, and given to a new object when the run is resumed.
        return {"args": {"sum": float(self.sum), "steps": self.steps}, "attributes": {}}


def diverged(trainer: Trainer, what: str) -> InputError:
    # `global_step` counts finished steps; after the last one there is no next one.
    step = min(trainer.state.global_step + 1, trainer.state.max_steps)
    precision = "" if not (trainer.args.bf16 or trainer.args.fp16) else ", or use --precision fp32"
    return InputError(
        f"the {what} is not finite at step {step} of {trainer.state.max_steps}: lower --learning-rate, which is "
        f"{trainer.args.learning_rate:.2g}{precision}"
    )


class TellProgress(TrainerCallback):
    """Tells step, number of steps and the last logged loss after every step, if `salience.jobs` is used."""

    def __init__(self) -> None:
        self.loss: float | None = None

    def on_log(self, args, state, control, logs, **_):
        self.loss = logs.get("loss", self.loss)

    def on_step_end(self, args, state, control, **_):
        if (progress := watcher()) is not None:
            progress(state.global_step, state.max_steps, self.loss)


class MixTrainer(Trainer):
    """Trains a sequence classifier with a mixing method. `method=None` is fine-tuning without mixing.

    Args:
        model: any encoder that `AutoModelForSequenceClassification` loads; on its loss see `loss_for`.
        method: a mixing method such as `SSMix()`. Settings that it leaves open, as in `AttentionMix(head="auto")`,
            are chosen on the first training rows; `trainer.method` is the resulting method.
        clean: weight of the loss on the unmixed texts, at least 0 and below 1; 0 trains on mixtures only.
        args: as for the Trainer. `label_smoothing_factor` is applied to hard and mixed labels alike.
        class_weights: one weight a class or label (C,), as of the loss.
        penalty: maps the model to a scalar that is added to the loss of every step.
        group_by_length: whether batches consist of texts of similar length; all batches are full then.
        head_rate: learning rate of the head, as a multiple of that of the encoder.
        unmixed: what training without a method minimises, such as `Contrastive(0.3, 0.1)`.
        kept: states below the trained layers, at which every pass begins.
        **options: further arguments of the Trainer. `encode_texts` makes data sets with `input_ids` and `labels`.

    Texts are mixed within a batch on one device. The loss of a step is the mean over all its texts, however they are
    divided into smaller batches or over processes. This is not true of the Trainer of transformers for classifiers
    (transformers issue 47688).

    Raises:
        InputError: the model does not mix at a level of the method.
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
        kept: KeptStates | None = None,
        **options,
    ):
        tokenizer = options.get("processing_class")
        self.collator = Collator.of(tokenizer) if tokenizer is not None else Collator()
        if options.get("data_collator") is None:
            options["data_collator"] = self.collator
        super().__init__(model=model, args=args, **options)
        self.add_callback(TellProgress())
        self.add_callback(MeanLoss())
        if self.args.n_gpu > 1:
            raise ValueError(
                "DataParallel would separate texts from their partners: launch with torchrun, or set "
                "CUDA_VISIBLE_DEVICES to one GPU"
            )
        trial = self.two_texts()
        if trial is not None:
            self.try_padding(trial)
        if self.args.world_size > 1 and getattr(unwrapped(self.model).config, "reads_padding", False):
            raise InputError(
                f"{type(unwrapped(self.model)).__name__} reads padding, so that texts of each length are computed by "
                "themselves, which several processes cannot do in step: train it in one process"
            )
        self.model_accepts_loss_kwargs = False  # otherwise older Trainers would scale the loss in another way
        self.label_smoother = None  # it takes hard labels only; `CrossEntropy` smooths hard and mixed labels
        self.method = method = resolved(method, self.model, tokenizer, self.first_batches())
        if method is not None and trial is not None:
            try_levels(method, self.model, trial)
        weights = None if class_weights is None else tuple(class_weights)
        self.loss = loss_for(self.model, weights, self.args.label_smoothing_factor)
        if method is None:
            self.objective: Objective = partial(unmixed, loss=self.loss)
        else:
            self.objective = mixed(
                method, clean, self.loss, beside=unmixed if isinstance(unmixed, Contrastive) else None
            )
        if penalty is not None:
            self.objective = penalised(self.objective, penalty)
        self.group_by_length, self.kept = group_by_length, kept
        self.used_words: UsedWords | None = None
        self.head_rate = head_rate
        # With fp16, single steps overflow, and the gradient scaler skips them.
        self.admitted = OVERFLOWS * self.args.gradient_accumulation_steps if self.args.fp16 else 0
        self.not_finite = 0  # consecutive losses so far

    def train(self, *args, **options) -> TrainOutput:
        """Trains the model, as the Trainer does. After it, the model computes in fp32 again unless told otherwise."""
        try:
            with differentiating(self.model), self.economical():
                return super().train(*args, **options)
        finally:
            if self.used_words is not None:
                self.used_words.end()
            # accelerate replaces `forward` by one that always computes in the precision of the training, once for each
            # model: the next training would be in fp32.
            self.accelerator.unwrap_model(self.model, keep_fp32_wrapper=False)
            self.model.__dict__.pop("_is_accelerate_prepared", None)

    def training_step(self, model: nn.Module, inputs: dict, num_items_in_batch: Tensor | None = None) -> Tensor:
        """The loss of one batch, a scalar. Each loss of the objective is back-propagated before the next is requested.

        `num_items_in_batch` is the number of texts in the whole step, over all processes.
        """
        model.train()
        if hasattr(self.optimizer, "train"):  # schedule-free optimisers have two modes, as models have
            self.optimizer.train()
        batch = self.batch(inputs)
        texts = len(batch) if num_items_in_batch is None else num_items_in_batch
        total = torch.zeros((), device=self.args.device)
        for _, some in self.without_company(batch):
            # Gradients are averaged over processes, so the part of a process is multiplied by their number.
            part = len(some) * self.args.world_size / texts
            with self.compute_loss_context_manager(), self.beginning(model, some):
                for loss in self.objective(model, some):
                    self.accelerator.backward(loss * part)
                    total += loss.detach() * part
        self.not_finite = 0 if total.isfinite() else self.not_finite + 1
        if self.not_finite > self.admitted:  # before the weights are updated
            raise diverged(self, "loss")
        self.mean_loss.add(total)
        return total

    def is_plain(self) -> bool:
        """Whether steps can do without padding and unused words: no method reads below the text's vector."""
        return not self.args.torch_compile and lowest_level(self.method, self.model) is None and can_pack(self.model)

    @contextmanager
    def economical(self) -> Iterator[None]:
        """Inside the `with`, dropout draws few bits, and layers compute no padding where that saves time."""
        with by_few_bits(self.model), packing(self.model) if self.is_plain() else nullcontext():
            yield

    @property
    def mean_loss(self) -> MeanLoss:
        """The losses since the last log. A resumed Trainer has replaced the first one."""
        return next(each for each in self.callback_handler.callbacks if isinstance(each, MeanLoss))

    def log(self, logs: dict[str, float], *args, **options) -> None:
        loss = {"loss": self.mean_loss.take(self.accelerator)} if "loss" in logs else {}
        super().log(logs | loss, *args, **options)

    def create_optimizer(self, *args, **options) -> torch.optim.Optimizer:
        if self.optimizer is None:
            self.train_used_words()
            set_rates(super().create_optimizer(*args, **options), self.model, self.head_rate)
        return self.optimizer

    def train_used_words(self) -> None:
        """Has the optimizer train the word rows of training texts alone, where that saves time."""
        texts, collate = self.train_dataset, self.data_collator
        if not (self.is_plain() and isinstance(texts, Encoded) and isinstance(collate, Collator)):
            return
        found = UsedWords(encoder_of(self.model).get_input_embeddings(), texts, collate.padding)
        if found.pays:
            self.used_words = found
            self.callback_handler.callbacks.insert(0, found)  # others read the table
            found.begin()

    def get_batch_samples(self, epoch_iterator, num_batches: int, device: torch.device) -> tuple[list, Tensor]:
        """The batches of one step, and the number of texts in the step over all processes."""
        samples, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        texts = torch.tensor(sum(len(sample["input_ids"]) for sample in samples), device=device)
        return samples, self.accelerator.gather(texts).sum() if self.args.world_size > 1 else texts

    def compute_loss(self, model: nn.Module, inputs: dict, return_outputs: bool = False, num_items_in_batch=None):
        """The unweighted loss on the unmixed texts, a scalar, and the logits (B, C) if `return_outputs`."""
        batch = self.batch(inputs)
        logits = self.logits(model, batch)
        loss = loss_for(self.model)(logits, labels_of(batch))
        return (loss, {"logits": logits}) if return_outputs else loss

    def prediction_step(self, model: nn.Module, inputs: dict, prediction_loss_only: bool, ignore_keys=None):
        """The loss, logits (B, C) and labels, (B,) or (B, C), of the plain model: evaluation does not mix."""
        batch = self.batch(inputs)
        with torch.no_grad(), self.compute_loss_context_manager():
            logits = self.logits(model, batch)
            loss = None if batch.labels is None else loss_for(self.model)(logits, batch.labels)
        return loss, None if prediction_loss_only else logits, batch.labels

    def without_company(self, batch: Batch) -> Iterable[tuple[Tensor, Batch]]:
        """The batch with the numbers of its rows; in parts of texts of equal lengths if the model reads padding."""
        if getattr(unwrapped(self.model).config, "reads_padding", False):
            return of_equal_length(batch)
        return [(torch.arange(len(batch), device=batch.input_ids.device), batch)]

    def logits(self, model: nn.Module, batch: Batch) -> Tensor:
        """The logits (B, C) of a batch, from its kept states if there are any."""
        found = []
        for rows, some in self.without_company(batch):
            with self.beginning(model, some):
                found.append((rows, forward(model, some)))
        order = torch.cat([rows for rows, _ in found]).argsort()
        return torch.cat([logits for _, logits in found])[order]

    def beginning(self, model: nn.Module, batch: Batch) -> AbstractContextManager[None]:
        """Inside the `with`, passes of a batch begin at its kept states, if there are any."""
        return nullcontext() if self.kept is None else self.kept.beginning(model, batch)

    def two_texts(self) -> Batch | None:
        """The shortest and the longest of the first training rows, by which the model is tried.

        None where there are no rows of a known number, or where parts of the model are on several devices.
        """
        texts = self.train_dataset
        if not (self.place_model_on_device and hasattr(texts, "__len__") and len(texts)):
            return None
        with torch.random.fork_rng(devices=[]):
            rows = sorted((texts[row] for row in range(min(8, len(texts)))), key=lambda row: len(row["input_ids"]))
            return self.batch(self.data_collator([rows[0], rows[-1]]))

    @torch.no_grad()
    def try_padding(self, batch: Batch) -> None:
        """Notes a model that reads padding, which a model that this library has not loaded does not say of itself."""
        model = unwrapped(self.model)
        if hasattr(model.config, "reads_padding") or batch.attention_mask.all():
            return
        with evaluating(model):
            rows, alone = zip(*((rows, forward(model, some)) for rows, some in of_equal_length(batch)), strict=True)
            if differ(forward(model, batch)[torch.cat(rows)], torch.cat(alone)):
                model.config.reads_padding = True

    def first_batches(self, rows: int = 256, size: int = 32) -> Iterator[Batch]:
        """Batches of the first training rows, in the order of the data set."""
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

        By default, transformers writes those under which they were loaded, such as `LayerNorm.gamma` of the first
        BERTs, and ignores them when it resumes a run.
        """
        if not isinstance(self.model, PreTrainedModel):
            return super()._save(output_dir, state_dict)
        self.model.save_pretrained = partial(PreTrainedModel.save_pretrained, self.model, save_original_format=False)
        try:
            return super()._save(output_dir, state_dict)
        finally:
            del self.model.save_pretrained

    def batch(self, inputs: Mapping) -> Batch:
        if "segment" not in inputs:  # as a collator of transformers makes it
            named = {name: values for name, values in inputs.items() if name in COLUMNS}
            inputs = self.collator([dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)])
        rows = self._prepare_inputs(inputs)
        return Batch(
            rows["input_ids"], rows["attention_mask"], rows["segment"], rows.get("labels"), rows.get("token_type_ids")
        )

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler | None:
        dataset: Any = self.train_dataset if train_dataset is None else train_dataset
        if not (self.group_by_length and hasattr(dataset, "__len__")):
            return super()._get_train_sampler(train_dataset)
        # Counting the tokens of a large data set takes time, and `Encoded` knows their number.
        lengths = dataset.lengths if isinstance(dataset, Encoded) else [len(row["input_ids"]) for row in dataset]
        rows = self.args.train_batch_size * self.args.gradient_accumulation_steps * self.args.world_size
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        sampler = LengthGrouped(lengths, rows, seed)
        self.add_callback(EpochOfSampler(sampler))
        return sampler

    def _set_signature_columns_if_needed(self) -> None:
        # Those of a `Batch` reach the collator, not the arguments of the model's `forward`.
        self._signature_columns = COLUMNS
