"""The papers' tables: a folder or file a paper, with its runs, reports, published numbers and pictures.

A new table is a `Table` in a file of its own, and a loader and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from salience.reproduce.table import Table


def _uaftc_table2() -> Table[Any]:
    from salience.reproduce.uaftc.table2 import TABLE

    return TABLE


def _uaftc_figures() -> Table[Any]:
    from salience.reproduce.uaftc.figures import TABLE

    return TABLE


def _uaftc_synthetic() -> Table[Any]:
    from salience.reproduce.uaftc.synthetic import TABLE

    return TABLE


def _attentionmix_figures() -> Table[Any]:
    from salience.reproduce.attentionmix.figures import TABLE

    return TABLE


def _dropmix_table5() -> Table[Any]:
    from salience.reproduce.dropmix.table5 import TABLE

    return TABLE


def _vat() -> Table[Any]:
    from salience.reproduce.vat.tables import TABLE

    return TABLE


# Name on the command line -> loader. A table's module imports torch, for which `salience --help` must not wait.
TABLES: dict[str, Callable[[], Table[Any]]] = {
    "uaftc-table2": _uaftc_table2,
    "uaftc-figures": _uaftc_figures,
    "uaftc-synthetic": _uaftc_synthetic,
    "attentionmix-figures": _attentionmix_figures,
    "dropmix-table5": _dropmix_table5,
    "vat": _vat,
}

__all__ = ["TABLES", "Table"]
