"""The papers' tables: a folder or file a paper, with its runs, reports, published numbers and pictures.

A new table is a `Table` in a file of its own, and a loader and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from salience.papers.table import Table


def _uaftc_table2() -> Table[Any]:
    from salience.papers.uaftc.table2 import TABLE

    return TABLE


def _uaftc_figures() -> Table[Any]:
    from salience.papers.uaftc.figures import TABLE

    return TABLE


def _uaftc_synthetic() -> Table[Any]:
    from salience.papers.uaftc.synthetic import TABLE

    return TABLE


def _attentionmix_sweep() -> Table[Any]:
    from salience.papers.attentionmix.sweep import TABLE

    return TABLE


def _attentionmix_figures() -> Table[Any]:
    from salience.papers.attentionmix.figures import TABLE

    return TABLE


def _dropmix_table5() -> Table[Any]:
    from salience.papers.dropmix.table5 import TABLE

    return TABLE


def _vat() -> Table[Any]:
    from salience.papers.vat.tables import TABLE

    return TABLE


def _vat_controls() -> Table[Any]:
    from salience.papers.vat.controls import TABLE

    return TABLE


def _ssmix_table2() -> Table[Any]:
    from salience.papers.ssmix import TABLE

    return TABLE


def _attentionmix_tables() -> Table[Any]:
    from salience.papers.attentionmix.tables import TABLE

    return TABLE


def _dropmix_table3() -> Table[Any]:
    from salience.papers.dropmix.tables import BASE

    return BASE


def _dropmix_table4() -> Table[Any]:
    from salience.papers.dropmix.tables import OTHERS

    return OTHERS


def _dropmix_sparse() -> Table[Any]:
    from salience.papers.dropmix.tables import SPARSE

    return SPARSE


# Name on the command line -> loader. A table's module imports torch, for which `salience --help` must not wait.
TABLES: dict[str, Callable[[], Table[Any]]] = {
    "uaftc-table2": _uaftc_table2,
    "uaftc-figures": _uaftc_figures,
    "uaftc-synthetic": _uaftc_synthetic,
    "ssmix-table2": _ssmix_table2,
    "attentionmix-tables": _attentionmix_tables,
    "attentionmix-sweep": _attentionmix_sweep,
    "attentionmix-figures": _attentionmix_figures,
    "dropmix-table3": _dropmix_table3,
    "dropmix-table4": _dropmix_table4,
    "dropmix-sparse": _dropmix_sparse,
    "dropmix-table5": _dropmix_table5,
    "vat": _vat,
    "vat-controls": _vat_controls,
}

__all__ = ["TABLES", "Table"]
