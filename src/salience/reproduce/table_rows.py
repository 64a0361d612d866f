"""The rows of a table of `salience reproduce`, as its pictures take them."""

from __future__ import annotations


def sets_of(rows: list[dict]) -> list[str]:
    return list(dict.fromkeys(row["set"] for row in rows))


def of_the_first_seed(rows: list[dict]) -> dict[str, dict]:
    """The row of each set that shows a single run."""
    return {
        name: min((row for row in rows if row["set"] == name), key=lambda row: row["seed"]) for name in sets_of(rows)
    }
