"""The catalogue of the papers' tables. A new table is a `Table` in a file of its own, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import Any

# Name on the command line -> module and value. The modules import torch, for which `salience --help` must not wait.
PLACES = {
    "uaftc-table2": "uaftc.table2:TABLE",
    "uaftc-figures": "uaftc.figures:TABLE",
    "uaftc-synthetic": "uaftc.synthetic:TABLE",
    "ssmix-table2": "ssmix:TABLE",
    "attentionmix-tables": "attentionmix.tables:TABLE",
    "attentionmix-sweep": "attentionmix.sweep:TABLE",
    "attentionmix-figures": "attentionmix.figures:TABLE",
    "dropmix-table3": "dropmix.tables:BASE",
    "dropmix-table4": "dropmix.tables:OTHERS",
    "dropmix-sparse": "dropmix.tables:SPARSE",
    "dropmix-table5": "dropmix.table5:TABLE",
    "vat": "vat.tables:TABLE",
    "vat-controls": "vat.controls:TABLE",
    "claims": "claims:TABLE",
}
TABLES: dict[str, Callable[[], Any]] = {
    name: partial(resolve_name, f"salience.papers.{place}") for name, place in PLACES.items()
}


def table_named(name: str) -> Any:
    """The `Table` of the catalogue with this name."""
    return TABLES[name]()
