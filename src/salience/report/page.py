"""The frame of every page: its head, and a policy that lets nothing run or load but what the page itself holds."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
{script}</body>
</html>
"""


def framed(title: str, style: str, body: str, script: str = "") -> str:
    """A page that needs nothing but itself. Half characters, which no file can hold, become escapes such as \\ud83d.

    Args:
        title: as plain text; it is escaped here.
        style: the only style sheet. Style attributes and other `<style>` elements in `body` have no effect.
        body: html, in which everything that is not ours is escaped already.
        script: the only script. Event attributes and other `<script>` elements in `body` do not run; elements of
            type application/json are data.
    """
    written = f"<script>{script}</script>\n" if script else ""
    page = FRAME.format(policy=policy(style, script), title=escape(title), style=style, body=body, script=written)
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def policy(style: str, script: str = "") -> str:
    """The content security policy of a page: exactly this style sheet and this script, known by their SHA-256."""
    parts = [
        "default-src 'none'", "img-src data:", f"style-src '{digest(style)}'",
        f"script-src '{digest(script)}'" if script else "script-src 'none'", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    return "; ".join(parts)


def digest(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode("utf-8")).digest()).decode("ascii")
