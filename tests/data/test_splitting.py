from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salience.data.splitting import group_numbers, shared_rows, split
from salience.data.texts import Texts
from salience.errors import InputError
from salience.training.recipe import Recipe
from salience.training.task import read_task

ANY = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=40)
LABELS = ANY.map(lambda labels: labels + sorted(set(labels)))  # two rows of each class at least
SHARES = st.floats(0.01, 0.99)


@given(labels=LABELS, share=SHARES, seed=st.integers(0, 5))
def test_what_holds_of_every_split(labels, share, seed):
    train, held_out = split(labels, share, seed)
    assert sorted(train + held_out) == list(range(len(labels)))
    assert train == sorted(train)
    assert held_out == sorted(held_out)
    assert split(labels, share, seed) == (train, held_out)
    classes, kept, held = Counter(labels), Counter(labels[i] for i in train), Counter(labels[i] for i in held_out)
    assert set(kept) == set(classes)
    assert len(held_out) == min(max(round(share * len(labels)), 1), len(labels) - len(classes))
    if len(held_out) >= len(classes):
        assert set(held) == set(classes)
    # Of two classes, the larger one never has fewer rows held out by more than rounding makes of it.
    for one, other in zip(classes, list(classes)[1:], strict=False):
        if classes[one] > classes[other]:
            assert held[one] >= held[other] - 1


def test_shares_are_kept():
    labels = ["a"] * 500 + ["b"] * 300 + ["c"] * 200
    held_out = split(labels, 0.1, 0)[1]
    assert Counter(labels[place] for place in held_out) == {"a": 50, "b": 30, "c": 20}


def test_a_few_rows_of_many_intents():
    labels = [f"intent {number}" for number in range(77)] * 5
    held_out = split(labels, 0.2, 0)[1]
    assert Counter(labels[place] for place in held_out) == dict.fromkeys(labels, 1)


def test_small_classes_are_held_out_too_and_keep_a_row():
    labels = ["many"] * 96 + ["few"] * 2 + ["couple"] * 2
    held_out = split(labels, 0.1, 0)[1]
    assert Counter(labels[place] for place in held_out) == {"many": 8, "few": 1, "couple": 1}
    assert Counter(labels[place] for place in split(labels, 0.9, 0)[1]) == {"many": 88, "few": 1, "couple": 1}


def test_where_few_rows_are_held_out_the_larger_classes_have_them():
    labels = ["a"] * 40 + ["b"] * 30 + ["c"] * 2 + ["d"] * 2
    assert Counter(labels[place] for place in split(labels, 0.03, 0)[1]) == {"a": 1, "b": 1}


def test_the_seed_draws_the_rows():
    labels = ["a", "b"] * 50
    assert len({tuple(split(labels, 0.2, seed)[1]) for seed in range(10)}) == 10


def test_a_class_with_a_single_row_cannot_be_split(complaint):
    assert complaint(split, ["a", "a", "b"], 0.5, 0, source="a.csv") == (
        'a.csv: the class "b" has a single row, too few to split; '
        "add rows, or give rows to validate on with --validation FILE"
    )
    assert complaint(split, ["a", "a", "b", "c"], 0.5, 0).startswith('the classes "b", "c" have a single row each, ')


def test_rows_that_stand_in_both():
    assert shared_rows(Texts(["a", "b ", "c"]), Texts([" a", "b", "b", "B", "d"])) == 3
    assert shared_rows(Texts(["a", "a"], ["x", "y"]), Texts(["a", "a", "x"], ["x ", "z", "a"])) == 1


# -------------------------------------------------------------------------------------------- units that stay together


@given(labels=LABELS, share=SHARES, seed=st.integers(0, 5), several=st.booleans(), data=st.data())
def test_no_unit_is_divided_and_every_class_keeps_a_row(labels, share, seed, several, data):
    units = np.array(data.draw(st.lists(st.integers(0, 12), min_size=len(labels), max_size=len(labels))))
    given_labels = [(label,) for label in labels] if several else labels
    try:
        train, held_out = split(given_labels, share, seed, units=units)
    except InputError as error:
        assert "no rows can be held out" in str(error)
        of_units = [{label for label, own in zip(labels, units, strict=True) if own == unit} for unit in set(units)]
        alone = [sum(label in own for own in of_units) == 1 for label in sorted(set(labels))]
        assert any(alone)  # a label whose rows are all in one unit
        return
    assert sorted(train + held_out) == list(range(len(labels))) and held_out
    assert not set(units[train]) & set(units[held_out])
    assert {labels[row] for row in train} == set(labels)
    assert split(given_labels, share, seed, units=units) == (train, held_out)


@given(labels=LABELS, share=SHARES, seed=st.integers(0, 5))
def test_units_of_one_row_leave_the_split_as_it_is(labels, share, seed):
    units = np.random.default_rng(seed).permutation(len(labels))
    assert split(labels, share, seed, units=units) == split(labels, share, seed)
    several = [(label,) for label in labels]
    assert split(several, share, seed, units=units) == split(several, share, seed)


def test_classes_have_their_share_of_units_of_all_sizes():
    """A fifth of 600, 300 and 100 rows in pairs, single rows, and texts that are there four times."""
    labels = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    units = np.concatenate([np.arange(200) // 2, np.arange(200, 600), 600 + np.arange(400) // 4])
    found = []
    for seed in range(10):
        held_out = split(labels, 0.2, seed, units=units)[1]
        assert Counter(labels[row] for row in held_out) == {"a": 120, "b": 60, "c": 20}
        found.append(sum(row < 200 for row in held_out))
    assert 25 < np.mean(found) < 55  # of the rows of pairs, a fifth of 200 is 40: large units are not left behind


def test_large_groups_are_held_out_as_nearly_as_possible():
    """Ten authors of six texts of one class each: a fifth is an author of each class."""
    labels = [label for number in range(10) for label in "xy"[number % 2] * 6]
    held_out = split(labels, 0.2, 0, units=np.arange(60) // 6)[1]
    assert Counter(labels[row] for row in held_out) == {"x": 6, "y": 6}
    # No author fits a tenth, which is three rows of each class: one author is held out all the same.
    assert len(split(labels, 0.1, 0, units=np.arange(60) // 6)[1]) == 6


def test_one_group_cannot_be_divided():
    with pytest.raises(InputError, match=r"rows\.csv: no rows can be held out, because every group"):
        split(list("abab"), 0.5, 0, "rows.csv", np.zeros(4, int))


@pytest.mark.parametrize("group", [None, "author"])
def test_a_run_chooses_its_checkpoint_by_texts_and_authors_that_it_has_not_seen(group, write):
    rows = [f"text {author}-{number // 2},{'xy'[author % 2]},author {author}" for author in range(10)
            for number in range(6)]  # fmt: skip
    file = write("rows.csv", "\n".join(["text,label,author", *rows]))
    recipe = Recipe(data=file, text="text", label="label", group=group, validation_share=0.2)
    task = read_task(recipe, lambda line: None)
    assert len(task.validation) == 12 and task.validation.labels.tolist().count(0) == 6
    assert not set(group_numbers_of(task.validation)) & set(group_numbers_of(task.training))
    assert len(set(group_numbers(task.validation))) == (6 if group is None else 2)


def group_numbers_of(texts: Texts) -> list[str]:
    return texts.texts if texts.groups is None else texts.groups
