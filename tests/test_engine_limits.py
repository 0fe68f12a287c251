"""A single statement of the sqlite engine: ended by Ctrl-C, and by the limits of rows and steps."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.syntax import parse_text

PAIRS = """
.decl n(a: int)
.input n
.decl pair(a: int, b: int)
pair(A, B) :- n(A), n(B).
"""
NONE = """
.decl n(a: int)
.input n
.decl none(a: int)
none(A) :- n(A), n(B), n(C), A < B, B < C, C < A.
"""
CALLS = """
.decl n(a: int)
.input n
.function f(a: int, b: int) -> int
.decl p(a: int)
p(C) :- n(A), n(B), C = @f(A, B), C < 0.
"""
GROWING = """
.decl n(a: int)
.input n
.decl r(a: int, b: int)
r(A, A) :- n(A).
r(A, B) :- r(A, _), r(_, B).
"""
MANY = [(i,) for i in range(20_000)]


def program(text: str) -> Program:
    return link([parse_text(text, "p.dl", "p")])


def test_one_statement_stops_near_the_limit_of_rows() -> None:
    compiled = compile_program(program(PAIRS), Limits(rows=1000))
    with pytest.raises(ScheduleError) as caught:
        compiled.evaluate({"n": MANY})
    assert str(caught.value) == (
        "error[SL140] pair: not finished; no partial answer is returned\n"
        "  at p.dl:5:1\n"
        "  pair(A, B) :- n(A), n(B).\n"
        "  ^^^^\n"
        "  why: rule p/pair#1 matches too many rows at once: its rows need more room than 1000 rows\n"
        "  help: let the conditions of the rule share variables, so that fewer rows match, or raise the limit"
    )
    assert compiled.evaluate({"n": MANY[:30]}).count("pair") == 900


def test_one_statement_stops_at_the_limit_of_steps() -> None:
    compiled = compile_program(program(NONE), Limits(steps=1_000_000))
    with pytest.raises(ScheduleError) as caught:
        compiled.evaluate({"n": MANY})
    assert caught.value.message == "none: not finished; no partial answer is returned"
    assert (
        caught.value.reason == "rule p/none#1 matches too many rows at once: it took more than 1000000 steps"
    )
    assert compiled.evaluate({"n": MANY[:5]}).count("none") == 0


def test_a_recursive_statement_stops_too() -> None:
    with pytest.raises(ScheduleError, match="r: not finished"):
        compile_program(program(GROWING), Limits(rows=1000)).evaluate({"n": MANY})


def test_steps_are_counted_for_each_statement_alone() -> None:
    chain = ".decl e(a: int, b: int)\n.input e\n.decl r(a: int)\nr(0) :- e(0, _).\nr(Y) :- r(X), e(X, Y).\n"
    compiled = compile_program(program(chain), Limits(steps=200_000))
    # Loading the rows takes more steps, which do not count.
    assert compiled.evaluate({"e": [(i, i + 1) for i in range(20_000)]}).count("r") == 20_001


def interrupted(work: Callable[[], Any]) -> float:
    """Send Ctrl-C to this process while `work` runs in SQLite; how many seconds later it ended."""
    sent: list[float] = []

    def send() -> None:
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=send)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            work()
        return time.monotonic() - sent[0]
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("text", [PAIRS, NONE, CALLS, GROWING])
def test_ctrl_c_ends_a_statement(text: str) -> None:
    compiled = compile_program(program(text))
    functions: dict[str, Callable[..., int]] = {"f": lambda a, b: a + b} if text is CALLS else {}
    # Without being heard each would go on for a minute and more.
    assert interrupted(lambda: compiled.evaluate({"n": MANY}, functions)) < 5
    assert compiled.evaluate({"n": MANY[:3]}, functions).count("n") == 3
