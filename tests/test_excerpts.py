"""The line that an error shows: whole or around its carets, and nothing in it that a terminal would obey."""

from __future__ import annotations

import pytest

from schedulog.errors import Place, RuleError

A, B = "\N{REPLACEMENT CHARACTER}", " "
EXCERPTS = [
    (Place("f", 1, 3, 2, "p(X) :- q."), ("p(X) :- q.", "  ^^")),
    (Place("f", 1, 4, 1, "\tp\x1b[31m\u2028x\u202e"), (f"{B}p{A}[31m{A}x{A}", "   ^")),
    (Place("f", 1, 1, 9, "a" * 1000), ("a" * 160 + " ...", "^^^^^^^^^")),
    (Place("f", 1, 1, 999, "a" * 1000), ("a" * 160 + " ...", "^" * 160)),
    (Place("f", 1, 500, 2, "a" * 499 + "bb" + "c" * 999), ("... " + "a" * 80 + "bb" + "c" * 78 + " ...", " " * 84 + "^^")),
    (Place("f", 1, 1001, 1, "a" * 1000), ("... " + "a" * 160, " " * 164 + "^")),
    (Place("f", 1, 1, 1, "a" * 160), ("a" * 160, "^")),
]  # fmt: skip


@pytest.mark.parametrize(("place", "shown"), EXCERPTS)
def test_the_line_around_the_carets(place: Place, shown: tuple[str, str]) -> None:
    assert place.excerpt() == shown


def test_a_message_cannot_reach_the_terminal() -> None:
    error = RuleError("SL100", "`\x1b[31m` and \ud800", where="a\rb", reason="one\ntwo\u202e")
    assert str(error) == (
        "error[SL100] `\\x1b[31m` and \\ud800\n  at a\\rb\n  why: one\ntwo\\u202e"
    )  # fmt: skip
