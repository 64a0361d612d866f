"""Parameters of an estimator that are objects with settings of their own, as scikit-learn's searches name them.

`method__window` is the field `window` of the method, whether the method is given by name or as an object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any

from salience.errors import unknown
from salience.mixing.choosing import choose_method, settable_fields
from salience.mixing.method import Method
from salience.training.procedures import Standard, Turns


def nested_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the method and of the procedure, as `method__window` and `procedure__beta`."""
    method, procedure = parameters["method"], parameters["procedure"]
    try:
        if isinstance(method, str):
            method = choose_method(method.partition(":")[0], parameters["method_options"])
    except (TypeError, ValueError, AttributeError):  # `fit` says what is wrong with it
        method = None
    # Values of other types are refused by `fit`.
    nested = {name: getattr(method, name) for name in settable_fields(method)} if isinstance(method, Method) else {}
    settings = asdict(procedure) if isinstance(procedure, Standard | Turns) else {}
    return {f"method__{name}": value for name, value in nested.items()} | {
        f"procedure__{name}": value for name, value in settings.items()
    }


def replaced_parameters(parameters: Mapping[str, Any], nested: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that change when settings are set as `method__window`: objects are never changed in place.

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
        now = changed.get(owner, parameters[owner])
        if isinstance(now, str):  # a method by its name
            known = [] if (method := choose_method(now.partition(":")[0])) is None else settable_fields(method)
            options = changed.get("method_options", parameters["method_options"]) or {}
            changed["method_options"] = options | {field: value}
        else:
            known = [declared.name for declared in fields(now)] if is_dataclass(now) else []
            if field in known:
                changed[owner] = replace(now, **{field: value})
        if field not in known:
            raise unknown("parameter", name, [f"{owner}__{field}" for field in known])
    return changed
