"""A made-up table whose cells take no time, in a module that other processes can import."""

from dataclasses import dataclass

from salience.papers.table import Table


@dataclass(frozen=True)
class Cell:
    set: str
    seed: int


class MadeUp(Table):
    """It is not in the catalogue, and so it is pickled as itself."""

    def __reduce__(self):
        return made_up, ()


def run(cell, data_dir) -> dict:
    if cell.seed == 13:
        raise ValueError("an unlucky seed")
    return {"accuracy": 0.5 + cell.seed / 100}


def made_up() -> MadeUp:
    return MadeUp(
        name="made-up", paper="nobody, nowhere", published={"one": 1, "two": 2}, cell=Cell, keys=("accuracy",),
        cells=lambda sets, seeds: [Cell(name, seed) for seed in seeds for name in sets], run=run,
        report=lambda rows: "\n".join(sorted(f"{row['set']} {row['seed']} {row['accuracy']}" for row in rows)),
    )  # fmt: skip
