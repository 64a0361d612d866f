"""Sun and Lu (ACL 2020), appendix D to F: how attention and polarity scores form on synthetic texts.

Understanding Attention for Text Classification, doi:10.18653/v1/2020.acl-main.312. As in the authors' notebook: dot
attention over embeddings with scale 10, plain gradient descent with learning rate 0.015, batches of 200, 500 epochs,
dropout 0.5, W from U(-1, 1) and V from N(0, 1).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from transformers import set_seed

from salience.batch import Batch
from salience.hooks.hooks import evaluating
from salience.papers.attention_classifiers.classifier import AttentionClassifier, AttentionClassifierConfig
from salience.papers.table import Cell, Row, Table, every_set_and_seed, markdown, rows_by_set, sets_of
from salience.papers.uaftc.analysis import global_scores
from salience.papers.uaftc.table2 import PAPER
from salience.report.pictures import COLOURS, GREY, save
from salience.training.objective import penalised, plain

NEUTRAL, POLARITY = 1000, 50  # number of neutral types, and of polarity types of each class
NEUTRAL_WORDS, POLARITY_WORDS = 10, 2  # of each text


@dataclass(frozen=True)
class Synthetic:
    """Texts of 12 token ids and their labels."""

    ids: np.ndarray  # token ids (N, 12): 0 to 999 are neutral, 1000 to 1049 positive and 1050 to 1099 negative
    labels: np.ndarray  # class indices (N,); 1 is positive


def synthetic(positive: int = 6000, negative: int = 6000, clean: int | None = None, seed: int = 2) -> Synthetic:
    """Draws texts of ten distinct neutral words, followed by two distinct polarity words of the text's class."""
    # Of each class, `clean` texts have its own polarity words, and the others those of the other class (Data II);
    # None stands for all texts (Data I).
    random = np.random.default_rng(seed)

    def texts(number: int, kind: int) -> Iterator[np.ndarray]:
        for index in range(number):
            start = NEUTRAL + POLARITY * (kind if clean is None or index < clean else 1 - kind)
            words = random.choice(NEUTRAL, NEUTRAL_WORDS, replace=False)
            yield np.concatenate([words, start + random.choice(POLARITY, POLARITY_WORDS, replace=False)])

    ids = np.array([*texts(positive, 0), *texts(negative, 1)])
    return Synthetic(ids, np.repeat([1, 0], [positive, negative]))


KINDS = {"positive": COLOURS[1], "negative": COLOURS[0], "neutral": GREY}  # of words, and their colours
EPOCHS, BATCH_SIZE, LEARNING_RATE, SCALE, WIDTH = 500, 200, 0.015, 10, 100
PENALTY = 1e-3
EVERY = 10  # epochs between two measurements
# Data II: the last texts of either class have the other's words. The paper does not say how many. With 4000, 5000 and
# 5500 of 6000 texts that keep their own words, polarities end at 3, 7 and 10 (seed 0); the paper's picture shows 9, to
# which the last is nearest.
CLEAN = 5500

# By condition, what the paper's pictures show at the end of training, read off by eye.
PUBLISHED = {
    "data-1": "polarity of the classes' words about ±15; attention about .55 positive, .45 negative, -.05 neutral",
    "data-2": "polarity of the classes' words about ±9",
    "data-1-penalty": "attention about .63 positive, .60 negative: the gap of .15 shrinks to .03",
    "ratio-1:2": "V^T W about -44 (here and below: in the paper's units)",
    "ratio-1:5": "V^T W about -62",
    "ratio-2:1": "V^T W about +42",
    "ratio-5:1": "V^T W about +59",
}
WORDS = {"neutral": slice(0, NEUTRAL), "positive": slice(NEUTRAL, NEUTRAL + POLARITY),
         "negative": slice(NEUTRAL + POLARITY, NEUTRAL + 2 * POLARITY)}  # fmt: skip


def texts(name: str) -> Synthetic:
    """The texts of a condition: 6,000 of each class, or 6,000 of the larger class."""
    if name == "data-2":
        return synthetic(clean=CLEAN)
    if name.startswith("ratio-"):
        positive, negative = map(int, name.removeprefix("ratio-").split(":"))
        most = max(positive, negative)
        return synthetic(6000 * positive // most, 6000 * negative // most)
    return synthetic()


def run(cell: Cell, data_dir: Path | None = None, epochs: int = EPOCHS) -> Row:
    """Trains one model; `trajectory` holds a measurement for every `EVERY` epochs. No data set is read."""
    started = time.time()
    data = texts(cell.set)
    set_seed(cell.seed)
    config = AttentionClassifierConfig(
        encoder="embeddings", pooling="dot", scale=SCALE, vocab_size=NEUTRAL + 2 * POLARITY, embedding_size=WIDTH,
        pad_token_id=None,
    )  # fmt: skip
    model = AttentionClassifier(config)
    assert isinstance(model.head, torch.nn.Linear)
    torch.nn.init.uniform_(model.head.weight, -1, 1)
    objective = penalised(plain, lambda _: PENALTY * model.alignment()) if "penalty" in cell.set else plain
    optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE)
    ids, labels = torch.from_numpy(data.ids), torch.from_numpy(data.labels)
    trajectory = [measured(model, ids, labels, 0, None)]
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(ids)).split(BATCH_SIZE):
            ones = torch.ones_like(ids[rows])  # neither padding nor special tokens
            batch = Batch(ids[rows], ones, ones, labels[rows])
            optimizer.zero_grad()
            for loss in objective(model, batch):
                loss.backward()
                total += loss.item() * len(rows)
            optimizer.step()
        if epoch % EVERY == 0:
            trajectory.append(measured(model, ids, labels, epoch, total / len(ids)))
    with torch.no_grad(), evaluating(model):
        accuracy = (model(ids).logits.argmax(1) == labels).float().mean().item()
    return {"accuracy": accuracy, "trajectory": trajectory, "seconds": round(time.time() - started, 1)}


