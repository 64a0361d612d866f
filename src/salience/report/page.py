"""The frame that every page shares, and the templates that pages are made from.

Templates, style sheets and scripts are files in `templates/`. Jinja2 escapes every value that a template shows. The
content security policy of the frame is a second defence: a browser runs and loads nothing but what the page itself
declares.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

TEMPLATES = Environment(
    loader=PackageLoader("salience.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
# How the filter `tojson` writes data. It also escapes "<", so that no text can end the script element it is in.
TEMPLATES.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False}


def render(template: str, **values: Any) -> Markup:
    """HTML made from a file in `templates/`.

    Args:
        template: name of the file, for example "attention.html.jinja".
        values: what the template shows. Every value is escaped unless it is a `Markup`.

    Raises:
        jinja2.UndefinedError: the template needs a value that is missing.
    """
    return Markup(TEMPLATES.get_template(template).render(**values))


def asset(name: str) -> str:
    """The text of a style sheet or script in `templates/`."""
    return files("salience.report").joinpath("templates", name).read_text(encoding="utf-8")


def framed(title: str, style: str, body: str, script: str = "") -> str:
    r"""A complete HTML page that loads nothing from elsewhere.

    Lone surrogates, which UTF-8 cannot encode, are written as escapes such as \ud83d.

    Args:
        title: plain text; it is escaped here.
        style: CSS added to `page.css`, which all pages share. Style attributes and other `<style>` elements in `body`
            have no effect.
        body: HTML in which all values are escaped already, as `render` returns it.
        script: JavaScript. Event attributes and other `<script>` elements in `body` do not run. Elements of type
            application/json hold data and are allowed.
    """
    sheet = asset("page.css") + style
    page = render(
        "page.html.jinja",
        policy=Markup(policy(sheet, script)),
        title=title,
        style=Markup(sheet),
        body=Markup(body),
        script=Markup(script),
    )
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def policy(style: str, script: str = "") -> str:
    """The content security policy of a page: it allows one style sheet and one script, identified by their SHA-256."""
    parts = [
        "default-src 'none'", "img-src data:", f"style-src '{digest(style)}'",
        f"script-src '{digest(script)}'" if script else "script-src 'none'", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    return "; ".join(parts)


def digest(content: str) -> str:
    """The hash of a style sheet or script as a content security policy writes it."""
    return "sha256-" + b64encode(sha256(content.encode("utf-8")).digest()).decode("ascii")
