"""The documents as Markdown: links, anchors, and blocks of code, read by markdown-it-py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")],
    key=lambda page: page.relative_to(ROOT).as_posix(),
)


@dataclass(frozen=True)
class Block:
    """A block of code."""

    page: str  # relative to the repository
    line: int  # of the page, 1 is the first
    language: str  # "" of an indented block
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def tokens_of(page: Path) -> list[Token]:
    """All tokens of a page, those inside paragraphs and headings too."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    return [each for token in tokens for each in (token, *(token.children or ()))]


def links_of(page: Path) -> list[str]:
    """The addresses of links and pictures on a page."""
    return [str(address) for token in tokens_of(page) for name in ("href", "src") if (address := token.attrGet(name))]


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub and the site give the headings of a page."""
    tokens, found = tokens_of(page), []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            shown = [child.content for child in inline.children or () if child.type in ("text", "code_inline")]
            found.append(slug("".join(shown)))
    return set(found)


def slug(heading: str) -> str:
    """GitHub's anchor of a heading: lower case, no punctuation, a hyphen for each space."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def blocks_of(page: Path) -> list[Block]:
    """The blocks of code on a page, indented ones too."""
    name = page.relative_to(ROOT).as_posix()
    return [
        Block(name, (token.map or [0])[0] + 1, (token.info.split() or [""])[0], token.content)
        for token in tokens_of(page)
        if token.type in ("fence", "code_block")
    ]


def commands_of(block: Block) -> Iterator[str]:
    """The command lines of a block that call `salience`, each in one line."""
    for line in block.text.replace("\\\n", " ").splitlines():
        command = line.strip().removeprefix("$ ")
        if re.match(r"salience(?: |$)", command):
            yield command
