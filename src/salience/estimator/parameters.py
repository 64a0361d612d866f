"""Nested parameters of the estimator: `method__window` is the field `window` of the method.

The method can be given by name or as an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from salience.errors import unknown
from salience.mixing.choosing import choose_method, settable_fields
from salience.mixing.method import Resolves
from salience.training.plain_stage import split_name
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


def name_of(method: str) -> str:
    """The name of a method that is written with options or with a plain stage: "ssmix" of "plain+ssmix:window=0.2".

    Raises:
        InputError: there are two plain stages.
    """
    return split_name(method.partition(":")[0], "method")[1]


def nested_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the method and of the procedure, as `method__window` and `procedure__beta`.

    Args:
        parameters: the parameters of the estimator by name. Values that do not fit are left to `fit` to report.
    """
    method, procedure = parameters["method"], parameters["procedure"]
    try:
        if isinstance(method, str):
            method = choose_method(name_of(method), parameters["method_options"])
    except (TypeError, ValueError, AttributeError):  # `fit` reports the error
        method = None
    nested = {name: getattr(method, name) for name in settable_fields(method)} if isinstance(method, Resolves) else {}
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
            raise unknown("parameter", name, [*parameters, *nested_parameters(parameters)])
        current = changed.get(owner, parameters[owner])
        if isinstance(current, str):  # a method given by name
            known = [] if (method := choose_method(name_of(current))) is None else settable_fields(method)
            options = changed.get("method_options", parameters["method_options"]) or {}
            changed["method_options"] = options | {field: value}
        else:
            known = [declared.name for declared in fields(current)] if is_dataclass(current) else []
            if field in known:
                changed[owner] = replace(current, **{field: value})
        if field not in known:
            raise unknown("parameter", name, [f"{owner}__{field}" for field in known])
    return changed
