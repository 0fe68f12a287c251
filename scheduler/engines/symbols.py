"""Strings of rules and facts as integers, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from schedulog.scheduler.language.program import Relation

_FIRST = -2
"""The number of the first string. Numbers go down, so that no string is taken for a node, a view or the common -1."""

Decode = Callable[[str, Sequence[int | None]], str]
"""Text of one row: `decode("op", (3, -2))` gives `op(3, "ADD")`; None is written `_`."""


class Symbols:
    """An interning table of strings: each string has one negative integer, from -2 downwards.

    A table may stand on a `base`, whose strings it knows and which it never changes: a compiled program keeps the
    strings of its rules, and each graph adds its own in a table of its own (`fork`).
    """

    def __init__(self, base: Symbols | None = None) -> None:
        self._numbers: dict[str, int] = dict(base._numbers) if base else {}
        self._texts: list[str] = list(base._texts) if base else []

    def __len__(self) -> int:
        return len(self._texts)

    def intern(self, text: str) -> int:
        """Return the number of `text`, giving it one when it is new."""
        number = self._numbers.get(text)
        if number is None:
            number = _FIRST - len(self._texts)
            self._texts.append(text)
            self._numbers[text] = number
        return number

    def find(self, text: str) -> int | None:
        """Return the number of `text`, or None when the table does not hold it."""
        return self._numbers.get(text)

    def text(self, number: int) -> str:
        """Return the string of `number`. Raises KeyError when it is not a string's number."""
        if not self.holds(number):
            raise KeyError(number)
        return self._texts[_FIRST - number]

    def holds(self, number: int) -> bool:
        """Say whether `number` stands for a string."""
        return 0 <= _FIRST - number < len(self._texts)

    def fork(self) -> Symbols:
        """Return a new table that knows the same strings and grows on its own."""
        return Symbols(self)

    def value(self, number: int, kind: str) -> int | str:
        """Return what `number` means in a column of type `kind`: itself in `int` columns, else its string if any."""
        if kind != "int" and self.holds(number):
            return self.text(number)
        return number


def decoder(symbols: Symbols, relations: dict[str, Relation]) -> Decode:
    """Return a function that writes a row as the rules would: `op(3, "ADD")`."""

    def decode(relation: str, row: Sequence[int | None]) -> str:
        columns = relations[relation].columns
        pairs = zip(row, columns, strict=True)
        inner = ", ".join(
            "_" if number is None else quote(symbols.value(number, column.type)) for number, column in pairs
        )
        return f"{relation}({inner})" if columns else relation

    return decode


def quote(value: int | str) -> str:
    """Write a constant as rule text does."""
    if isinstance(value, int):
        return str(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
