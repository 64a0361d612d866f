"""Explaining by the gradient: in batches of like length, against one text at a time through captum.

Both compute the same: each token's gradient of ln p of the predicted class at the embeddings, tokenising included.
Captum does it as its users do, a text a call; the first 32 texts' scores are compared. Real reviews of `mr`; the
packaged MiniLM with a head. The goal of 10 times captum is for GPUs, which a single text leaves idle. A processor is
busy with a single text already: there the goal is a share of its own rate of products, which bench/limit.py measures.

    python bench/explain.py --data-dir DATA --threads 1 --clock processor
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from captum.attr import LayerGradientXActivation

from development import read
from predict import save_classifier
from salience import EXPLAINERS
from salience.data.encoding import encode_texts
from salience.explainers.explain import explain_tokens
from salience.models.loading import load_trained
from side_by_side import CLOCKS, Comparison, alternate, parser, prepare, save

LONGEST, GOAL, TOLERANCE = 256, 10, 1e-5


def compare(options: Namespace, folder: str, texts: list[str]) -> tuple[Comparison, float]:
    """The seconds of both, and the largest difference of two scores, as a part of the largest score."""
    model, tokenizer = load_trained(folder)
    model.to(options.device).eval()
    parts = [texts[start :: options.repetitions] for start in range(options.repetitions)]

    def scored(**inputs) -> torch.Tensor:
        return model(**inputs).logits.log_softmax(1)

    attribution = LayerGradientXActivation(
        lambda ids, mask: scored(input_ids=ids, attention_mask=mask), model.base_model.embeddings,
        multiply_by_inputs=False,
    )  # fmt: skip

    def ours(own: list[str]) -> list[np.ndarray]:
        return explain_tokens(model, encode_texts(tokenizer, own, max_length=LONGEST), EXPLAINERS["gradient"])

    def captums(own: list[str]) -> list[np.ndarray]:
        found = []
        for text in own:
            inputs = tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt").to(options.device)
            ids, mask = inputs["input_ids"], inputs["attention_mask"]
            with torch.no_grad():
                target = int(scored(input_ids=ids, attention_mask=mask).argmax())
            gradient = attribution.attribute(ids, target=target, additional_forward_args=mask)
            found.append(gradient[0].norm(dim=1).detach().cpu().numpy())
        return found

    pairs = list(zip(ours(texts[:32]), captums(texts[:32]), strict=True))  # both are warm then
    difference = max(np.abs(own - other).max() / np.abs(other).max() for own, other in pairs)
    seconds = alternate(
        {"salience": lambda number: ours(parts[number]), "captum": lambda number: captums(parts[number])},
        options.repetitions, options.clock,
    )  # fmt: skip
    return seconds, float(difference)


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--data-dir", type=Path, required=True, help="folder that holds mr/train.jsonl.gz")
    arguments.add_argument("--texts", type=int, default=1000)
    arguments.add_argument("--repetitions", type=int, default=10, help="equal parts of the texts")
    arguments.add_argument("--clock", choices=CLOCKS, default="wall")
    options = arguments.parse_args()
    machine = prepare(options)
    rows = read(options.data_dir / "mr" / "train.jsonl.gz")
    chosen = np.random.default_rng(options.seed).permutation(len(rows))[: options.texts]
    texts = [rows[row]["text"] for row in chosen]
    with TemporaryDirectory() as folder:
        save_classifier(folder, texts[:32], options.seed)
        seconds, difference = compare(options, folder, texts)
    seconds.show(f"{len(texts)} reviews, {options.clock} clock")
    goal = f"at least {GOAL}" if options.device == "cuda" else f"none on a CPU (on a GPU at least {GOAL})"
    print(f"goal: captum / salience {goal}; largest relative difference of a score {difference:.1e}")
    save(options, machine, {"explaining": seconds.as_json(), "difference": difference})
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    raise SystemExit(main())
