"""How a prepared run is fitted: once, or by turns. The model names the procedure that it needs.

The settings are declared apart from the code that trains: the command line shows them without importing torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from salience.errors import InputError, unknown
from salience.settings import between, check_settings, one_of, setting, whole_between

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Standard:
    """Trains all weights together, once.

    An attention classifier can pay for the alignment of attention and polarity (Sun and Lu, ACL 2020, section 5.3):
    `alignment` times |V^T W|, or times (V^T W)^2, is added to the loss. V is the query of the attention, W the head.

    Raises:
        InputError: a value does not fit, or a form of the penalty is given without a weight.
    """

    alignment: float = setting(0.0, between(0, 10**6), "weight of the penalty |V^T W|, for attention classifiers")
    alignment_form: str = setting("absolute", one_of("absolute", "square"), "penalise |V^T W| or its square")

    def __post_init__(self):
        check_settings(self)
        if self.alignment_form != "absolute" and not self.alignment:
            raise InputError(
                f"alignment_form={self.alignment_form} has no effect without a weight, such as alignment=1e-4"
            )

    def check(self, model: PreTrainedModel) -> None:
        """Raises an `InputError` if the settings do not fit the model."""
        if not self.alignment:
            return
        from salience.models.architectures import architecture

        try:
            architecture(model).alignment(self.alignment_form)
        except ValueError as error:
            raise InputError(f"alignment: {error}") from error


@dataclass(frozen=True)
class Turns:
    """Trains compressor and learner by turns (VAT; Zhou et al., Findings of ACL 2021).

    Raises:
        InputError: a value does not fit, or no iteration can be kept.
    """

    iterations: int = setting(3, whole_between(0, 100), "number of turns of compressor and learner, for VAT")
    beta: float = setting(0.1, between(0, 10**6), "weight of the KL term in the compressor's loss, for VAT")
    divergence: str = setting(
        "sum", one_of("sum", "mean"), "the KL term of VAT is the sum over the dimensions of z, or the mean"
    )
    compressor: str = setting(
        "trained", one_of("trained", "none"), "whether VAT's compressor has its turns; none trains encoder and head "
        "alone in further turns, with the attention of the first one, as a control",
    )  # fmt: skip
    earliest: int = setting(0, whole_between(0, 100), "first iteration of VAT that can be kept; 0 is before all turns")

    def __post_init__(self):
        check_settings(self)
        if self.earliest > self.iterations:
            raise InputError(
                f"--set earliest={self.earliest}: the last iteration is {self.iterations}; give it or less"
            )

    def check(self, model: PreTrainedModel) -> None:
        """Raises an `InputError` if the settings do not fit the model."""
        from salience.models.architectures import architecture

        if not architecture(model).predicts_compressed:
            return
        if self.iterations == 0:
            raise InputError(
                "--set iterations=0 trains no compressor, but inference=compressor predicts by it: use iterations=1 "
                "or more, or inference=learner"
            )
        if self.compressor == "none":
            raise InputError(
                "--set compressor=none trains no compressor, but inference=compressor predicts by it: leave one "
                "of them out"
            )


PROCEDURES: dict[str, type[Standard] | type[Turns]] = {"standard": Standard, "turns": Turns}
# What to say of an option that belongs to the other procedure.
NEEDED = {
    "standard": "VAT is trained by turns; take a model that is trained once, as attention:additive",
    "turns": "only VAT is trained by turns: --model attention:variational, lstm-vat or bert-vat",
}


def choose_procedure(name: str, options: Mapping[str, Any]) -> Standard | Turns:
    """The procedure called `name` with `options` as its settings; an `InputError` for one that does not fit."""
    known = [option.name for option in fields(PROCEDURES[name])]
    for option in options:
        if option in known:
            continue
        for other, procedure in PROCEDURES.items():
            if option in (declared.name for declared in fields(procedure)):
                raise InputError(f"--set {option} would have no effect: {NEEDED[other]}")
        raise unknown("setting in procedure_options", option, known)
    return PROCEDURES[name](**options)
