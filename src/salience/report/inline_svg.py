"""SVG pictures inside a page whose content security policy allows no style attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.etree import ElementTree

from markupsafe import Markup

from salience.report.pictures import SVG, XLINK

REFERENCE = re.compile(r"^(?:url\()?#([^)]*)\)?$")


@dataclass
class Styles:
    """The styles of all pictures and coloured words of a page, as classes of one style sheet."""

    rules: list[str] = field(default_factory=list)
    classes: dict[str, str] = field(default_factory=dict)  # declarations -> name of the class

    def class_of(self, declarations: str) -> str:
        """The name of the class that replaces a style attribute."""
        return self.classes.setdefault(declarations, f"svg-{len(self.classes)}")

    def add(self, rules: str) -> None:
        """Takes over the content of a `<style>` element."""
        if rules not in self.rules:
            self.rules.append(rules)

    def sheet(self) -> str:
        """The style sheet as CSS.

        The rules come first: a class then overrides a rule for all elements, as the style attribute did.
        """
        classes = (f".{name} {{ {declarations} }}\n" for declarations, name in self.classes.items())
        return "".join([*(f"{rule}\n" for rule in self.rules), *classes])


def inline(svg: str, styles: Styles, description: str) -> Markup:
    """An SVG file of matplotlib as an element of an HTML page.

    Style attributes and `<style>` elements move to `styles`. Comments, metadata, and ids that nothing refers to are
    dropped, so that several pictures fit into one page.

    Args:
        description: what the picture shows, for readers who do not see it.
    """
    root = ElementTree.fromstring(svg)
    used = {
        match[1] for element in root.iter() for value in element.attrib.values() if (match := REFERENCE.match(value))
    }
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{SVG}}}style":
                styles.add(child.text or "")
            if child.tag in (f"{{{SVG}}}style", f"{{{SVG}}}metadata"):
                parent.remove(child)
        if "style" in parent.attrib:
            parent.set("class", styles.class_of(parent.attrib.pop("style")))
        if parent.get("id") not in used:
            parent.attrib.pop("id", None)
    root.set("role", "img")
    root.set("aria-label", description)
    markup = ElementTree.tostring(root, encoding="unicode")
    for declaration in (f' xmlns="{SVG}"', f' xmlns:xlink="{XLINK}"'):  # HTML needs none
        markup = markup.replace(declaration, "", 1)
    return Markup(markup)
