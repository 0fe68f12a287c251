"""The reference engine: pyDatalog, for small graphs and for checking the default engine.

pyDatalog loops for ever on some recursive rules, so recursion never reaches it: each question is about one relation,
what its rules read are facts, the relation itself included, and the questions repeat until no relation grows. It runs
in a process of its own with a time limit.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from schedulog.errors import ScheduleError, UsageError
from schedulog.scheduler.engines.engine import DEFAULT_LIMITS, Limits, Row, not_finished
from schedulog.scheduler.engines.functions import CallFailed, Calls
from schedulog.scheduler.engines.pydatalog_text import Question, ask_relation
from schedulog.scheduler.engines.set_engine import SetEngine, SetEvaluator
from schedulog.scheduler.engines.strata import SubComponent
from schedulog.scheduler.engines.symbols import decoder
from schedulog.scheduler.language.expression import HIGHEST, LOWEST
from schedulog.scheduler.language.program import Program, Rule


class PydatalogEvaluator(SetEvaluator):
    """Evaluates a program with pyDatalog. Close it, or use it in a `with` statement, to end its process.

    Raises UsageError SL705 when pyDatalog is not installed.
    """

    def __init__(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(program, limits)
        if importlib.util.find_spec("pyDatalog") is None:
            raise UsageError(
                "SL705", "pyDatalog is not installed", help="pip install pyDatalog, or use the sqlite engine"
            )
        self._process = _Process(limits.seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def engine(self, calls: Calls) -> SetEngine:
        """Return the engine of one evaluation."""
        return _PydatalogEngine(self, calls, self._process)


class _PydatalogEngine(SetEngine):
    """One evaluation: rows are kept here, pyDatalog sees one relation at a time."""

    def __init__(self, owner: SetEvaluator, calls: Calls, process: _Process) -> None:
        super().__init__(owner, calls)
        self.process = process

    def evaluate(self, sub: SubComponent) -> int:
        """Ask for each relation again until none grows; return how often all were asked."""
        for relation in sub.relations:
            self.tables[relation] |= self.stated(relation)
        grown: Rule | None = None
        for rounds in range(1, self.limits.rounds + 1):
            grown = self.round(sub)
            if grown is None or not sub.recursive:
                return rounds
        assert grown is not None
        raise self.unfinished(grown, f"after {self.limits.rounds} rounds")

    def round(self, sub: SubComponent) -> Rule | None:
        """Ask for every relation of a sub-component; return a rule of one that grew."""
        grown: Rule | None = None
        for relation in sub.relations:
            rules = [rule for rule in sub.rules if rule.head.relation == relation]
            if rules:
                rows = self.ask(relation, rules, sub)
                if not rows <= self.tables[relation]:
                    grown = rules[-1]
                self.tables[relation] |= rows
                if len(self.tables[relation]) > self.limits.rows:
                    raise self.unfinished(rules[-1], f"at {self.limits.rows} rows")
        return grown

    def ask(self, relation: str, rules: Sequence[Rule], sub: SubComponent) -> set[Row]:
        def rows_of(name: str, negated: bool) -> tuple[str, Sequence[Row]]:
            if negated and name in sub.negated:
                return f"n_{name}", sorted(self.snapshots[name])
            return f"{'s' if name == relation else 'p'}_{name}", sorted(self.tables[name])

        declared = self.program.relations
        question = ask_relation(declared[relation], rules, declared, self.symbols, rows_of)
        if not any(rule.startswith(f"{question.goal}(") for rule in question.rules):
            return set()
        return self.rows_in(self.process.ask(question, self.calls, rules), rules)

    def rows_in(self, answer: list[list[int]], rules: Sequence[Rule]) -> set[Row]:
        rows = {tuple(row) for row in answer}
        if any(not LOWEST <= value <= HIGHEST for row in rows for value in row):
            raise AssertionError(f"{rules[0].head.relation}: pyDatalog returned a number beyond 64 bits")
        return rows

    def unfinished(self, rule: Rule, what: str) -> ScheduleError:
        relation = rule.head.relation
        decode = decoder(self.symbols, self.program.relations)
        row = max(self.tables[relation])[: self.program.relations[relation].arity]
        return not_finished(rule, relation, what, decode(relation, row))


class _Process:
    """The child process. It is started when first asked and again after it was killed.

    Threads take turns, a question with all its calls each: it knows no other way to tell whose line it reads.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.turn = threading.Lock()
        self.child: subprocess.Popen[str] | None = None

    def started(self) -> subprocess.Popen[str]:
        if self.child is None:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "schedulog.scheduler.engines.pydatalog_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            )
        return self.child

    def close(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.communicate()
            self.child = None

    def ask(self, question: Question, calls: Calls, rules: Sequence[Rule]) -> list[list[int]]:
        """Return the answer's rows. Raises ScheduleError SL141 without one, SL130 and SL131 for failed calls."""
        with self.turn:
            return self.ask_alone(question, calls, rules)

    def ask_alone(self, question: Question, calls: Calls, rules: Sequence[Rule]) -> list[list[int]]:
        child = self.started()
        timer = threading.Timer(self.seconds, child.kill)
        timer.start()
        try:
            return self.talk(child, question, calls, rules)
        except (BrokenPipeError, EOFError, json.JSONDecodeError):
            raise self.silent(rules) from None
        finally:
            timer.cancel()

    def talk(
        self, child: subprocess.Popen[str], question: Question, calls: Calls, rules: Sequence[Rule]
    ) -> list[list[int]]:
        message = {
            "facts": question.facts,
            "rules": question.rules,
            "goal": question.goal,
            "width": question.width,
            "functions": sorted(question.calls),
        }
        guilty = rules[0]
        while True:
            reply = self.exchange(child, message)
            if "rows" in reply:
                rows: list[list[int]] = reply["rows"]
                return rows
            if "failed" in reply:
                raise self.failed(calls, guilty, rules, str(reply["failed"]))
            rule, name = question.calls[reply["call"]]
            try:
                message = {"value": calls.call(name, reply["arguments"])}
            except CallFailed as error:
                message, guilty = {"failed": str(error)}, rule

    def exchange(self, child: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(json.dumps(message) + "\n")
        child.stdin.flush()
        line = child.stdout.readline()
        if not line.endswith("\n"):
            raise EOFError
        reply: dict[str, Any] = json.loads(line)
        return reply

    def failed(self, calls: Calls, guilty: Rule, rules: Sequence[Rule], reason: str) -> ScheduleError:
        if calls.failure is None:
            return _no_answer(rules, f"gave no answer for {rules[0].head.relation}", f"it said: {reason}")
        return calls.failure.error(guilty)

    def silent(self, rules: Sequence[Rule]) -> ScheduleError:
        """Return the error for a process that ended, by its time limit or by itself."""
        assert self.child is not None
        code = self.child.wait()
        self.close()
        what = f"gave no answer in {self.seconds:g} s for {rules[0].head.relation}"
        return _no_answer(rules, what, f"its process ended with code {code}")


def _no_answer(rules: Sequence[Rule], what: str, reason: str) -> ScheduleError:
    return ScheduleError(
        "SL141",
        f"pydatalog {what}",
        where=rules[0].place,
        reason=reason,
        help="this says nothing about the rules: use the sqlite engine, or a smaller graph",
    )
