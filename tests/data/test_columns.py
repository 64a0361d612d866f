"""Which columns hold texts and labels: usual names are guessed, those of training come first, named ones before."""

import pytest

from salience.data.columns import Columns, choose_as_trained, choose_columns

USUAL = [  # names of a file, and the columns that are chosen
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
]


def test_usual_names_are_guessed():
    for names, columns in USUAL:
        chosen, guesses = choose_columns(names)
        assert chosen == Columns(*columns), names
        roles = zip(["text column", "second text column", "label column"], columns, strict=True)
        assert sorted(guesses) == sorted(f'{role}: "{name}" (guessed)' for role, name in roles if name)


NAMED = [  # names of a file, what is named, and the columns that are chosen
    (["a", "b", "c"], {"text": "c", "text_pair": "a", "label": "b"}, Columns("c", "a", "b")),
    (["sentence1", "sentence2", "label"], {"text": "sentence1"}, Columns("sentence1", None, "label")),
    (["other", "text", "label"], {"text_pair": "other"}, Columns("text", "other", "label")),
    (["text", "label"], {"text": "label", "label": "text"}, Columns("label", None, "text")),
    (["text", "label"], {"label": "text"}, Columns("label", None, "text")),
    (["text", "label", "title"], {"group": "text"}, Columns("title", None, "label", "text")),
    (["text", "label"], {"need_label": False}, Columns("text")),
    (["whatever"], {"need_label": False}, Columns("whatever")),
    (["whatever", "label"], {"need_label": False}, Columns("whatever")),
    (["text", "label"], {"label": "label", "need_label": False}, Columns("text", None, "label")),
    (["text", "x", "y"], {"label": "x, y"}, Columns("text", None, "x, y", None, ("x", "y"))),
    (["text", "x, y"], {"label": "x, y"}, Columns("text", None, "x, y")),
]


def test_named_columns_are_taken_and_not_reported():
    for names, named, expected in NAMED:
        chosen, guesses = choose_columns(names, **named)
        assert chosen == expected, named
        assert not any(f'"{name}"' in note for name in named.values() for note in guesses)
    assert Columns("a", "b", "x,y", "c", ("x", "y")).names == set("abcxy")


REFUSED = [  # names, what is named, what the message must say
    (["text", "label"], {"label": "lable"}, ['no column "lable" (--label)', '"text", "label"', 'mean "label"?']),
    (["text", "label"], {"text_pair": "second"}, ['no column "second" (--text-pair)']),
    (["a", "b"], {"text": "a", "label": "a"}, ["--text and --label must each name another column"]),
    (["a", "b", "c"], {}, ["name it with --text.", '"a", "b", "c"']),
    (["a", "b"], {}, ["name it with --text."]),
    (["a", "b", "label"], {"text_option": "--text-column"}, ["name it with --text-column."]),
    (["text", "b", "c"], {}, ["name it with --label.", '"text", "b", "c"', "see salience describe"]),
    (["text"], {}, ["name it with --label."]),
    (["a", "b", "c"], {"text": "a"}, ["name it with --label."]),
    (["I liked the food", "good"], {}, ["--text", "first row of the data"]),
]


def test_what_cannot_be_chosen_is_asked_for(complaint):
    for names, named, parts in REFUSED:
        message = complaint(choose_columns, names, source="a.csv", **named)
        assert message.startswith("a.csv: ") and all(part in message for part in parts), message
    assert "first row of the data" not in complaint(choose_columns, ["what was said", "good"])
    for label, separator, part in (("a,a", None, "names a column twice"), ("a,b", "|", "--label-separator")):
        assert part in complaint(choose_columns, ["text", "a", "b"], label=label, separator=separator)


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


@pytest.mark.parametrize(
    ("names", "named", "trained", "told"),
    [
        (["text", "label"], {}, PAIRS, ["pairs of texts", "--text-column and --text-pair"]),
        (["first", "second"], {"text": "first"}, PAIRS, ["pairs of texts", "--text-column and --text-pair"]),
        (["premise", "hypothesis"], {}, SINGLE, ["single texts, not on pairs", "with --text-column"]),
        (["body", "topic"], {"text": "body", "text_pair": "topic"}, SINGLE, ["single texts", "with --text-column"]),
    ],
)
def test_pairs_for_pairs_and_single_texts_for_single_ones(complaint, names, named, trained, told):
    message = complaint(choose_as_trained, names, trained, named, False, "a.csv", "--text-column")
    assert message.startswith("a.csv: ") and all(part in message for part in told)
