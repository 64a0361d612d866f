"""The templates of a package: Jinja2 files in its folder `templates`, from which pages and parts of them are made."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(package: str, template: str, **values: Any) -> Markup:
    """HTML made from a template.

    Args:
        package: for example "salience.report".
        template: name of a file in the package's folder `templates`, for example "attention.html.jinja".
        values: what the template shows. Every value is escaped unless it is a `Markup`.

    Raises:
        jinja2.UndefinedError: the template needs a value that is missing.
    """
    return Markup(environment(package).get_template(template).render(**values))


@cache
def environment(package: str) -> Environment:
    made = Environment(loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined,
                       trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    # How the filter `tojson` writes data. It also escapes "<", so that no text can end the script element it is in.
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False}
    return made
