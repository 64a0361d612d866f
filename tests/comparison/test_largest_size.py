"""Which condition of each data set and model has the most training rows."""

import pytest

from salience.comparison.grid import Condition, Grid
from salience.training.recipe import Recipe


@pytest.mark.parametrize(
    ("sizes", "largest"),
    [((), None), ((50,), 50), ((50, 200, 100), 200), ((None, 50), None), ((50, None, 200), None)],
)
def test_the_largest_size(sizes, largest):
    """All rows are the largest size, whatever numbers stand beside them."""
    sets = {name: {"data": f"{name}.csv", "test": "b.csv"} for name in ("one", "two")}
    grid = Grid({"plain": Recipe("a.csv", test="b.csv")}, (0, 1), sizes, ("tiny", "large"), sets)
    assert grid.largest() == {Condition(name, model, largest) for name in sets for model in ("tiny", "large")}


def test_the_size_of_the_recipe():
    grid = Grid({"plain": Recipe("a.csv", test="b.csv", size=70)}, (0, 1))
    assert {condition.size for condition in grid.largest()} == {70}
