"""Nested parameters of the estimator: `method__window` is the field `window` of the method.

The method can be given by name or as an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from salience.assignments import name_and_options
from salience.errors import InputError, unknown
from salience.mixing.choosing import choose_method, settable_fields
from salience.mixing.method import Method, Resolves
from salience.training.procedures import Standard, Turns


class NestedParameters(BaseEstimator):
    """An estimator whose parameters `method` and `procedure` have settings that are parameters, too."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Args:
            deep: whether to include the settings of the method and of the procedure, as `method__window`.
        """
        parameters = super().get_params(deep=False)
        if not deep:
            return parameters
        return parameters | nested_parameters(parameters)

    def set_params(self, **parameters: Any) -> Self:
        """Sets parameters by name, and settings of the method and of the procedure as `method__window`.

        Raises:
            ValueError: an unknown name.
        """
        nested = {name: value for name, value in parameters.items() if "__" in name}
        super().set_params(**{name: value for name, value in parameters.items() if name not in nested})
        for name, value in replaced_parameters(super().get_params(deep=False), nested).items():
            setattr(self, name, value)
        return self


def named(method: str, options: Mapping[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """A method that is given as a string, without its options, and all its options: ("ssmix", {"window": 0.2}).

    Args:
        method: such as "ssmix:window=0.2".
        options: `method_options`. As in a recipe, an option that is written behind the name is used before these.

    Raises:
        InputError: the options behind the name cannot be read.
    """
    name, written = name_and_options(method, "method")
    return name, {**(options or {}), **written}


def choose(method: str, options: Mapping[str, Any] | None) -> Method | None:
    """The method that a string and `method_options` stand for; None if none is named.

    Raises:
        InputError: an unknown method, or an option that does not fit.
    """
    return choose_method(*named(method, options))


def nested_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the method and of the procedure, as `method__window` and `procedure__beta`.

    Args:
        parameters: the parameters of the estimator by name. Values that do not fit are left to `fit` to report.
    """
    method, procedure = parameters["method"], parameters["procedure"]
    try:
        if isinstance(method, str):
            method = choose(method, parameters["method_options"])
    except (TypeError, ValueError, AttributeError):  # `fit` reports the error
        method = None
    has_settings = isinstance(method, Resolves) and not isinstance(method, type)
    nested = {name: getattr(method, name) for name in settable_fields(method)} if has_settings else {}
    settings = asdict(procedure) if isinstance(procedure, Standard | Turns) else {}
    return {f"method__{name}": value for name, value in nested.items()} | {
        f"procedure__{name}": value for name, value in settings.items()
    }


def replaced_parameters(parameters: Mapping[str, Any], nested: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that change when nested parameters are set. Objects are replaced, not changed in place.

    Args:
        parameters: the parameters of the estimator by name.
        nested: new values, by names such as `method__window`.

    Raises:
        InputError: an unknown name.
    """
    changed: dict[str, Any] = {}
    before = nested_parameters(parameters)
    for name, value in nested.items():
        if name in before and before[name] == value:
            continue
        owner, _, field = name.partition("__")
        if owner not in ("method", "procedure"):
            raise unknown("parameter", name, [*parameters, *before])
        now = {**parameters, **changed}
        check_field(owner, now[owner], field)
        if isinstance(now[owner], str):
            changed["method"], options = named(now["method"], now["method_options"])
            changed["method_options"] = options | {field: value}
        else:
            changed[owner] = replace(now[owner], **{field: value})
    return changed


def check_field(owner: str, value: Any, field: str) -> None:
    """Checks that a method or a procedure has a field.

    Args:
        owner: "method" or "procedure".
        value: the value of this parameter.
        field: the name of the field.

    Raises:
        InputError: it has no such field.
    """
    known = fields_of(owner, value)
    if field in known:
        return
    name = f"{owner}__{field}"
    if value is None:
        raise InputError(f"{name} cannot be set, because no {owner} is given: set {owner} too")
    if not known:
        raise InputError(f"{name} cannot be set: {owner}={value!r} has no settings")
    raise unknown("parameter", name, [f"{owner}__{field}" for field in known])


def fields_of(owner: str, value: Any) -> list[str]:
    """The names of the fields that can be set of a method or a procedure.

    Args:
        owner: "method" or "procedure".
        value: the value of this parameter: the name of a method, or an object.

    Raises:
        InputError: an unknown method.
    """
    if owner == "method" and isinstance(value, str):
        method = choose(value.partition(":")[0], {})
        return [] if method is None else settable_fields(method)
    if isinstance(value, type) or not is_dataclass(value):
        return []
    return [declared.name for declared in fields(value)]
