"""Words by which a classifier decides: their parts by a slow loop, and what is left out."""

import numpy as np
import pytest

from salience.audit.deciding_words import NAME, PART, deciding_words
from salience.explainers.explanation import Explanation


def explanation(row: int, target: int, text: str, scores: list[float]) -> Explanation:
    return Explanation(
        text.split(), None, ["a", "b"], np.array([0.5, 0.5]), target, target, {NAME: np.array(scores)}, row
    )


def made_up(seed: int, rows: int = 60) -> list[Explanation]:
    """Texts of a few words, of which "key" is strong in texts of label 1."""
    draw = np.random.default_rng(seed)
    found = []
    for row in range(1, rows + 1):
        target = row % 2
        words = draw.choice(["key", "Key,", "one", "two", "three", "!"], draw.integers(1, 6))
        scores = draw.normal(size=len(words)) + [3 * target * ("ey" in word) for word in words]
        found.append(explanation(row, target, " ".join(words), scores.tolist()))
    return found


def parts_by_loops(explanations, word, target) -> tuple[list[float], list[int], int]:
    parts, rows, texts = [], [], 0
    for each in explanations:
        if each.target == target:
            texts += 1
            own = [score for name, score in zip(each.words, each.scores[NAME], strict=True)
                   if name.strip(",!").lower() == word]  # fmt: skip
            if own:
                parts.append(sum(own) / sum(abs(score) for score in each.scores[NAME]))
                rows.append(each.row)
    return parts, rows, texts


@pytest.mark.parametrize("seed", range(3))
def test_parts_are_those_of_a_loop(seed):
    explanations = made_up(seed)
    found = deciding_words(explanations)
    assert (found[0].word, found[0].label) == ("key", 1)
    expected = set()
    for word in ("key", "one", "two", "three"):
        for target in (0, 1):
            parts, rows, texts = parts_by_loops(explanations, word, target)
            if len(parts) > 5 and len(parts) >= 0.1 * texts and np.mean(parts) >= PART:
                expected.add((word, target))
                own = next(each for each in found if (each.word, each.label) == (word, target))
                assert (own.part, own.share) == pytest.approx((np.mean(parts), len(parts) / texts))
                assert own.rows == rows
    assert {(each.word, each.label) for each in found} == expected
    assert [each.part for each in found] == sorted((each.part for each in found), reverse=True)


def test_rare_words_and_scores_that_are_not_numbers_find_nothing():
    rare = [explanation(row, 1, "rare word", [9.0, 1.0]) for row in range(1, 6)]
    assert deciding_words(rare) == []  # five texts
    broken = [explanation(row, 1, "odd", [np.nan]) for row in range(1, 20)]
    assert deciding_words(broken) == []
    assert [each.word for each in deciding_words([*rare, explanation(9, 1, "rare", [1.0])])] == ["rare"]
