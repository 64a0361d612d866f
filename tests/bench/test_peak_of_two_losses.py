"""The peak of a training step with two losses."""

from contextlib import nullcontext

import families
from memory import peak_of
from salience import SSMix, mixed
from salience.training import objective as objectives


def test_the_word_table_needs_no_second_gradient(monkeypatch):
    """On a table that is much larger than everything else."""
    model = families.build("bert", classes=3, vocabulary=200_000).train()
    table = model.get_input_embeddings().weight
    objective, batch = mixed(SSMix(), 0.5), families.batch([5, 9, 3, 7])

    def step() -> None:
        model.zero_grad()
        for loss in objective(model, batch):
            loss.backward()

    step()  # what is kept from step to step lies there
    by_rows = peak_of(step)
    monkeypatch.setattr(objectives, "kept_by_rows", lambda model: nullcontext())
    assert peak_of(step) - by_rows > 0.9 * table.numel() * table.element_size()