@torch.no_grad()
def measured(
    model: AttentionClassifier, ids: torch.Tensor, labels: torch.Tensor, epoch: int, loss: float | None
) -> dict[str, float | None]:
    """What a trajectory holds of one epoch, on all texts (N, T)."""
    scores, table = global_scores(model), model.get_input_embeddings().weight
    with evaluating(model):
        # beta = sigmoid(-y s) is the probability of the wrong class, to which every gradient is proportional
        right = model(ids).logits.softmax(1)[torch.arange(len(ids)), labels]
    assert isinstance(model.head, torch.nn.Linear)  # V^T W is defined for no other
    values = {
        "epoch": epoch, "loss": loss, "mean beta": 1 - right.mean().item(),
        "V^T W": model.coupling().item(), "||W||^2": model.head.weight.square().sum().item(),
    }  # fmt: skip
    for kind, words in WORDS.items():
        values[f"attention {kind}"] = scores.attention[words].mean().item()
        values[f"polarity {kind}"] = scores.polarity[words].mean().item()
        for other in list(WORDS)[list(WORDS).index(kind) :]:
            values[f"{kind} . {other}"] = (table[words].mean(0) @ table[WORDS[other]].mean(0)).item()
    return values


def report(rows: list[Row]) -> str:
    """A line for each condition: the end of its trajectories, as means over seeds, and what the paper shows."""
    # The sign of V^T W may follow from the initial weights; the change since the start is therefore shown beside it.
    columns = ("texts", "seeds", "accuracy", "attention +, -, neutral", "polarity +, -, neutral", "V^T W",
               "since the start", "paper")  # fmt: skip
    lines = []
    for name, own in rows_by_set(rows, PUBLISHED).items():
        starts, ends = ([row["trajectory"][place] for row in own] for place in (0, -1))
        scores = [
            ", ".join(f"{np.mean([end[f'{score} {kind}'] for end in ends]):.2f}" for kind in KINDS)
            for score in ("attention", "polarity")
        ]
        couplings = np.array([end["V^T W"] for end in ends])
        gained = couplings - [start["V^T W"] for start in starts]
        lines.append([
            name, str(len(own)), f"{100 * np.mean([row['accuracy'] for row in own]):.1f}", *scores,
            *(f"{each.mean():z.1f} ({each.min():z.1f} .. {each.max():z.1f})" for each in (couplings, gained)),
            PUBLISHED[name],
        ])  # fmt: skip
    return markdown(columns, lines)


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """Scores over training in the three conditions of Data I and II, and V^T W by the ratio of the classes."""
    trained = [name for name in sets_of(rows) if name.startswith("data")]
    if trained:
        save(partial(draw_scores, rows=rows, names=trained), folder / "dynamics", (3.6 * len(trained) + 1, 6),
             (2, len(trained)))  # fmt: skip
        yield "dynamics"
    ratios = [name for name in sets_of(rows) if name.startswith("ratio")]
    if ratios:
        save(partial(draw_coupling, rows=rows, names=[*trained[:1], *ratios]), folder / "coupling")
        yield "coupling"


def draw_scores(axes, rows: list[Row], names: list[str]) -> None:
    """Draws a column for each condition: attention scores above, polarity scores below."""
    panels = np.reshape(axes, (2, len(names)))
    for column, name in enumerate(names):
        for panel, score in zip(panels[:, column], ("attention", "polarity"), strict=True):
            for kind, colour in KINDS.items():
                epochs, mean = trajectory_of(rows, name, f"{score} {kind}")
                panel.plot(epochs, mean, color=colour, label=kind)
            panel.axhline(0, color="black", linewidth=0.6)
            panel.set(xlabel="epoch", ylabel=f"mean {score} score")
            panel.set_title(name, loc="left")
            if column == 0:
                panel.legend(frameon=False)


def draw_coupling(axes, rows: list[Row], names: list[str]) -> None:
    """Draws V^T W over the epochs, a line for each condition."""
    for colour, name in zip(COLOURS, names, strict=False):
        epochs, mean = trajectory_of(rows, name, "V^T W")
        axes.plot(epochs, mean, color=colour, label="1:1" if name == "data-1" else name.removeprefix("ratio-"))
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(xlabel="epoch", ylabel="V^T W")
    axes.set_title("V^T W by the ratio of positive to negative texts", loc="left")
    axes.legend(frameon=False)


def trajectory_of(rows: list[Row], name: str, value: str) -> tuple[list[int], np.ndarray]:
    """The measured epochs, and a value's mean over the seeds of a condition (epochs,)."""
    trajectories = [row["trajectory"] for row in rows if row["set"] == name]
    epochs = [measured["epoch"] for measured in trajectories[0]]
    return epochs, np.mean([[measured[value] for measured in one] for one in trajectories], axis=0)


TABLE = Table(
    name="uaftc-synthetic",
    paper=PAPER,
    published=PUBLISHED,
    cell=Cell,
    keys=("accuracy", "trajectory"),
    cells=every_set_and_seed,
    run=run,
    report=report,
    pictures=pictures,
)
