"""The templates of a package: Jinja2 files in its folder `templates`, from which pages and parts of them are made."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(package: str, template: str, **values: Any) -> Markup:
    """HTML made from a file in the folder `templates` of a package. Every value is escaped unless it is a `Markup`."""
    return Markup(environment(package).get_template(template).render(**values))


@cache
def environment(package: str) -> Environment:
    made = Environment(loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    # How the filter `tojson` writes data. It also escapes "<", so that no text can end the script element it is in.
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False}
    return made
