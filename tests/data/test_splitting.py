from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from salience.data.splitting import shared_rows, split
from salience.data.texts import Texts

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
