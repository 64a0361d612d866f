"""Attention on a processor where a gradient is needed: as salience computes it, and fused by torch.

    python bench/attention_in_training.py --threads 1 --clock processor
    python bench/attention_in_training.py --threads 1 --clock processor --precision fp32 --shapes 8x512 16x256

MiniLM with batches of made-up tokens, in fp32 and in bf16 both ways, alternately: a training step with AdamW, its peak
memory beside the weights and AdamW's averages, and the gradient at the embeddings.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import torch
from transformers import PreTrainedModel

from memory import peak_of
from salience.hooks.attention import differentiating
from salience.models.loading import load_classifier
from salience.processes import keep_freed_memory
from side_by_side import CLOCKS, alternate, parser, prepare, save

SHAPES = ("32x32", "32x64", "16x200", "8x512")  # texts, tokens
PRECISIONS = ("bf16", "fp32")


def way(model: PreTrainedModel, half: bool, ours: bool) -> ExitStack:
    stack = ExitStack()
    stack.enter_context(torch.autocast("cpu", torch.bfloat16, enabled=half))
    if ours:
        stack.enter_context(differentiating(model))
    return stack


def train(model: PreTrainedModel, optimizer: torch.optim.Optimizer, batch: dict, way: Callable, _: int = 0) -> None:
    with way(model.train()):
        loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def explain(model: PreTrainedModel, batch: dict, way: Callable, _: int = 0) -> None:
    others = {name: value for name, value in batch.items() if name != "input_ids"}
    embedded = model.eval().get_input_embeddings()(batch["input_ids"]).detach().requires_grad_()
    with way(model):
        loss = model(inputs_embeds=embedded, **others).loss
    torch.autograd.grad(loss, embedded)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--repetitions", type=int, default=7)
    arguments.add_argument("--clock", choices=CLOCKS, default="processor")
    arguments.add_argument("--precision", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    arguments.add_argument("--shapes", nargs="+", default=SHAPES, metavar="TEXTSxTOKENS")
    options = arguments.parse_args()
    machine, found = prepare(options), {}
    keep_freed_memory()
    model = load_classifier("minilm", ["a", "b"])[0]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    ways = {
        f"{precision}, {name}": partial(way, half=precision == "bf16", ours=ours)
        for precision in options.precision
        for name, ours in (("fused", False), ("as computed", True))
    }
    for shape in options.shapes:
        texts, tokens = map(int, shape.split("x"))
        mask = torch.ones(texts, tokens, dtype=torch.long)
        mask[: texts // 2, -3:] = 0
        ids, labels = torch.randint(1000, 20000, (texts, tokens)), torch.randint(0, 2, (texts,))
        batch = {"input_ids": ids, "attention_mask": mask, "labels": labels}
        peaks = {name: peak_of(partial(train, model, optimizer, batch, each)) for name, each in ways.items()}
        print("peak: " + ", ".join(f"{name} {peak / 2**20:,.0f} MiB" for name, peak in peaks.items()), flush=True)
        found[f"peak, {shape}"] = peaks
        actions: dict[str, Callable] = {"training step": partial(train, model, optimizer)}
        if "bf16" in options.precision:  # in fp32 without dropout, both ways are the same
            actions["gradient"] = partial(explain, model)
        for what, action in actions.items():
            contestants = {name: partial(action, batch, each) for name, each in ways.items()}
            alternate(contestants, 1)  # warm
            seconds = alternate(contestants, options.repetitions, options.clock)
            seconds.show(f"{what}, {texts} x {tokens} tokens")
            found[f"{what}, {shape}"] = seconds.as_json()
    save(options, machine, found)


if __name__ == "__main__":
    main()
