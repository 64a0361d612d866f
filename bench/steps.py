"""Seconds and peak memory of a training step: every mixing method against plain training and its unguided twin.

A step is what training takes: zero_grad, forward and backward of all losses of the objective, and AdamW. All steps of
a comparison are taken in turn on the same batches by the same weights, packaged MiniLM's; a round's ratio is of the
mean seconds over the batches, and the table gives its median and quartiles over rounds. TMix's is the mean over its
three levels. Peak memory is that of one step on the widest batch, once of all that the step allocates (activations,
gradients), once with the weights and AdamW's averages, which lie there before. Goals that are missed are stated, and
so are steps that cannot be measured, for want of memory, say; the exit code is 0 all the same.

    python bench/steps.py --data-dir DATA --threads 1 --clock processor
    python bench/steps.py --length 128 --batch-size 256 --precision bf16 --compile      random texts

DATA holds mr/train.jsonl.gz and trec/train.jsonl.gz with rows of `text` and `label`. Without it texts are random ids,
half as long as the longest or longer. A BERT of base size with random weights stands in where MiniLM is not installed.
"""

from __future__ import annotations

from argparse import BooleanOptionalAction, Namespace
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, set_seed

from memory import bytes_of, peak_of
from salience import METHODS, Batch, mixed, plain
from salience.data.batching import Collator, LengthGrouped
from salience.data.encoding import encode_texts
from salience.data.reading import stream
from salience.errors import InputError
from salience.hooks.stages import stages
from salience.models.loading import load_classifier
from salience.training.recipe import default_rates
from side_by_side import CLOCKS, Comparison, Spread, alternate, parser, prepare, save

CLASSES = [f"class {number}" for number in range(6)]  # of random texts
FIRST, SEPARATOR, FIRST_WORD = 101, 102, 1000  # ids in BERT's vocabulary
MEMORY_GOAL = 1.15
PEAKS = ("peak of the step", "peak in all")
VERDICTS = {None: "", True: "met", False: "missed"}
LEVELS = (7 / 12, 9 / 12, 12 / 12)  # TMix's


@dataclass(frozen=True)
class Step:
    """A training step: plain without a method; of several methods the mean is measured."""

    label: str
    name: str = "plain"  # in METHODS
    methods: tuple[Callable, ...] = ()
    clean: float = 0.0

    def objectives(self) -> list[Callable]:
        if self is ACCUMULATED:
            return [twice]
        return [mixed(method, self.clean) for method in self.methods] or [plain]


def twice(model: nn.Module, batch: Batch):
    """Two plain losses, as when gradients are accumulated over two batches."""
    for _ in range(2):
        for loss in plain(model, batch):
            yield loss / 2


def step(name: str, clean: float, detail: str = "", **options) -> Step:
    return Step(f"{name}{detail}, clean {clean:g}", name, (METHODS[name](**options),), clean)


PLAIN, ACCUMULATED = Step("plain"), Step("plain, accumulated over two batches")
TMIX = Step("tmix, clean 0.5", "tmix", tuple(METHODS["tmix"](levels=(level,)) for level in LEVELS), 0.5)
WORDMIXUP, EMBEDMIX, DROPMIX_C, DROPMIX_G = (
    step(name, clean) for name, clean in (("wordmixup", 0), ("embedmix", 0.5), ("dropmix-c", 0), ("dropmix-g", 0))
)
FIRST_HEAD = step("attentionmix", 0, " by head 0 of the first layer", layer=0, head=0)
LAST_LAYER = step("attentionmix", 0, " by the last layer", layer=-1, head=None)

# Every step with those that are compared with it, and how many times its seconds they may take.
COMPARISONS: list[tuple[Step, dict[Step, float | None]]] = [
    (EMBEDMIX, {step("ssmix", 0.5): 1.05}),
    (WORDMIXUP, {FIRST_HEAD: 1.05, LAST_LAYER: 1.35}),
    (PLAIN, {DROPMIX_C: 1.70, DROPMIX_G: 1.70, TMIX: 1.35}),
    (DROPMIX_C, {DROPMIX_G: 1.05}),
    (PLAIN, {ACCUMULATED: None}),
    (PLAIN, {step(name, 0.5): None for name in METHODS if name != "tmix"}),
]


