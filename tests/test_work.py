"""Work that is counted: what a display is told, of work inside of work too; and nothing without one."""

import pytest

from displays import Seen
from salience.work import doing, hidden, shown, tracked


@pytest.fixture
def seen():
    display = Seen()
    with shown(lambda: display):
        yield display
    assert display.closed


def test_without_a_display_the_items_are_as_they_were():
    assert list(tracked("abc", 3, "reading")) == ["a", "b", "c"]
    with doing("reading"), hidden():
        pass


def test_a_display_is_made_where_there_is_work():
    made = []
    with shown(lambda: made.append(0)):
        pass
    assert not made


def test_an_item_is_done_when_the_next_one_is_asked_for(seen):
    items = tracked(["a", "bcd"], 4, "reading", "letters", len)
    assert next(items) == "a" and seen.moves == [[]]
    assert next(items) == "bcd" and seen.moves == [[1]]
    assert list(items) == [] and seen.moves == [[1, 4]]
    assert seen.told == [("reading", 4, "letters"), ("end", "reading")]


def test_work_of_the_same_name_is_a_part_of_the_item_under_way(seen):
    """Two windows of 60 and 40 texts; each is predicted in two batches, of which the first costs a quarter."""
    for _ in tracked([60, 40], 100, "predicting", size=float):
        list(tracked([1, 3], 4, "predicting", size=float))
        list(tracked([5], 5, "tokenising"))  # other work inside of it is not shown
    assert seen.moves == [[15, 60, 60, 70, 100, 100]]
    assert [each[0] for each in seen.told] == ["predicting", "end"]


def test_work_goes_down_any_number_of_floors(seen):
    for _ in tracked([8], 8, "explaining", size=float):
        for _ in tracked([1, 1], 2, "explaining"):
            list(tracked([1, 1], 2, "explaining"))
    assert seen.moves == [[2, 4, 4, 6, 8, 8, 8]]


def test_what_is_left_early_has_ended(seen):
    with pytest.raises(ZeroDivisionError):
        for item in tracked([0, 1], 2, "reading"):
            1 / item
    with doing("writing"):
        pass
    assert seen.told == [("reading", 2, "texts"), ("end", "reading"), ("writing", None, ""), ("end", "writing")]


def test_what_cannot_be_counted_is_shown_unless_it_is_inside_of_other_work(seen):
    with doing("loading"), doing("reading"):
        pass
    assert seen.told == [("loading", None, ""), ("end", "loading")]
