"""Pictures as parts of a page whose policy allows no style attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Comments are left alone: they hold labels, which must not become rules of the page.
PARTS = re.compile(
    r'<!--.*?-->|<style type="text/css">(?P<rules>[^<]*)</style>| style="(?P<style>[^"<>{}]*)"', re.DOTALL
)


@dataclass
class Styles:
    """The styles of several pictures, as classes of one style sheet."""

    rules: list[str] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)  # by declarations

    def class_of(self, declarations: str) -> str:
        return self.classes.setdefault(declarations, f"svg-{len(self.classes)}")

    def add(self, rules: str) -> None:
        if rules not in self.rules:
            self.rules.append(rules)

    def sheet(self) -> str:
        """Rules first: a class is stronger than a rule for every element, as an attribute was."""
        classes = (f".{name} {{ {declarations} }}\n" for declarations, name in self.classes.items())
        return "".join([*(f"{rule}\n" for rule in self.rules), *classes])


def inline(svg: str, styles: Styles) -> str:
    """An SVG file as matplotlib writes it, without its prologue; its styles go to `styles`, and it refers to them."""

    def moved(part: re.Match) -> str:
        if part["rules"] is not None:
            styles.add(part["rules"])
            return ""
        if part["style"] is not None:
            return f' class="{styles.class_of(part["style"])}"'
        return part[0]

    return PARTS.sub(moved, svg[svg.index("<svg") :])