class Bench:
    """One model, its optimizer and some batches, with which all steps are taken."""

    def __init__(self, model: nn.Module, batches: list[Batch], options: Namespace):
        self.batches, self.options = batches, options
        self.model = model.to(options.device).train()
        rate = default_rates(model.config.hidden_size)[0]
        self.optimizer = torch.optim.AdamW(model.parameters(), rate, fused=True)
        if options.compile is not None:
            self.model = compiled(model, options.compile)

    def taking(self, objective: Callable) -> Callable[[int], None]:
        """A function of a number that takes one step on that batch."""

        def take(number: int) -> None:
            batch = self.batches[number % len(self.batches)]
            self.optimizer.zero_grad()
            with self.precision():
                for loss in objective(self.model, batch):
                    loss.backward()
            if self.options.optimizer:
                self.optimizer.step()

        return take

    def precision(self):
        if self.options.precision == "fp32":
            return nullcontext()
        return torch.autocast(torch.device(self.options.device).type, torch.bfloat16)

    def fault(self, chosen: Step) -> str | None:
        """Warms the step up on all batches; why it cannot be measured, if so."""
        try:
            for objective in chosen.objectives():
                for number in range(max(len(self.batches), 2)):
                    self.taking(objective)(number)
        except Exception as error:  # out of memory, or the compiler's: the other steps are measured all the same
            return " ".join(f"{type(error).__name__}: {error}".split())[:300]
        finally:
            self.optimizer.zero_grad()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        return None

    def seconds(self, chosen: list[Step]) -> Comparison:
        """Seconds of a step, the mean over the batches, round by round."""
        contestants = {
            f"{own.label} {turn}": self.taking(objective)
            for own in chosen
            for turn, objective in enumerate(own.objectives())
        }
        count = len(self.batches)
        alternate(contestants, 2)  # warm: compiled graphs too, of which a step may take up another's
        timed = alternate(contestants, self.options.repetitions * count, self.options.clock).in_blocks(count).seconds
        turns = {own: [timed[f"{own.label} {turn}"] for turn in range(len(own.objectives()))] for own in chosen}
        return Comparison(
            {own.label: [fmean(each) for each in zip(*parts, strict=True)] for own, parts in turns.items()}
        )

    def memory(self, chosen: Step) -> dict[str, int]:
        """Bytes at the peak of a step on the widest batch; of a step with several methods the highest peak's."""
        widest = max(range(len(self.batches)), key=lambda number: self.batches[number].input_ids.numel())
        own = 0
        for objective in chosen.objectives():
            self.optimizer.zero_grad()
            own = max(own, peak_of(lambda objective=objective: self.taking(objective)(widest), self.options.device))
        self.optimizer.zero_grad()
        averages = [value for state in self.optimizer.state.values() for value in state.values() if value.numel() > 1]
        before = bytes_of([*self.model.parameters(), *self.model.buffers(), *averages])
        return dict(zip(PEAKS, (own, own + before), strict=True))


def compiled(model: nn.Module, what: str) -> nn.Module:
    """The model compiled layer by layer in place, or as a whole.

    Texts meet between layers, so compiled layers are the same for all methods. A whole model is compiled anew for
    every level at which texts meet, and they meet by hooks: without guards on these the graph of plain training would
    be used for all of them, and nothing would be mixed. Word rows cannot be mixed there at all.
    """
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 256
    if what == "model":
        torch._dynamo.config.skip_nnmodule_hook_guards = False
        return torch.compile(model)
    for layer in {module for level, module in stages(model).items() if isinstance(level, int)}:
        layer.forward = torch.compile(layer.forward)
    return model


