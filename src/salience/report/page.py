"""The frame that every page shares.

Templates, style sheets and scripts are files in `templates/`. Jinja2 escapes every value that a template shows. The
content security policy of the frame is a second defence: a browser runs and loads nothing but what the page itself
declares.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from markupsafe import Markup

from salience.templating import render

PACKAGE = "salience.report"


def asset(name: str) -> str:
    """The text of a style sheet or script in `templates/`."""
    return files(PACKAGE).joinpath("templates", name).read_text(encoding="utf-8")


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
        PACKAGE,
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
