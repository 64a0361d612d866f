"""Lewy and Mańdziuk (2023, AttentionMix), section 6: a training by every head, beside every head's agreement.

AttentionMix, arXiv:2309.11104. The paper trains BERT-base by every layer, and by every head of its two best layers, to
find the heads of its tables, and names an automatic choice as future work. Here all heads of MiniLM are trained by (6
layers of 12 heads), and the accuracies are compared with the agreement of the heads with the gradient of the loss, by
which `head="auto"` chooses.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.axes import Axes

from salience.mixing.heads import rank_heads
from salience.papers.datasets import accuracy, load
from salience.papers.mixing_tables import mixing_alone, part_of, prepare_equal
from salience.papers.table import Row, Table, markdown
from salience.report.pictures import HoverTexts, Marks, save
from salience.training.fit import fit
from salience.training.prepare import first_batches

LAYERS, HEADS = 6, 12
KEYS = ("accuracy", "agreement")  # of a training
ROWS = (100,)  # training rows
# The paper's best heads, layer:head of BERT-base's 12 layers.
PUBLISHED = {"sst5": "10:3, 0:8, 0:0", "mr": "1:8, 1:3, 6:11", "imdb": "0:4, 0:6, 0:11"}
DRAWS = 2000  # of the bootstrap
LEAST = 10  # heads that are ranked


@dataclass(frozen=True)
class Cell:
    """A training by the attention of one head, or by the mean of a layer."""

    set: str
    layer: int
    head: int | None  # None: the mean of the layer's heads
    rows: int  # training rows; all, if the set has fewer
    seed: int


def cells(sizes: Sequence[int], sets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """The layers first, then the heads, one of each layer in turn: an interrupted sweep has seen all layers."""
    trained_by = [(layer, head) for head in (None, *range(HEADS)) for layer in range(LAYERS)]
    return [
        Cell(name, layer, head, rows, seed)
        for seed in seeds for rows in sizes for name in sets for layer, head in trained_by
    ]  # fmt: skip


def run(cell: Cell, data_dir: Path | None) -> Row:
    """Trains one model on mixtures by a head. Its agreement is measured before, on the model with its fresh head."""
    started = time.time()
    data = part_of(load(cell.set, data_dir, cell.seed), cell.rows, cell.seed)
    settings = mixing_alone("attentionmix", layer=cell.layer, head=cell.head)
    prepared = prepare_equal(data, cell.set, settings, cell.seed)
    agreement = None
    if cell.head is not None:
        batches = first_batches(prepared.classifier.tokenizer, prepared.training)
        ranked = {(each.layer, each.head): each.agreement for each in rank_heads(prepared.model, batches)}
        agreement = ranked[cell.layer, cell.head]
    with TemporaryDirectory() as folder:
        fitted = fit(prepared, Path(folder))
    classifier = fitted.classifier
    return {
        "accuracy": accuracy(classifier.model, classifier.encode(data.test)), "agreement": agreement,
        "training_rows": len(data.training), "test_rows": len(data.test), "steps": fitted.steps,
        "seconds": round(time.time() - started, 1),
    }  # fmt: skip


@dataclass(frozen=True)
class Maps:
    """What a sweep found on one set, means over its finished seeds. A value that was not measured is NaN."""

    accuracies: np.ndarray  # in percent, (L, H)
    agreements: np.ndarray  # (L, H), from -1 to 1
    layers: np.ndarray  # the accuracies in percent by the means of the layers (L,)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Maps:
        """The maps of the rows of one set and size."""

        def mean(layer: int, head: int | None, key: str) -> float:
            values = [row[key] for row in rows if (row["layer"], row["head"]) == (layer, head)]
            return float(np.mean(values)) if values else np.nan

        places = [[(layer, head) for head in range(HEADS)] for layer in range(LAYERS)]
        found = {key: np.array([[mean(*each, key) for each in line] for line in places]) for key in KEYS}
        layers = np.array([mean(layer, None, "accuracy") for layer in range(LAYERS)])
        return cls(100 * found["accuracy"], found["agreement"], 100 * layers)

    @property
    def measured(self) -> np.ndarray:
        """Which heads have been trained by (L, H) bool."""
        return ~np.isnan(self.accuracies)


def finished_seeds(rows: Sequence[Row]) -> list[Row]:
    """The rows of the seeds that have all trainings of the seed with the most of them, of one set and size."""
    # A seed draws its own training rows, which shifts the accuracies of all heads: with a seed more for some heads,
    # means would rank the seeds and not the heads.
    trained: dict[int, set] = {row["seed"]: set() for row in rows}
    for row in rows:
        trained[row["seed"]].add((row["layer"], row["head"]))
    most = max(trained.values(), key=len)
    return [row for row in rows if trained[row["seed"]] >= most]


def rank_correlation(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Spearman's rank correlation of two values of N heads, and its 95 % interval by a bootstrap over the heads."""
    from scipy.stats import bootstrap, rankdata

    def correlation(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        ranks = (rankdata(values, axis=axis) for values in (first, second))
        one, other = (values - values.mean(axis, keepdims=True) for values in ranks)
        return (one * other).sum(axis) / np.sqrt((one**2).sum(axis) * (other**2).sum(axis))

    found = bootstrap(
        (first, second), correlation, paired=True, vectorized=True, n_resamples=DRAWS, method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return float(correlation(first, second, 0)), float(found.low), float(found.high)


def report(rows: list[Row]) -> str:
    """For each set: does the agreement rank the heads as the trainings do, and what does a choice by it give?"""
    columns = (
        "set", "rows", "seeds", "heads", "rank correlation of agreement and accuracy",
        "of the accuracies of two seeds", "accuracy, most agreeing head", "mean of the heads",
        "best head of the sweep", "best layer's mean", "best heads in the paper",
    )  # fmt: skip
    lines = []
    for (name, size), own in by_set(rows).items():
        finished = finished_seeds(own)
        maps, seeds = Maps.of(finished), {row["seed"] for row in finished}
        measured = maps.measured
        if measured.sum() < LEAST:
            continue
        accuracies, agreements = maps.accuracies[measured], maps.agreements[measured]
        names = [f"{layer}:{head}" for layer, head in zip(*np.nonzero(measured), strict=True)]
        best, agreeing = int(accuracies.argmax()), int(agreements.argmax())
        layers = (
            "" if np.isnan(maps.layers).all() else f"{np.nanmax(maps.layers):.1f} (layer {np.nanargmax(maps.layers)})"
        )
        lines.append([
            name, str(size), str(len(seeds)), str(len(names)), shown(rank_correlation(agreements, accuracies)),
            of_two_seeds(own), f"{accuracies[agreeing]:.1f} ({names[agreeing]})",
            f"{accuracies.mean():.1f} ± {accuracies.std(ddof=1):.1f}", f"{accuracies[best]:.1f} ({names[best]})",
            layers, PUBLISHED[name],
        ])  # fmt: skip
    return markdown(columns, lines)


def of_two_seeds(rows: Sequence[Row]) -> str:
    """The rank correlation of the accuracies of the first two seeds: as well can a sweep agree with itself."""
    seeds = sorted({row["seed"] for row in rows})
    if len(seeds) < 2:
        return ""
    one, other = (Maps.of([row for row in rows if row["seed"] == seed]) for seed in seeds[:2])
    both = one.measured & other.measured
    return shown(rank_correlation(one.accuracies[both], other.accuracies[both])) if both.sum() >= LEAST else ""


def shown(found: tuple[float, float, float]) -> str:
    """A value with its interval."""
    return "{:+.2f} [{:+.2f}, {:+.2f}]".format(*found)


def by_set(rows: Sequence[Row]) -> Mapping[tuple[str, int], list[Row]]:
    """The rows of each set and number of training rows, in the order of `PUBLISHED`."""
    keys = sorted({(list(PUBLISHED).index(row["set"]), row["set"], row["rows"]) for row in rows})
    return {(name, size): [row for row in rows if (row["set"], row["rows"]) == (name, size)] for _, name, size in keys}


def pictures(rows: list[Row], folder: Path) -> Iterator[str]:
    """For each set, the accuracies of the trainings by each head, beside the agreements."""
    for (name, size), own in by_set(rows).items():
        maps = Maps.of(finished_seeds(own))
        if maps.measured.any():
            title = f"{name}, {size} rows"
            save(
                partial(draw_maps, accuracies=maps.accuracies, agreements=maps.agreements, title=title),
                folder / f"sweep-{name}-{size}", (10.5, 4.0), (1, 2),
            )  # fmt: skip
            yield f"sweep-{name}-{size}"


def draw_maps(panels: Sequence[Axes], accuracies: np.ndarray, agreements: np.ndarray, title: str) -> HoverTexts:
    """Two maps with a line for each layer and a column for each head: accuracies in percent and agreements (L, H)."""
    texts: dict[Marks, list[str]] = {}
    shown = ((accuracies, "accuracy of a training by the head, %", "{:.1f} %"),
             (agreements, "agreement of the head with the gradient", "{:+.2f}"))  # fmt: skip
    for panel, (values, name, form) in zip(panels, shown, strict=True):
        mesh = panel.pcolormesh(np.ma.masked_invalid(values), cmap="viridis", edgecolors="white", linewidth=0.5)
        panel.figure.colorbar(mesh, ax=panel)
        panel.set_title(f"{title}: {name}", fontsize=9)
        panel.set_xticks(np.arange(values.shape[1]) + 0.5, [str(head) for head in range(values.shape[1])])
        panel.set_yticks(np.arange(values.shape[0]) + 0.5, [str(layer) for layer in range(values.shape[0])])
        panel.set_xlabel("head")
        panel.set_ylabel("layer")
        panel.invert_yaxis()
        texts[mesh] = [
            f"head {head} of layer {layer}: {form.format(value)}" for (layer, head), value in np.ndenumerate(values)
        ]
    return texts


def table_of(sizes: Sequence[int]) -> Table[Cell]:
    """The table with training sets of these sizes."""
    return Table(
        name="attentionmix-sweep", paper="Lewy and Mańdziuk, AttentionMix, 2023, arXiv:2309.11104",
        published=PUBLISHED, cell=Cell, keys=KEYS, cells=partial(cells, tuple(dict.fromkeys(sizes))), run=run,
        report=report, pictures=pictures, resized=table_of,
    )  # fmt: skip


TABLE = table_of(ROWS)
