"""Declared settings: what fits, what the error says, and how declarations are passed on."""

import math
from dataclasses import MISSING, dataclass, fields

import numpy as np
import pytest

from salience.errors import InputError
from salience.papers.attention_classifiers.options import AttentionOptions, WordRecipe
from salience.settings import (
    BOOL,
    COUNT,
    FUNCTION,
    PART,
    POSITIVE,
    SHARE,
    as_option,
    check_settings,
    name_and_options,
    one_of,
    read_yaml,
    same_setting,
    setting,
    settings_of,
    several_with_options,
    whole_between,
)
from salience.training.procedures import PROCEDURES, Standard
from salience.training.recipe import Recipe


@dataclass(frozen=True)
class Baker:
    heat: float = setting(0.5, PART, "heat of the oven")
    loaves: int | None = setting(None, COUNT, "number of loaves", "as many as fit")
    shape: str = setting("round", one_of("round", "long"), "shape of the loaves")
    slices: int | None = setting(1, whole_between(1, 9).or_none(), "number of slices", "the whole loaf")

    def __post_init__(self):
        check_settings(self)


@dataclass(frozen=True)
class FastBaker(Baker):
    heat: float = 1.0


WRONG = [
    ({"heat": 2}, "heat=2: give a number from 0 to 1"),
    ({"heat": math.nan}, "heat=nan: give"),
    ({"heat": True}, "heat=True: give"),
    ({"heat": None}, "heat=None: give a number from 0 to 1"),
    ({"loaves": 0}, "loaves=0: give a whole number from 1 to 1,000,000, or null"),
    ({"slices": "two"}, "slices='two': give a whole number from 1 to 9, or null"),
    ({"shape": "rond"}, 'unknown shape "rond"; known: long, round. Did you mean "round"?'),
    ({"shape": 3}, "shape=3: give round or long"),
]


def test_a_value_that_does_not_fit_is_one_line():
    for values, message in WRONG:
        with pytest.raises(InputError) as caught:
            Baker(**values)
        assert str(caught.value).startswith(message)


def test_none_fits_where_it_is_the_default_or_declared():
    baker = Baker(loaves=None, slices=None)
    assert (baker.loaves, baker.slices) == (None, None)


def test_numbers_become_plain_ones():
    baker = Baker(heat=np.float32(0.5), loaves=np.int64(3), slices=2.0)
    assert [type(value) for value in (baker.heat, baker.loaves, baker.slices)] == [float, int, int]
    assert baker == Baker(0.5, 3, "round", 2)


def test_a_subclass_that_changes_a_default_keeps_the_declaration():
    declared, above = settings_of(FastBaker)["heat"], settings_of(Baker)["heat"]
    assert (declared.kind, declared.help) == (above.kind, above.help)
    assert (declared.default, above.default) == (1.0, 0.5)
    with pytest.raises(InputError, match="heat=3: give"):
        FastBaker(heat=3)


def test_a_declaration_can_be_used_twice():
    @dataclass
    class Shop:
        heat: float = same_setting(Baker, "heat")

    assert settings_of(Shop) == {"heat": settings_of(Baker)["heat"]}


def test_a_name_as_an_option():
    assert as_option("validation_share") == "--validation-share"


KINDS = [  # a kind, values that fit, and others
    (PART, [0, 1, 0.5], [-0.1, 1.1, math.inf, "1", None, True]),
    (SHARE, [0, 0.99], [1, -1, math.nan]),
    (POSITIVE, [1e-9, 5], [0, -1, 1e9, math.inf, math.nan]),
    (COUNT, [1, 10**6], [0, 1.0, 10**6 + 1, True]),
    (whole_between(2, 4), [2, 3.0, 4], [1, 2.5, 5, math.nan, math.inf, "3"]),
    (BOOL, [True, False], [0, 1, "true", None]),
    (FUNCTION, [len, math.sqrt], [None, "len"]),
]


def test_kinds():
    for kind, fitting, others in KINDS:
        assert all(kind.fits(value) for value in fitting)
        assert not any(kind.fits(value) for value in others)


def test_settings_written_as_text():
    assert name_and_options("dropmix-g:ratio=0.3,alpha=1e-4") == ("dropmix-g", {"ratio": 0.3, "alpha": 1e-4})
    assert name_and_options("ssmix") == ("ssmix", {})
    several = ["plain", "dropmix-g:ratio=0.3,alpha=1", "ssmix", "x:a=[1, 2]"]
    assert several_with_options(",".join(several)) == several
    for text, told in (
        ("ssmix:window", "field=value"),
        ("ssmix:window=[", "is not yaml"),
        ("ssmix:=1", "field=value"),
    ):
        with pytest.raises(InputError, match=told):
            name_and_options(text)


def test_yaml_is_read_with_the_numbers_of_its_newer_version():
    assert read_yaml("a: 1e-4\nb: [1E3, .5, yes]", "x") == {"a": 1e-4, "b": [1000.0, 0.5, True]}
    assert read_yaml("no: 1e-4", "x", texts_only=True) == {"no": "1e-4"}
    for text, told in (("a: 1\na: 2", '"a" is there twice at line 2'), ("a: 2020-99-99", "is not yaml"),
                       ("[" * 400, "is not yaml")):  # fmt: skip
        for texts_only in (False, True) if "2020" not in text else (False,):
            with pytest.raises(InputError, match=told):
                read_yaml(text, "x", texts_only)


def test_every_field_is_declared_with_a_help_and_a_default_that_fits():
    for owner in (Recipe, AttentionOptions, WordRecipe, *PROCEDURES.values()):
        declared = settings_of(owner)
        assert list(declared) == [field.name for field in fields(owner)]
        for option in declared.values():
            assert option.help and not option.help.endswith(".")
            if option.default is None:
                assert option.kind.optional and option.unset
            elif option.default is not MISSING:
                assert option.checked(option.default) == option.default


def test_the_penalty_of_word_models_is_that_of_the_standard_procedure():
    for name in ("alignment", "alignment_form"):
        assert settings_of(WordRecipe)[name] == settings_of(Standard)[name]
