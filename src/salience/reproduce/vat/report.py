"""Tables 2 to 6 of VAT from runs, beside the published ones: means and spread over seeds, and paired differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from salience.comparison.statistics import difference, spread

# Accuracy in percent (Table 2): LSTM-base, -ATT, -VAT, BERT-base, -ATT, -VAT.
PUBLISHED = {
    "trec": (90.00, 91.00, 92.80, 96.60, 96.40, 97.20),
    "sst5": (45.20, 46.29, 47.42, 51.44, 51.13, 51.99),
    "sst2": (85.45, 84.73, 86.22, 91.60, 91.16, 91.98),
    "subj": (89.00, 90.80, 91.10, 96.50, 96.20, 96.70),
    "mr": None,
    "ag_news": (91.91, 91.88, 92.04, 93.52, 93.41, 93.71),
}
# Tables 3 and 4, K = 5: Random, ATT, VAT, of LSTM and of BERT.
AOPC = {
    "trec": (19.40, 31.00, 37.20, 65.80, 71.60, 72.20),
    "sst5": (5.97, 12.94, 14.34, 33.26, 33.98, 34.03),
    "sst2": (7.58, 20.54, 21.58, 41.46, 41.52, 41.52),
    "subj": (1.50, 2.10, 6.30, 45.70, 45.70, 45.80),
    "mr": None,
    "ag_news": (1.87, 5.99, 6.59, 44.20, 52.22, 54.70),
}
POST_HOC = {
    "trec": (71.40, 73.60, 79.20, 26.60, 34.20, 36.80),
    "sst5": (34.21, 40.56, 43.39, 20.27, 29.19, 30.23),
    "sst2": (71.33, 82.70, 84.35, 50.52, 58.92, 61.34),
    "subj": (78.40, 87.40, 89.10, 50.60, 61.90, 65.40),
    "mr": None,
    "ag_news": (62.45, 78.96, 81.43, 26.74, 37.53, 43.08),
}
# Table 5, on tweets: P@1 R@1 F1@1 P@5 R@5 F1@5 of positive and of negative words.
WORDS = {
    "lstm": {
        "random": ((14.88, 4.78, 6.56, 14.59, 23.34, 16.06), (20.52, 5.61, 8.19, 17.18, 23.68, 17.97)),
        "ATT": ((58.70, 26.04, 32.73, 30.30, 54.17, 34.70), (47.13, 15.74, 21.39, 28.24, 42.04, 30.33)),
        "VAT": ((65.20, 29.38, 36.60, 33.04, 58.40, 37.77), (60.00, 21.42, 28.76, 32.70, 49.19, 35.35)),
    },
    "bert": {
        "random": None,
        "ATT": ((46.44, 16.52, 21.82, 33.13, 52.52, 35.66), (37.74, 9.19, 13.46, 30.82, 39.65, 30.23)),
        "VAT": ((55.24, 20.62, 26.90, 37.26, 58.39, 40.09), (43.83, 11.15, 16.20, 36.42, 44.55, 35.30)),
    },
}  # fmt: skip
EXPLANATIONS = ("random", "ATT", "VAT")


def family(encoder: str) -> str:
    """The encoder of the paper that "bilstm-random", "bert-minilm" and so on stand for."""
    return "bert" if encoder.startswith("bert") else "lstm"


def report(rows: list[dict]) -> str:
    """All five tables as markdown."""
    accuracies = {
        "base": lambda row: 100 * row["base"], "ATT": lambda row: 100 * row["test"][0],
        "VAT": lambda row: 100 * row["accuracy"],
    }  # fmt: skip
    parts = ["Table 2, accuracy", *three(rows, accuracies, PUBLISHED)]
    for title, metric, published in (
        ("Table 3, AOPC at 5", "AOPC@5", AOPC), ("Table 4, post-hoc accuracy at 5", "post-hoc@5", POST_HOC),
    ):  # fmt: skip
        columns = {name: picked(name, metric) for name in EXPLANATIONS}
        parts += ["", title, *three(rows, columns, published)]
    parts += ["", "Table 5, words that people marked (paper: in tweets)", *words(rows)]
    parts += ["", "Table 6, accuracy by iteration (on validation), whichever was chosen", *by_iteration(rows)]
    return "\n".join(parts)


def picked(name: str, metric: str) -> Callable[[dict], float]:
    return lambda row: row["explanations"][name][metric]


def grouped(rows: list[dict]) -> dict[tuple[str, str], list[dict]]:
    """The runs of each set and encoder, in the order of the published table."""
    found: dict[tuple[str, str], list[dict]] = {}
    for name in PUBLISHED:
        for row in rows:
            if row["set"] == name:
                found.setdefault((name, row["encoder"]), []).append(row)
    return found


def three(rows: list[dict], columns: dict[str, Callable[[dict], float]], published: dict) -> list[str]:
    """Three columns with their means and spread, the paper's, and the differences of neighbours, paired by seed."""
    first, second, third = columns
    lines = [
        "",
        f"| set | encoder | seeds | {first} | {second} | {third} | paper | {second} - {first} | {third} - {second} |",
        "|---" * 9 + "|",
    ]
    for (name, encoder), own in grouped(rows).items():
        values = [np.array([read(row) for row in own]) for read in columns.values()]
        told = published[name] and published[name][3 * (family(encoder) == "bert") :][:3]
        paper = "-" if told is None else " ".join(f"{value:.1f}" for value in told)
        lines.append(
            f"| {name} | {encoder} | {len(own)} | " + " | ".join(map(spread, values))
            + f" | {paper} | {difference(values[1], values[0])} | {difference(values[2], values[1])} |"
        )  # fmt: skip
    return lines


def words(rows: list[dict]) -> list[str]:
    """Each polarity's P, R and F1 at 1 and at 5, ours and the paper's."""
    lines = ["", "| encoder | attention | words | seeds | P@1 R@1 F1@1 P@5 R@5 F1@5 | paper |", "|---" * 6 + "|"]
    for (_, encoder), own in grouped(rows).items():
        for name in EXPLANATIONS:
            for place, polarity in enumerate(("positive", "negative")):
                found = [row["explanations"][name][polarity] for row in own if polarity in row["explanations"][name]]
                if found:
                    told = WORDS[family(encoder)][name]
                    lines.append(
                        f"| {encoder} | {name} | {polarity} | {len(found)} | {numbers(np.mean(found, axis=0))} | "
                        f"{'-' if told is None else numbers(told[place])} |"
                    )
    return lines


def numbers(values) -> str:
    return " ".join(f"{value:.1f}" for value in values)


def by_iteration(rows: list[dict]) -> list[str]:
    """On the test texts and, in brackets, on those that choose the iteration; and which one each seed chose."""
    groups = grouped(rows)
    most = max((len(row["test"]) for row in rows), default=0)
    lines = ["", "| set | encoder | " + " | ".join(map(str, range(most))) + " | kept |", "|---" * (most + 3) + "|"]
    for (name, encoder), own in groups.items():
        test, validation = (100 * np.mean([row[part] for row in own], axis=0) for part in ("test", "validation"))
        means = [f"{one:.2f} ({other:.2f})" for one, other in zip(test, validation, strict=True)]
        kept = " ".join(str(row["chosen"]) for row in own)
        lines.append(f"| {name} | {encoder} | " + " | ".join([*means, *["-"] * (most - len(means)), kept]) + " |")
    return lines
