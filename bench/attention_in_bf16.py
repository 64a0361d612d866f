"""Attention in bf16 on a processor: as salience computes it where a gradient is needed, and fused by torch.

    python bench/attention_in_bf16.py --threads 1 --clock processor

MiniLM with batches of made-up tokens: a training step with AdamW, and the gradient at the embeddings, in fp32 and in
bf16 both ways, alternately.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import torch
from transformers import PreTrainedModel

from salience.models.loading import load_classifier
from salience.models.precision import computing
from salience.processes import keep_freed_memory
from side_by_side import CLOCKS, alternate, parser, prepare, save

SHAPES = [(32, 32), (32, 64), (16, 200)]  # texts, tokens
WAYS: dict[str, Callable[[PreTrainedModel], AbstractContextManager]] = {
    "bf16, as computed": partial(computing, precision="bf16"),
    "bf16, fused": lambda model: torch.autocast("cpu", torch.bfloat16),
    "fp32": partial(computing, precision="fp32"),
}


def train(model: PreTrainedModel, optimizer: torch.optim.Optimizer, batch: dict, way: Callable, _: int) -> None:
    with way(model.train()):
        loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def explain(model: PreTrainedModel, batch: dict, way: Callable, _: int) -> None:
    others = {name: value for name, value in batch.items() if name != "input_ids"}
    embedded = model.eval().get_input_embeddings()(batch["input_ids"]).detach().requires_grad_()
    with way(model):
        loss = model(inputs_embeds=embedded, **others).loss
    torch.autograd.grad(loss, embedded)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--repetitions", type=int, default=7)
    arguments.add_argument("--clock", choices=CLOCKS, default="processor")
    options = arguments.parse_args()
    machine, found = prepare(options), {}
    keep_freed_memory()
    model = load_classifier("minilm", ["a", "b"])[0]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    for texts, tokens in SHAPES:
        mask = torch.ones(texts, tokens, dtype=torch.long)
        mask[: texts // 2, -3:] = 0
        ids, labels = torch.randint(1000, 20000, (texts, tokens)), torch.randint(0, 2, (texts,))
        batch = {"input_ids": ids, "attention_mask": mask, "labels": labels}
        for what, action in (
            ("training step", partial(train, model, optimizer)),
            ("gradient", partial(explain, model)),
        ):
            contestants = {name: partial(action, batch, way) for name, way in WAYS.items()}
            alternate(contestants, 1)  # warm
            seconds = alternate(contestants, options.repetitions, options.clock)
            seconds.show(f"{what}, {texts} x {tokens} tokens")
            found[f"{what}, {texts} x {tokens}"] = seconds.as_json()
    save(options, machine, found)


if __name__ == "__main__":
    main()