# ------------------------------------------------------------------------------------------------- models and batches


def load_bench(name: str | None, options: Namespace) -> Bench:
    """The bench for a data set; for random texts without a name."""
    rows = [] if name is None else list(stream(options.data_dir / name / "train.jsonl.gz"))
    names = CLASSES if name is None else sorted({row["label"] for row in rows})
    set_seed(options.seed)  # of the head
    model, tokenizer = load_model(options.model, names)
    if name is None:
        return Bench(model, random_batches(model.config.vocab_size, options), options)
    labels = [names.index(row["label"]) for row in rows]
    encoded = encode_texts(tokenizer, [row["text"] for row in rows], labels=labels, max_length=options.length or 256)
    order = np.array(list(LengthGrouped(encoded.lengths, options.batch_size, options.seed)))
    collate = Collator.of(tokenizer)
    chosen = order.reshape(-1, options.batch_size)[: options.batches]
    collated = [Batch(**collate([encoded[row] for row in rows])) for rows in chosen]
    return Bench(model, [widened(batch, options.length).to(options.device) for batch in collated], options)


def load_model(name: str, names: list[str]):
    """The model and its tokenizer; for a base-size BERT with random weights there is none."""
    if name == "minilm":
        try:
            return load_classifier("minilm", names)
        except InputError as error:
            print(f"{error}; measured is a BERT of base size with random weights")
    return BertForSequenceClassification(BertConfig(num_labels=len(names))), None


