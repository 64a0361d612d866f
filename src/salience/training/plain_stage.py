"""A first stage of plain training before the mixing method, as Yoon et al. (2021) train SSMix: names and numbers.

Soyoung Yoon, Gyuwan Kim and Kyumin Park (Findings of ACL-IJCNLP 2021), "SSMix: Saliency-Based Span Mixup for Text
Classification", arXiv:2106.08062, section 3.4: 3 epochs without mixing at a learning rate of 5e-5, then 5 epochs with
mixing at 1e-5, from the best checkpoint of the first stage.

The stages are trained by `salience.training.stages`. This file imports no torch: recipes and command lines read it.
"""

from __future__ import annotations

from salience.errors import InputError, quoted

PREFIX = "plain+"  # plain+ssmix
PLAIN_SHARE = 3 / 8  # of the steps, where a method is named with the prefix
RATE = 1e-5 / 5e-5  # learning rate of the second stage, relative to that of the first


def split_name(name: str, option: str = "--method") -> tuple[bool, str]:
    """`"plain+ssmix"` as `(True, "ssmix")`, `"ssmix"` as `(False, "ssmix")`.

    Args:
        option: where the name stands, for messages.

    Raises:
        InputError: the prefix stands there twice.
    """
    method = name.removeprefix(PREFIX)
    if method.startswith(PREFIX):
        raise InputError(f"{option} {quoted(name)}: write {PREFIX} once, before the name of a method")
    return method != name, method


def stage_steps(steps: int, plain_share: float) -> tuple[int, int]:
    """The steps of the plain stage and of the second one: at least 1 each, `steps` together.

    Args:
        steps: of the whole training, at least 2.
        plain_share: fraction of the steps in the plain stage.
    """
    plain = min(max(1, round(steps * plain_share)), steps - 1)
    return plain, steps - plain


def check_plain_stage(plain_share: float, steps: int | None, by_turns: bool) -> None:
    """Checks that a training can have the plain stage that its recipe asks for, if it does.

    Args:
        plain_share: fraction of the steps in the plain stage; 0 for none.
        steps: of the whole training; None if it is not known yet.
        by_turns: whether the model is trained by turns.

    Raises:
        InputError: there is a single step, or the model is trained by turns.
    """
    if not plain_share:
        return
    if by_turns:
        raise InputError(
            f"VAT is trained by turns, which have no plain stage before them: leave out --plain-share and {PREFIX}, "
            "or take a model that is trained once, as attention:additive"
        )
    if steps == 1:
        raise InputError("a single step has no two stages: use --steps 2 or more, or train without a plain stage")
