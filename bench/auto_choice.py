"""How often `--method auto` takes a method that is no better than plain training, and what that costs.

The rule of `salience.training.halving` is applied to simulated trainings, whose true quality is known. A model gives a
text of class y the logits `skill` * onehot(y) + noise: of the text, which all models share; of the round, which its
models share because they are trained on the same rows; and of the model alone. The skill of plain training is 2.
Methods have the skills that are given. Half of the rows are predicted in a round, as by `--method auto`.

Printed are, for each number of rows and set of skills: how often a method is chosen in place of plain training, how
often one that is worse; and the log loss, of very many texts, of the chosen one less that of plain training: mean with
its standard error, and the 95 % quantile.

    python bench/auto_choice.py
    python bench/auto_choice.py --rows 100 --times 200
"""

from __future__ import annotations

from argparse import ArgumentParser
from functools import cache

import numpy as np
from scipy.special import softmax

from salience.training.halving import Choice, halve
from salience.training.scoring import scoring_of

CLASSES, PLAIN = 3, 2.0
OF_TEXT, OF_ROUND, OF_MODEL = 1.5, 0.5, 0.7  # standard deviations of the noise of a logit
SITUATIONS = {
    "four equal ones": (2.0, 2.0, 2.0, 2.0),
    "four a little worse": (1.9, 1.9, 1.9, 1.9),
    "four worse": (1.7, 1.7, 1.7, 1.7),
    "one a little better, three worse": (2.1, 1.8, 1.8, 1.8),
    "one better, three worse": (2.4, 1.8, 1.8, 1.8),
}


def chosen(skills: tuple[float, ...], rows: int, seed: int) -> Choice:
    """What the rule chooses among plain training and methods of these skills, on as many labelled rows."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, rows)
    of_text = random.normal(0, OF_TEXT, (rows, CLASSES))
    known = {"plain": PLAIN} | {f"method {number}": skill for number, skill in enumerate(skills)}
    divisions: list[np.ndarray] = []
    of_rounds: list[np.ndarray] = []

    def predict(name: str, number: int) -> tuple[np.ndarray, np.ndarray]:
        if number == len(of_rounds):
            of_rounds.append(of_text + random.normal(0, OF_ROUND, of_text.shape))
            if number % 2 == 0:
                divisions.append(random.permutation(rows))
        half = divisions[number // 2][number % 2 :: 2]
        noise = of_rounds[number] + random.normal(0, OF_MODEL, of_text.shape)
        return half, softmax(known[name] * np.eye(CLASSES)[labels[half]] + noise[half], axis=1)

    return halve("plain", [name for name in known if name != "plain"], predict, labels)


@cache
def true_log_loss(skill: float, texts: int = 200_000) -> float:
    """The log loss, in nats, of models with a skill on very many texts, with the best temperature."""
    random = np.random.default_rng(0)
    labels = random.integers(0, CLASSES, texts)
    noise = random.normal(0, (OF_TEXT**2 + OF_ROUND**2 + OF_MODEL**2) ** 0.5, (texts, CLASSES))
    probabilities = softmax(skill * np.eye(CLASSES)[labels] + noise, axis=1)
    scoring = scoring_of(labels)
    return float(scoring.row_scores(scoring.scaled(probabilities, labels), labels)["log_loss"].mean())


def choices(skills: tuple[float, ...], rows: int, times: int) -> np.ndarray:
    """The skill of what is chosen, in each of as many simulations; NaN where it is plain training."""
    found = [chosen(skills, rows, seed).chosen for seed in range(times)]
    return np.array([np.nan if name == "plain" else skills[int(name.split()[1])] for name in found])


def main() -> None:
    """Prints a table."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 100, 500])
    parser.add_argument("--times", type=int, default=500, help="simulations of each line")
    options = parser.parse_args()
    print("| rows | methods | a method is chosen | a worse one | log loss less plain's | 95 % quantile |")
    print("|---|---|---|---|---|---|")
    for rows in options.rows:
        for name, skills in SITUATIONS.items():
            found = choices(skills, rows, options.times)
            taken, worse = ~np.isnan(found), found < PLAIN
            excess = np.array([0.0 if np.isnan(s) else true_log_loss(s) - true_log_loss(PLAIN) for s in found])
            error = excess.std(ddof=1) / len(excess) ** 0.5
            print(
                f"| {rows} | {name} | {taken.mean():.1%} | {worse.mean():.1%} | {excess.mean():+.4f} ± {error:.4f} | "
                f"{np.quantile(excess, 0.95):+.4f} |"
            )


if __name__ == "__main__":
    main()
