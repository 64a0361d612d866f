from salience.errors import InputError, listed, nearest, quoted, rows_listed, unknown


def test_a_message_is_always_one_line():
    assert str(InputError("two\nlines\u2028or three")) == "two lines or three"
    assert isinstance(InputError("x"), ValueError)


def test_the_nearest_word_is_found_in_whichever_case():
    assert nearest("lable", ["text", "label"]) == ' Did you mean "label"?'
    assert nearest("LABEL", ["text", "Label"]) == ' Did you mean "Label"?'
    assert nearest("zzz", ["text", "label"]) == ""


def test_an_unknown_word_lists_the_known_ones():
    assert str(unknown("method", "ssmx", ["tmix", "ssmix", "plain", "embedmix"])) == (
        'unknown method "ssmx"; known: embedmix, plain, ssmix, tmix. Did you mean "ssmix"?'
    )
    assert str(unknown("method", "zzz", ["tmix", "plain"])) == 'unknown method "zzz"; known: plain, tmix.'


def test_values_are_shown_on_one_line_and_cut():
    assert quoted('a\n"b"') == r'"a\n\"b\""'
    assert quoted("x" * 100, longest=10) == '"xxxxxxx..."'
    assert quoted("café") == '"café"'
    assert listed(["a", "b", "c"], most=2) == "a, b and 1 more"
    assert rows_listed([7]) == "row 7"
    assert rows_listed(range(1, 8), most=2) == "rows 1, 2 and 5 more"
