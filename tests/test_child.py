"""Engines in a process of their own: time, memory and Ctrl-C end it, and the next question gets a new one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

import pytest

from schedulog.errors import ScheduleError
from schedulog.scheduler.engines.child import Child, ChildEnded, Time, restrict
from schedulog.scheduler.engines.clingo import ClingoEvaluator
from schedulog.scheduler.engines.engine import Limits
from schedulog.scheduler.engines.pydatalog import PydatalogEvaluator
from schedulog.scheduler.engines.set_engine import SetEvaluator
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.program import Program
from schedulog.scheduler.language.syntax import parse_text

GROWING = """.decl n(a: int)
.input n
.decl up(a: int, b: int)
up(A, A) :- n(A).
up(A, C) :- up(A, B), up(_, D), C = B + D + 1.
"""
PRODUCT = """.decl n(a: int)
.input n
.decl all(a: int, b: int, c: int, d: int)
all(A, B, C, D) :- n(A), n(B), n(C), n(D).
"""
MANY = [(i,) for i in range(1000)]


def program(text: str) -> Program:
    return link([parse_text(text, "p.dl", "p")])


def refused(evaluator: SetEvaluator, rows: Sequence[tuple[int, ...]]) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        evaluator.evaluate({"n": rows})
    return caught.value


def test_clingo_ends_on_rules_that_grow_for_ever() -> None:
    evaluator = ClingoEvaluator(program(GROWING), Limits(seconds=1.0))
    found = refused(evaluator, [(0,), (1,)])
    head, count, _ = re.split(r"(\d+)(?=\n  help: )", str(found))
    assert head == (
        "error[SL142] clingo gives no verdict\n"
        "  at p.dl:5:1\n"
        "  up(A, C) :- up(A, B), up(_, D), C = B + D + 1.\n"
        "  ^^\n"
        "  why: it had not ended after 1 s; most calls came from rule p/up#2, for up: "
    )
    assert int(count) > 0
    assert found.help == "ask the sqlite engine, which names a rule that does not end (SL140)"
    # A new process serves what comes next.
    assert refused(evaluator, [(0,)]).code == "SL142"


def test_clingo_ends_when_it_needs_too_much_memory() -> None:
    found = refused(ClingoEvaluator(program(PRODUCT), Limits(memory=160 * 2**20)), MANY)
    assert (found.code, found.reason) == ("SL142", "it needs more than 160 MiB of memory")


def test_pydatalog_has_its_time_for_all_questions_together() -> None:
    with PydatalogEvaluator(program(GROWING), Limits(seconds=2.0)) as evaluator:
        found = refused(evaluator, [(0,), (1,)])
        assert (found.code, found.message) == ("SL141", "pydatalog gave no answer for up")
        assert found.reason == "it had not ended after 2 s, while rule p/up#2 still added rows"
        assert evaluator.evaluate({"n": []}).count("up") == 0


@pytest.fixture
def pressed() -> Iterator[None]:
    """Ctrl-C, half a second from now."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    yield
    timer.cancel()
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("pressed")
@pytest.mark.parametrize("text", [GROWING, PRODUCT])
def test_ctrl_c_ends_clingo(text: str) -> None:
    evaluator = ClingoEvaluator(program(text))
    with pytest.raises(KeyboardInterrupt):
        evaluator.evaluate({"n": MANY})
    assert evaluator.evaluate({"n": []}).count("n") == 0


def test_a_process_that_ends_by_itself_is_told() -> None:
    child = Child("schedulog.scheduler.engines.no_such_module", Limits())
    with pytest.raises(ChildEnded, match=r"^its process ended with code 1$"):
        child.ask({}, lambda name, arguments: {}, Time(60.0))


def test_a_process_without_a_parent_ends_by_its_limit_of_time() -> None:
    code = f"from {restrict.__module__} import restrict\nrestrict({{'seconds': -1.5, 'memory': 2**33}})\nwhile True: pass"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == -signal.SIGXCPU
