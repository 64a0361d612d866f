"""The names of the columns in a header."""

from __future__ import annotations

from salience.errors import InputError, quoted


def checked_names(names: list[str], source: object) -> list[str]:
    """The names of a header, without the white space around them.

    Raises:
        InputError: a name is empty or occurs twice.
    """
    names = [name.strip() for name in names]
    if "" in names:
        place = names.index("") + 1
        raise InputError(
            f"{source}: column {place} of {len(names)} has no name; name it in the header, or remove the column "
            "(pandas: to_csv(..., index=False))"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{source}: the header names the column {quoted(twice)} twice; rename one of the two")
    return names
