"""A single statement of the sqlite engine: ended by Ctrl-C, and by the limits of rows and steps."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from schedulog.errors import ScheduleError, UsageError
from schedulog.scheduler.engines.budget import Budget
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.engines.sqlite import compile_program
from schedulog.scheduler.engines.sqlite_database import SqliteDatabase
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


@pytest.fixture
def press() -> Iterator[Callable[[], None]]:
    """Ctrl-C, as the terminal sends it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("text", [PAIRS, NONE, GROWING])
def test_ctrl_c_ends_a_statement(
    text: str, press: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    over = SqliteDatabase.over

    def pressed(database: SqliteDatabase) -> bool:
        if database.statements and len(looks) < 3:
            looks.append(database.statements)
            if len(looks) == 3:
                press()
        return over(database)

    looks: list[int] = []
    monkeypatch.setattr(SqliteDatabase, "over", pressed)
    compiled = compile_program(program(text))
    with pytest.raises(KeyboardInterrupt) as caught:
        compiled.evaluate({"n": MANY})
    # The statement was running for long then, and was ended by it.
    assert looks[0] == looks[2]
    assert str(caught.value.__cause__) == "interrupted"
    assert compiled.evaluate({"n": MANY[:3]}).count("n") == 3


def test_ctrl_c_in_a_function_ends_the_statement_that_calls_it(press: Callable[[], None]) -> None:
    def f(a: int, b: int) -> int:
        if (a, b) == (0, 1000):
            press()
        return a + b

    compiled = compile_program(program(CALLS))
    with pytest.raises(KeyboardInterrupt) as caught:
        compiled.evaluate({"n": MANY}, {"f": f})
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    assert compiled.evaluate({"n": MANY[:3]}, {"f": lambda a, b: -1 - a - b}).count("p") == 5


def test_a_statement_stops_when_its_component_has_used_up_its_time() -> None:
    compiled = compile_program(program(NONE), Limits(compute=0.0, slowest=0.0))
    with pytest.raises(ScheduleError) as caught:
        compiled.evaluate({"n": MANY})
    assert caught.value.message == "none: not finished; no partial answer is returned"
    assert caught.value.reason == (
        "rule p/none#1 matches too many rows at once: it took more than 0 s of computing"
    )
    # What is over before anybody looks is no matter.
    assert compiled.evaluate({"n": MANY[:5]}).count("none") == 0


def test_the_limit_of_time_grows_with_what_is_given() -> None:
    budget = Budget(Limits(compute=2.0, slowest=0.5))
    budget.begin(3)
    assert budget.seconds == 2.0
    budget.begin(10)
    assert budget.seconds == 5.0


def test_rounds_stop_when_their_component_has_used_up_its_time() -> None:
    text = ".decl n(a: int)\n.input n\n.decl up(a: int)\nup(A) :- n(A).\nup(B) :- up(A), B = A + 1.\n"
    with pytest.raises(ScheduleError) as caught:
        compile_program(program(text), Limits(compute=0.0, slowest=0.0)).evaluate({"n": [(0,)]})
    assert caught.value.message == "up: not finished after 0 s of computing; no partial answer is returned"
    assert caught.value.reason == "rule p/up#2 still adds rows, the newest is up(63)"


def test_the_limit_of_rows_grows_with_what_is_given() -> None:
    limits = Limits(growth=3, least_rows=10)
    compiled = compile_program(program(PAIRS), limits)
    assert compiled.evaluate({"n": MANY[:3]}).count("pair") == 9
    with pytest.raises(ScheduleError, match="pair: not finished at 60 rows"):
        compiled.evaluate({"n": MANY[:20]})


def test_open_atoms_are_named_though_each_waits_in_very_many_ways() -> None:
    text = (
        ".decl n(a: int)\n.input n\n.decl p(a: int, b: int)\n.decl q(a: int, b: int)\n"
        "q(A, B) :- n(A), n(B), p(A, _).\nq(A, B) :- n(A), n(B).\n"
        "p(A, B) :- n(A), n(B), q(_, _), not p(_, B).\np(A, B) :- n(A), q(_, B), p(_, _).\n"
    )
    with pytest.raises(ScheduleError) as caught:
        compile_program(program(text)).evaluate({"n": [(i,) for i in range(12)]})
    assert caught.value.code == "SL120"
    assert "p(0, 0) needs not p(0, 0)" in caught.value.reason


def test_time_counts_from_the_first_look_and_wholly_when_a_component_comes_again() -> None:
    budget = Budget(Limits(compute=0.02))
    budget.begin(0)
    for again in (False, True):
        budget.enter(1)
        burn(0.03)
        assert budget.late() is again
        budget.leave()
    budget.begin(0)
    budget.enter(1)
    budget.late()
    burn(0.03)
    assert budget.late()
    budget.leave()
    budget.enter(1)
    assert budget.late()


def test_an_evaluator_belongs_to_its_thread() -> None:
    evaluator = compile_program(program(PAIRS)).evaluator()
    with ThreadPoolExecutor() as pool, pytest.raises(UsageError) as caught:
        pool.submit(evaluator.evaluate, {"n": MANY[:3]}).result()
    assert str(caught.value) == (
        "error[SL707] an evaluator is used outside the thread that made it\n"
        "  help: give each thread its own: CompiledProgram.evaluate does"
    )
    assert evaluator.evaluate({"n": MANY[:3]}).count("pair") == 9


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
