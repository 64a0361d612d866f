"""A page is a list of sections of values, which are shown as HTML, as Markdown and in a terminal.

Every value is escaped here. The content security policy of the frame is a second defence: a browser runs and loads
nothing but what the page declares.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

from markupsafe import Markup
from rich import table as rich_table
from rich.box import SIMPLE_HEAD
from rich.text import Text

from salience.errors import printable
from salience.explainers.explanation import Explanation
from salience.report.pictures import Drawing, Styles, inline, picture
from salience.report.terminal import literal, titled
from salience.runs.card import markdown
from salience.templating import render

PACKAGE = "salience.report"
SHOWN = 280  # characters of a text; the rest is shown on demand
LONGEST = 200  # characters of a cell in Markdown
LISTED = 20  # rows in Markdown of a table that a file has in full
# Strengths whose colours a legend of heat maps shows, by whether there are scores against a class.
SAMPLES = {False: (0, 0.25, 0.5, 0.75, 1), True: (-1, -0.5, 0, 0.5, 1)}


class Marked(NamedTuple):
    """A part of a phrase that looks otherwise: bold, or as a class of the style sheets says."""

    text: str
    look: str = "strong"


Phrase = Sequence[str | Marked]  # a text, or its parts


class Cell(NamedTuple):
    """A cell with more than its text."""

    text: str
    small: str = ""  # what stands below the text, such as an interval or a unit
    best: bool = False  # of its column
    share: float | None = None  # of the rows of a label, as a blue background; below 0 of its errors, as a red one


class Table(NamedTuple):
    """A table; the first cell of a row names it. A cell that is a `Text` of rich is for the terminal alone."""

    head: Sequence[str | Cell]
    rows: Sequence[Sequence[str | Cell | Text]]
    texts: Collection[int] = ()  # which columns hold texts, beside the first; others hold numbers
    folded: str = ""  # what the table is folded under; empty to show it
    file: str = ""  # that has all rows, of which Markdown shows the first ones; empty to show all
    matrix: bool = False  # whether it is a matrix with colours, which Markdown leaves out
    in_place: bool = False  # whether it is in Markdown only, in the place of pictures and cards


class Lines(NamedTuple):
    """Lines with bullets, folded under a text if there is one."""

    lines: Sequence[str]
    folded: str = ""


class Title(NamedTuple):
    """The title of a part of a section."""

    text: str


class Figure(NamedTuple):
    """A picture with its caption, and its id."""

    caption: str
    drawing: Drawing
    name: str = ""


class Grid(NamedTuple):
    """Pictures or matrices beside each other."""

    blocks: Sequence[Figure | Table]


class Lists(NamedTuple):
    """Short lists beside each other: title to items, each with what stands small behind it."""

    lists: Mapping[str, Sequence[tuple[str, str]]]


class Card(NamedTuple):
    """A text, or several, with what is said of it: above, before each text or heat map, and by name below."""

    lead: Phrase = ""
    texts: Sequence[tuple[Phrase, str]] = ()
    facts: Sequence[tuple[str, str]] = ()
    maps: Sequence[tuple[Phrase, Explanation]] = ()


class Legend(NamedTuple):
    """What heat maps are of, before what their colours mean."""

    about: str
    signed: bool = False  # whether they have scores below 0


class Verdict(NamedTuple):
    """The sentence that a page is about."""

    text: str


class Facts(NamedTuple):
    """What is known of the subject of a page, by name."""

    facts: Sequence[tuple[str, str]]


class Decisions(NamedTuple):
    """Rows that a person decides about, as a csv file that the page's script saves has them.

    `choices` are what the column "decision" can have, each with what a reader sees.
    """

    rows: Sequence[Mapping[str, str]]
    choices: Sequence[tuple[str, str]]


class Folded(NamedTuple):
    """Blocks that only some readers look for, below a title."""

    title: str
    blocks: Sequence[Block]


# A `str` is a paragraph.
Block = str | Table | Lines | Title | Figure | Grid | Lists | Card | Legend | Verdict | Facts | Decisions | Folded


class Section(NamedTuple):
    """A section with its id."""

    name: str
    title: str
    blocks: Sequence[Block]


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
    # One style sheet and one script are allowed, which are known by their SHA-256.
    style_hash, script_hash = (
        f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" if part else "'none'"
        for part in (sheet, script)
    )
    policy = (
        f"default-src 'none'; img-src data:; style-src {style_hash}; script-src {script_hash}; base-uri 'none'; "
        "form-action 'none'"
    )
    page = render(
        PACKAGE, "page.html.jinja", policy=Markup(policy), title=title, style=Markup(sheet), body=Markup(body),
        script=Markup(script),
    )  # fmt: skip
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def page_of(
    title: str, about: str, sections: Sequence[Section], style: str = "", before: Sequence[Block] = (),
    explainer: str = "", script: str = "",
) -> str:  # fmt: skip
    """A page of sections as HTML. The same values give the same page.

    Args:
        title: a title as plain text.
        about: a paragraph below it; empty for none.
        sections: what it shows. The list of links to them is left out if there is one only.
        style: name of a style sheet in `templates/` beside those of all pages.
        before: blocks before the first section.
        explainer: of the explanations in cards.
        script: name of a script in `templates/`; empty for none.
    """
    styles = Styles()
    body = body_of(title, about, sections, before, explainer, styles)
    sheet = asset("blocks.css") + (asset(style) if style else "") + styles.sheet()
    return framed(title, sheet, body, asset("shared.js") + asset(script) if script else "")


def body_of(
    title: str = "", about: str = "", sections: Sequence[Section] = (), before: Sequence[Block] = (),
    explainer: str = "", styles: Styles | None = None,
) -> Markup:  # fmt: skip
    """What is inside the frame of a page, whose classes are added to `styles`; or blocks alone, for another page."""
    styles = styles or Styles()
    count = iter(range(1, 1_000_000))

    def svg(figure: Figure) -> Markup:
        """The picture; its caption also describes it to readers who do not see it."""
        return inline(picture(figure.drawing, f"picture-{next(count)}"), styles, printable(figure.caption))

    return render(
        PACKAGE, "blocks.html.jinja", title=title, about=about, before=before, sections=sections, svg=svg, cut=cut,
        kind=lambda block: type(block).__name__, shade=styles.shade, share=styles.share, samples=SAMPLES.get,
        heat_map=lambda explanation: heat_map(explanation, explainer, styles),
    )  # fmt: skip


def joined(title: str, words: str) -> str:
    """Words that begin with their condition, if that has a title, and else with a capital letter."""
    return f"{title}: {words}" if title else f"{words[0].upper()}{words[1:]}"


def cut(text: str, longest: int = SHOWN) -> tuple[str, str]:
    """The beginning of a text, to the end of a word if there is one near, and the rest, which may be empty."""
    if len(text) <= longest:
        return text, ""
    end = text.rfind(" ", longest // 2, longest + 1)
    end = longest if end < 0 else end
    return text[:end], text[end:]


def has_signs(explanations: Iterable[Explanation], explainer: str) -> bool:
    """Whether a word speaks against its class: an explainer without signed scores has none."""
    return any((explanation.scores[explainer] < 0).any() for explanation in explanations)


def heat_map(explanation: Explanation, explainer: str, styles: Styles) -> dict[str, Any]:
    """The words of an explanation: their texts, scores and classes, those that are shown and those on demand."""
    spaces = explanation.spaces
    words = [
        (spaces[number], text, score,
         f"word {styles.class_of(f'background: {shade}')}{' second' * (number == explanation.second)}")
        for number, (text, score, shade) in enumerate(explanation.coloured(explainer))
    ]  # fmt: skip
    length, fits = 0, len(words)
    for number, word in enumerate(explanation.words):
        length += len(spaces[number] + word)
        if length > SHOWN and fits == len(words):
            fits = max(number, 1)
    return {"start": words[:fits], "rest": words[fits:], "cut": explanation.cut}


def markdown_of(title: str, about: str, sections: Sequence[Section], before: Sequence[Block] = ()) -> str:
    """The same sections as Markdown of GitHub, without pictures and cards. Arguments as of `page_of`."""
    parts = [f"# {line_of(title)}", line_of(about), *in_markdown(before)]
    for section in sections:
        blocks = list(in_markdown(section.blocks))
        if any(block.startswith("|") for block in blocks):  # others have nothing but pictures
            parts += [f"## {line_of(section.title)}", *blocks]
    return "\n\n".join(parts) + "\n"


def in_markdown(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Lines):
            yield "\n".join(f"- {line_of(line)}" for line in block.lines)
        elif isinstance(block, Title):
            yield f"### {line_of(block.text)}"
        elif isinstance(block, Table) and not block.matrix:
            shown = block.rows[:LISTED] if block.file else block.rows
            lines = [f"| {' | '.join(map(cell_of, row))} |" for row in (block.head, *shown)]
            lines.insert(1, f"| {' | '.join(['---'] * len(block.head))} |")
            yield "\n".join(lines)
            if more := len(block.rows) - len(shown):
                yield f"{more:,} more are in {block.file}."
        elif isinstance(block, Folded):
            yield from in_markdown(block.blocks)
        elif isinstance(block, str):
            yield line_of(block)


def cell_of(cell: str | Cell | Text) -> str:
    """A cell in Markdown, cut where it is long; the best of its column is bold."""
    if isinstance(cell, Cell):
        if cell.best:
            return f"**{cell_of(cell.text)}** (best)"
        cell = f"{cell.text} ({cell.small})" if cell.small else cell.text
    return line_of(str(cell) if len(cell) <= LONGEST else f"{str(cell)[: LONGEST - 3]}...")


def line_of(text: str) -> str:
    """A text as one line of Markdown, escaped. A colon before a space begins neither an emoji nor an address."""
    return markdown(" ".join(text.split())).replace("\\: ", ": ")


def in_terminal(title: str, table: Table) -> rich_table.Table:
    """A table of rich, as narrow as can be, whose texts are shown as they are."""
    made = titled(title, box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)
    for number, name in enumerate(table.head):
        numbers = number and number not in table.texts
        text = Text("\n").join(map(literal, [name] if isinstance(name, str) else [name.text, *name.small.split("\n")]))
        made.add_column(text, justify="right" if numbers else "left", overflow="fold")
    for row in table.rows:
        texts = (cell.text if isinstance(cell, Cell) else cell for cell in row)
        made.add_row(*(text if isinstance(text, Text) else literal(text) for text in texts))
    return made
