import pytest

from salience.data.columns import Columns, choose_as_trained, choose_columns


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["text", "label"], ("text", None, "label")),
        (["id", "Sentence", "LABEL"], ("Sentence", None, "LABEL")),
        (["title", "text", "topic"], ("text", None, "topic")),
        (["review", "sentiment"], ("review", None, "sentiment")),
        (["text", "label", "label_text"], ("text", None, "label")),
        (["sentence1", "sentence2", "label", "idx"], ("sentence1", "sentence2", "label")),
        (["Premise", "Hypothesis", "y"], ("Premise", "Hypothesis", "y")),
        (["text", "text_pair", "class"], ("text", "text_pair", "class")),
        (["question", "sentence", "target"], ("question", "sentence", "target")),
        (["question1", "question2", "is_duplicate", "label"], ("question1", "question2", "label")),
        (["label", "query", "passage"], ("query", "passage", "label")),
        (["question", "label"], ("question", None, "label")),
        (["anything", "intent"], ("anything", None, "intent")),  # the other one of two
        (["tweet", "anything"], ("tweet", None, "anything")),
    ],
)
def test_usual_names_are_guessed(names, columns):
    chosen, guesses = choose_columns(names)
    assert chosen == Columns(*columns)
    expected = [
        f'{role}: "{name}" (guessed)'
        for role, name in zip(["text column", "second text column", "label column"], columns, strict=True)
        if name
    ]
    assert sorted(guesses) == sorted(expected)


def test_named_columns_are_taken_and_not_reported():
    assert choose_columns(["a", "b", "c"], "c", "a", "b") == (Columns("c", "a", "b"), [])


def test_a_group_is_named_and_no_other_column_is_it():
    chosen, guesses = choose_columns(["text", "label", "title"], group="text")
    assert chosen == Columns("title", None, "label", "text") and chosen.names == {"title", "label", "text"}
    assert len(guesses) == 2


def test_a_second_text_is_not_guessed_beside_a_named_one():
    chosen, guesses = choose_columns(["sentence1", "sentence2", "label"], text="sentence1")
    assert chosen == Columns("sentence1", None, "label")
    assert guesses == ['label column: "label" (guessed)']


def test_a_named_second_text_leaves_the_first_one_to_guess():
    assert choose_columns(["other", "text", "label"], text_pair="other")[0] == Columns("text", "other", "label")


def test_a_column_is_not_both():
    assert choose_columns(["text", "label"], text="label", label="text")[0] == Columns("label", None, "text")
    assert choose_columns(["text", "label"], label="text")[0] == Columns("label", None, "text")


def test_without_need_of_a_label_none_is_guessed():
    assert choose_columns(["text", "label"], need_label=False)[0] == Columns("text")
    assert choose_columns(["whatever"], need_label=False)[0] == Columns("whatever")
    assert choose_columns(["whatever", "label"], need_label=False)[0] == Columns("whatever")
    assert choose_columns(["text", "label"], label="label", need_label=False)[0] == Columns("text", None, "label")


def test_a_missing_column_lists_the_columns_and_the_nearest(complaint):
    assert complaint(choose_columns, ["text", "label"], label="lable", source="a.csv") == (
        'a.csv: no column "lable" (--label); the columns are "text", "label". Did you mean "label"?'
    )
    assert "(--text-pair)" in complaint(choose_columns, ["text", "label"], text_pair="second")


def test_one_column_for_two_roles(complaint):
    assert complaint(choose_columns, ["a", "b"], text="a", label="a", source="a.csv") == (
        "a.csv: --text and --label must each name another column"
    )


@pytest.mark.parametrize(
    ("names", "given", "option"),
    [
        (["a", "b", "c"], {}, "--text"),
        (["a", "b"], {}, "--text"),
        (["a", "b", "label"], {}, "--text"),
        (["text", "b", "c"], {}, "--label"),
        (["text"], {}, "--label"),
        (["a", "b", "c"], {"text": "a"}, "--label"),
    ],
)
def test_what_cannot_be_guessed_is_asked_for(complaint, names, given, option):
    what = {"--text": "the text", "--label": "the label"}[option]
    listed = ", ".join(f'"{name}"' for name in names)
    more = {"--text": "", "--label": "; if there are no labels yet, see salience describe"}[option]
    assert complaint(choose_columns, names, source="a.csv", **given) == (
        f"a.csv: no column has a usual name for {what}; name it with {option}. The columns are {listed}{more}"
    )


def test_a_name_that_is_a_text_is_told_as_a_missing_header(complaint):
    told = "; if that is the first row of the data, write the names of the columns above it, such as text,label"
    said = complaint(choose_columns, ["I liked the food", "good"], source="a.csv")
    assert said.startswith("a.csv: no column has a usual name for the text") and said.endswith(f'"good"{told}')
    assert told not in complaint(choose_columns, ["what was said", "good"], source="a.csv")


# ------------------------------------------------------------------------------------------------------ as in training

SINGLE, PAIRS = Columns("body", None, "topic"), Columns("first", "second", "same")


def test_what_a_model_was_trained_on_comes_before_usual_names():
    found = choose_as_trained(["text", "label", "body", "topic"], SINGLE, {}, need_label=True)
    assert found == (Columns("body", None, "topic"),
                     ['text column: "body" (as in training)', 'label column: "topic" (as in training)'])  # fmt: skip
    assert choose_as_trained(["body", "topic"], SINGLE, {"text": None}, need_label=False)[0] == Columns("body")
    found = choose_as_trained(["text", "text_pair", "second", "first"], PAIRS, {}, need_label=False)
    notes = ['text column: "first" (as in training)', 'second text column: "second" (as in training)']
    assert found == (Columns("first", "second"), notes)


def test_what_is_named_comes_before_what_a_model_was_trained_on():
    named = {"text": "text", "text_pair": None, "label": "label"}
    found = choose_as_trained(["text", "label", "body", "topic"], SINGLE, named, need_label=True)
    assert found == (Columns("text", None, "label"), [])
    found = choose_as_trained(["a", "first", "second"], PAIRS, {"text": "a", "text_pair": "first"}, need_label=False)
    assert found == (Columns("a", "first"), [])
    # A column that is named for one thing is free for nothing else.
    assert choose_as_trained(["body", "other"], SINGLE, {"label": "body"}, True)[0] == Columns("other", None, "body")


def test_where_the_names_of_training_are_not_there_usual_ones_are():
    assert choose_as_trained(["text", "label"], SINGLE, {}, need_label=True)[0] == Columns("text", None, "label")
    found = choose_as_trained(["first", "sentence1", "sentence2", "y"], PAIRS, {}, need_label=True)[0]
    assert found == Columns("sentence1", "sentence2", "y")
    names = ["premise", "hypothesis", "y"]
    assert choose_as_trained(names, None, {}, need_label=True) == choose_columns(names)


def test_pairs_for_pairs_and_single_texts_for_single_ones(complaint):
    told = "a.csv: the model was trained on pairs of texts; name both with --text and --text-pair"
    for names, named in ((["text", "label"], {}), (["first", "second"], {"text": "first"})):
        assert complaint(choose_as_trained, names, PAIRS, named, False, "a.csv") == told
    told = "a.csv: the model was trained on single texts, not on pairs; name one with --text-column"
    for names, named in ((["premise", "hypothesis"], {}), (["body", "topic"], {"text": "body", "text_pair": "topic"})):
        assert complaint(choose_as_trained, names, SINGLE, named, False, "a.csv", "--text-column") == told