def random_batches(vocabulary: int, options: Namespace) -> list[Batch]:
    """Random words in texts of half the length to all of it; one text of every batch has all of it."""
    random = torch.Generator().manual_seed(options.seed)
    size, longest = options.batch_size, options.length or 32

    def batch() -> Batch:
        lengths = torch.randint(max(longest // 2, 3), longest + 1, (size, 1), generator=random)
        lengths[0] = longest
        place = torch.arange(longest)
        ids = torch.randint(FIRST_WORD, vocabulary, (size, longest), generator=random)
        real, last = place < lengths, place == lengths - 1
        ids = ids.masked_fill(place == 0, FIRST).masked_fill(last, SEPARATOR).masked_fill(~real, 0)
        words = real & ~last & (place > 0)
        return Batch(ids, real.long(), words.long(), torch.randint(len(CLASSES), (size,), generator=random))

    return [batch().to(options.device) for _ in range(options.batches)]


def widened(batch: Batch, length: int | None) -> Batch:
    """The batch with padding up to `length` tokens."""
    if length is None:
        return batch
    wider = partial(F.pad, pad=(0, length - batch.input_ids.shape[1]))  # 0 is BERT's [PAD] too
    types = None if batch.token_type_ids is None else wider(batch.token_type_ids)
    return Batch(wider(batch.input_ids), wider(batch.attention_mask), wider(batch.segment), batch.labels, types)


# ------------------------------------------------------------------------------------------------------------- results


def measure(bench: Bench, found: dict, keep: Callable[[], None]) -> None:
    """Fills `found` and prints it as a table, comparison by comparison; `keep` saves what there is."""
    found |= {"seconds": [], "memory": [], "errors": {}, "comparisons": []}
    print("| step | against | ratio (median, quartiles) | goal | met |\n|---|---|---|---|---|")
    sound: dict[str, Step] = {}
    for base, others in wanted(bench.options.methods):
        for own in (base, *others):
            if own.label not in sound and own.label not in found["errors"]:
                fault = bench.fault(own)
                if fault is None:
                    sound[own.label] = own
                else:
                    found["errors"][own.label] = fault
                    print(f"| {own.label} | | not measured: {fault} | | |")
        others = {own: goal for own, goal in others.items() if own.label in sound}
        if base.label in sound and others:
            compared = bench.seconds([base, *others])
            found["comparisons"].append(compared.as_json())
            for own, goal in others.items():
                ratio = compared.ratios()[own.label]["paired"]
                found["seconds"].append(seconds_row(own.label, base.label, ratio, goal))
        keep()
    if bench.options.memory and PLAIN.label in sound:
        print(
            "\n| step | against | peak of the step | met | peak in all | met | goal |\n|---|---|---|---|---|---|---|"
        )
        reference = bench.memory(PLAIN)
        for own in sorted(sound.values(), key=lambda own: own is not PLAIN):
            found["memory"].append(memory_row(own.label, bench.memory(own), reference))
        keep()
    missed = [f"{line['step']} against {line['against']}" for line in found["seconds"] if line["met"] is False]
    missed += [f"{kind} of {line['step']}" for line in found["memory"] for kind in PEAKS if not line[kind]["met"]]
    print("goals missed: " + ("; ".join(missed) or "none"))


def seconds_row(measured: str, against: str, ratio: Spread, goal: float | None) -> dict:
    """A line of the table, printed."""
    met = None if goal is None else ratio.median <= goal
    low, high = ratio.quartiles
    print(
        f"| {measured} | {against} | {ratio.median:.3f} ({low:.3f} .. {high:.3f}) | {goal or ''} | {VERDICTS[met]} |"
    )
    own = {"ratio": ratio.median, "quartiles": ratio.quartiles, "goal": goal, "met": met}
    return {"step": measured, "against": against} | own


def memory_row(measured: str, peaks: dict[str, int], reference: dict[str, int]) -> dict:
    """A line of the other table, printed."""
    line: dict = {"step": measured, "against": PLAIN.label, "goal": MEMORY_GOAL}
    cells = ""
    for kind, size in peaks.items():
        ratio = size / reference[kind]
        line[kind] = {"bytes": size, "ratio": ratio, "met": ratio <= MEMORY_GOAL}
        cells += f" {size / 2**20:.1f} MiB, {ratio:.3f} | {VERDICTS[line[kind]['met']]} |"
    print(f"| {measured} | {PLAIN.label} |{cells} {MEMORY_GOAL} |", flush=True)
    return line


def wanted(methods: list[str]) -> list[tuple[Step, dict[Step, float | None]]]:
    """The comparisons of the steps of these methods."""
    chosen = [
        (base, {own: goal for own, goal in others.items() if own.name in {"plain", *methods}})
        for base, others in COMPARISONS
    ]
    return [(base, others) for base, others in chosen if others]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data-dir", type=Path, help="folder that holds trec/ and mr/; random texts without it")
    arguments.add_argument("--data", nargs="+", default=["trec", "mr"])
    arguments.add_argument("--model", choices=["minilm", "base"], default="minilm", help="base: BERT's size, random")
    arguments.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    arguments.add_argument("--repetitions", type=int, default=7, help="rounds over all batches")
    arguments.add_argument("--batches", type=int, default=2)
    arguments.add_argument("--batch-size", type=int, default=32)
    arguments.add_argument("--length", type=int, help="tokens to which all texts are cut and padded")
    arguments.add_argument("--precision", choices=["fp32", "bf16"], default="fp32", help="bf16: autocast")
    arguments.add_argument("--compile", choices=["layers", "model"], nargs="?", const="layers")
    arguments.add_argument("--optimizer", action=BooleanOptionalAction, default=True, help="let AdamW take its step")
    arguments.add_argument("--memory", action=BooleanOptionalAction, default=True)
    arguments.add_argument("--clock", choices=CLOCKS, default="wall")
    options = arguments.parse_args()
    machine = prepare(options)
    results: dict[str, dict] = {}

    def keep() -> None:
        save(options, machine, {"steps": results})

    for name in options.data if options.data_dir else (None,):
        bench = load_bench(name, options)
        results[name or "random"] = found = {}
        shapes = ", ".join("x".join(map(str, batch.input_ids.shape)) for batch in bench.batches)
        print(f"\n{name or 'random texts'}: {options.repetitions} rounds over batches of {shapes}")
        measure(bench, found, keep)


if __name__ == "__main__":
    main()
