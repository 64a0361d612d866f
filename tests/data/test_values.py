"""One rule for texts that are not valid Unicode."""

import pytest

from salience.data.values import well_formed, well_formed_value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("é 🙂 \ufeff", "é 🙂 \ufeff"),
        ("\ufeffé", "\ufeffé"),
        ("half \ud83d", "half \ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        (b"caf\xe9".decode("utf-8", "surrogateescape"), "caf\ufffd"),
    ],
)
def test_texts_become_valid_unicode(text, expected):
    assert well_formed(text) == expected
    assert well_formed(text).encode()


def test_texts_in_lists_and_objects_do_too():
    half, mended = "\ud83d", "\ufffd"
    assert well_formed_value({half: [half, 1, None, {"a": half}]}) == {mended: [mended, 1, None, {"a": mended}]}
    with pytest.raises(KeyError):
        well_formed_value({half: 1, "\udfff": 2})
    with pytest.raises(TypeError, match="100 levels"):
        well_formed_value([[]], depth=1)
