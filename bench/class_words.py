"""How few passes of integrated gradients find the words of classes that many passes find; by set, and seconds.

    python bench/class_words.py --data-dir ../shared/data [--sets sst2,trec] [--seeds 2] > class_words.jsonl

A model is trained on 100 rows of a development set, and 200 test rows are explained by each explainer. "as_32" is the
share of the words that 32 points list for a class that an explainer lists for it, the mean over classes;
"as_occlusion" is the same of the words that occlusion lists, which reads no gradient.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from development import development_set
from salience.explainers import Occlusion, gradient_x_input
from salience.explainers.class_words import words_by_class
from salience.explainers.explain import explain_texts
from salience.explainers.integrated import IntegratedGradients
from salience.report.run_page import EXPLAINED, WORDS, spread_rows
from salience.training.prepare import silent
from salience.training.recipe import Recipe
from salience.training.run import train

POINTS = (1, 2, 4, 8, 32)
EXPLAINERS = {f"integrated-gradients:{points}": IntegratedGradients(points) for points in POINTS}
EXPLAINERS |= {"gradient-x-input": gradient_x_input, "occlusion": Occlusion()}


def words_of(classifier, texts, explainer) -> tuple[dict[int, set[str]], float]:
    """The words of each predicted class, and seconds of processor time."""
    begun = time.process_time()
    explained = list(explain_texts(classifier, texts, {"own": explainer}))
    seconds = time.process_time() - begun
    table = words_by_class((each for each in explained if each.is_predicted), "own", WORDS)
    return {target: {word.word for word in words} for target, words in table.items()}, seconds


def shared(own: dict[int, set[str]], other: dict[int, set[str]]) -> float:
    """The share of the other's words that are among the own ones, the mean over the classes that have some."""
    return float(
        np.mean([len(own.get(target, set()) & words) / len(words) for target, words in other.items() if words])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", default="sst2,mr,subj,trec,ag_news,banking20")
    parser.add_argument("--seeds", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in chosen.sets.split(","):
            files = development_set(name, chosen.data_dir, place)
            for seed in range(chosen.seeds):
                recipe = Recipe(**files, size=100, seed=seed, steps_factor=0.25, learning_rate=2e-4, trained_layers=3,
                                device="cpu", estimate="none", effort="best", head_end="trained")  # fmt: skip
                run = train(recipe, place / f"{name}-{seed}", note=silent)
                rows = spread_rows(run.predictions.decisions, EXPLAINED)
                texts = run.task.test.take(rows)
                found = {each: words_of(run.classifier, texts, explainer) for each, explainer in EXPLAINERS.items()}
                for each, (words, seconds) in found.items():
                    line = {
                        "set": name, "seed": seed, "explainer": each, "seconds": round(seconds, 2),
                        "as_32": shared(words, found["integrated-gradients:32"][0]),
                        "as_occlusion": shared(words, found["occlusion"][0]),
                    }  # fmt: skip
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
