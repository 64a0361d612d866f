"""How Sun and Lu (ACL 2020) train small models. Importing it does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from salience.settings import as_option, between, check_settings, same_setting, setting, whole_between
from salience.training.procedures import Standard


@dataclass(frozen=True)
class WordRecipe:
    """Settings of the training of `salience.training.word_models`, with Adagrad.

    The paper leaves most of them open; the defaults are those of the authors' notebook for SST.

    Raises:
        InputError: a value does not fit its setting.
    """

    epochs: int = setting(40, whole_between(1, 10**6), "number of training epochs")
    batch_size: int = setting(100, whole_between(1, 10**6), "number of texts in a training step")
    learning_rate: float = setting(0.02, between(0, 10), "learning rate of Adagrad at the first step")
    decay: float = setting(0.001, between(0, 10**6), "decay of the learning rate over steps")
    weight_decay: float = setting(0.0, between(0, 10**6), "L2 penalty on all weights but the word embeddings")
    alignment: float = same_setting(Standard, "alignment")
    alignment_form: str = same_setting(Standard, "alignment_form")

    def __post_init__(self):
        check_settings(self, as_option)
        Standard(self.alignment, self.alignment_form)  # checks that they go together
