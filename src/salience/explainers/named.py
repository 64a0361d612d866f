"""What is asked of explanations by name: explainers, the class that is explained, and how words get their scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from salience.errors import InputError, unknown
from salience.explainers import EXPLAINERS
from salience.explainers.corpus import PIECES
from salience.settings import is_whole


def functions_named(explainers: Sequence[str] | Mapping[str, Callable]) -> dict[str, Callable]:
    """The explainers by name, of `EXPLAINERS` where only names are given.

    Raises:
        InputError: an unknown name, or one string.
    """
    if isinstance(explainers, Mapping):
        return dict(explainers)
    if isinstance(explainers, str):
        raise InputError(f"give a sequence of explainers, not one string: for example [{explainers!r}]")
    for name in explainers:
        if name not in EXPLAINERS:
            raise unknown("explainer", name, EXPLAINERS)
    return {name: EXPLAINERS[name] for name in explainers}


def check_target(target: object, classes: int) -> None:
    """Raises an `InputError` if a target is neither "predicted" nor "gold" nor the number of one of the classes."""
    if target not in ("predicted", "gold") and not (is_whole(target) and 0 <= int(str(target)) < classes):
        raise unknown("target", target, ["predicted", "gold", *map(str, range(classes))])


def check_pieces(pieces: str, name: str = "pieces") -> None:
    """Raises an `InputError` unless `pieces` says how the scores of a word's tokens become the word's score.

    Args:
        name: what a user knows it by.
    """
    if pieces not in PIECES:
        raise unknown(name, pieces, PIECES)
