import pytest

from salience.data.labels import check_labels, class_weights, encode, label_names


def test_names_are_in_order_of_value_or_of_text():
    assert label_names(["10", "9", "-1", "9"]) == ["-1", "9", "10"]
    assert label_names(["10", "9", "x"]) == ["10", "9", "x"]
    assert label_names(["b", "B", "a"]) == ["B", "a", "b"]
    assert label_names(["1", "01"]) == label_names(["01", "1"]) == ["01", "1"]


def test_ordinary_labels_are_not_remarked_upon():
    assert check_labels(["a", "b", "a"], "a.csv") == []
    assert check_labels([str(number) for number in range(20)], "a.csv") == []  # few rows, each its own
    assert check_labels([str(number % 21) for number in range(42)], "a.csv") == []  # just half


def test_labels_that_differ_in_case_or_space_only():
    labels = ["Pos", "pos", "pos", " pos", "neg", "very neg", "very  neg", "other"]
    assert check_labels(labels, "a.csv") == [
        'a.csv: the labels " pos" (1 row), "Pos" (1 row), "pos" (2 rows) differ only in case or space; '
        "they are taken as different classes",
        'a.csv: the labels "very  neg" (1 row), "very neg" (1 row) differ only in case or space; '
        "they are taken as different classes",
    ]


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("caf\u00e9", "cafe\u0301", r'"caf\u00e9" (2 rows), "cafe\u0301" (1 row)'),
        ("pos", "pos\u200b", r'"pos" (2 rows), "pos\u200b" (1 row)'),
        ("pos", "\ufeffpos", r'"pos" (2 rows), "\ufeffpos" (1 row)'),
        ("x2", "x\u00b2", r'"x2" (2 rows), "x\u00b2" (1 row)'),
        ("pos", "\uff30OS", r'"pos" (2 rows), "\uff30OS" (1 row)'),
        ("so\u00adft", "soft", r'"so\u00adft" (2 rows), "soft" (1 row)'),
    ],
)
def test_labels_that_look_alike(one, other, shown):
    (warning,) = check_labels([one, one, other, "bad"], "a.csv")
    how = "differ only in case, space, Unicode normalisation or invisible characters; they are taken as different"
    first, second = shown.split(", ")
    assert warning in (
        f"a.csv: the labels {first}, {second} {how} classes",
        f"a.csv: the labels {second}, {first} {how} classes",
    )


def test_labels_of_other_characters_are_not_alike():
    assert check_labels(["e", "\u00e9", "\u0435", "e"], "a.csv") == []


def test_one_class_is_no_task(complaint):
    assert complaint(check_labels, ["a"] * 5, "a.csv") == (
        'a.csv: every row has the label "a"; a classifier needs at least two classes'
    )


def test_a_class_for_every_row_is_no_label(complaint):
    assert complaint(check_labels, [f"text {number}" for number in range(30)], "a.csv") == (
        "a.csv: 30 different labels in 30 rows; is this the label column? Name it with --label"
    )


def test_labels_become_their_places():
    assert encode(["b", "a", "b"], ["a", "b"], "a.csv", [1, 2, 3]).tolist() == [1, 0, 1]


def test_labels_that_training_never_saw(complaint):
    labels = ["positive", "Negative", "Negative", "zzz", "zzz", "zzz", "zzz"]
    assert complaint(encode, labels, ["negative", "positive"], "test.csv", [1, 2, 3, 7, 8, 9, 10]) == (
        'test.csv: 2 labels that training never saw: "Negative" (2 times: rows 2, 3) Did you mean "negative", '
        '"zzz" (4 times: rows 7, 8, 9 and 1 more); mend or remove these rows, or add such rows to the training data'
    )


LABELS = ["a"] * 6 + ["b"] * 3 + ["c"]
NAMES = ["a", "b", "c"]
HOW = (
    "give none, auto, or name=weight,name2=weight; names with commas are weighted in a yaml file, as "
    "`class_weights: {name: weight}`"
)


def mean_weight(weights):
    return sum(weights[NAMES.index(label)] for label in LABELS) / len(LABELS)


def test_weights():
    assert class_weights("none", LABELS, NAMES) is None
    assert class_weights("auto", LABELS, NAMES) == pytest.approx([10 / 18, 10 / 9, 10 / 3])
    assert class_weights("c=4", LABELS, NAMES) == pytest.approx([1 / 1.3, 1 / 1.3, 4 / 1.3])
    assert class_weights(" a = 0.5, c=2", LABELS, NAMES) == pytest.approx([0.5 / 0.8, 1 / 0.8, 2 / 0.8])
    assert class_weights({"a": 0.5, "c": "2"}, LABELS, NAMES) == class_weights("a=0.5,c=2", LABELS, NAMES)


def test_names_with_commas_are_weighted_by_a_mapping():
    names = ["yes, very", "1"]
    assert class_weights({"yes, very": 3, 1: 1}, names, names) == pytest.approx([1.5, 0.5])


@pytest.mark.parametrize("spec", ["auto", "a=3", "a=0.1,b=100", "c=1e-3"])
def test_the_mean_weight_of_the_training_rows_is_one(spec):
    assert mean_weight(class_weights(spec, LABELS, NAMES)) == pytest.approx(1)


def test_a_name_may_contain_an_equals_sign():
    assert class_weights("x=y=3", ["x=y", "z"], ["x=y", "z"]) == pytest.approx([1.5, 0.5])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("atuo", f'class weights "atuo": {HOW}'),
        ("", f'class weights "": {HOW}'),
        (["a"], "class weights ['a']: give none, auto, or the weight of each name"),
        ({"d": 2}, 'unknown class in the class weights "d"; known: a, b, c.'),
        ({"a": None}, 'class weights: the weight of "a" is "None"; give a number above 0'),
        ("d=2", 'unknown class in the class weights "d"; known: a, b, c.'),
        ("a=0", 'class weights: the weight of "a" is "0"; give a number above 0'),
        ("a=-1", 'class weights: the weight of "a" is "-1"; give a number above 0'),
        ("a=much", 'class weights: the weight of "a" is "much"; give a number above 0'),
        ("a=inf", 'class weights: the weight of "a" is "inf"; give a number above 0'),
        ("b=1,a=nan", 'class weights: the weight of "a" is "nan"; give a number above 0'),
    ],
)
def test_weights_that_make_no_sense(complaint, spec, reason):
    assert complaint(class_weights, spec, LABELS, NAMES) == reason
