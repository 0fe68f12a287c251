"""The reference engine: pyDatalog, for small graphs and for checking the default engine.

pyDatalog loops for ever on some recursive rules, so recursion never reaches it: each question is about one relation,
what its rules read are facts, the relation itself included, and the questions repeat until no relation grows. It runs
in a process of its own with a time limit.
"""

from __future__ import annotations

import importlib.util
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from schedulog.errors import ScheduleError, UsageError
from schedulog.scheduler.engines.child import Child, ChildEnded, Reply, Time
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
        self._child = Child("schedulog.scheduler.engines.pydatalog_worker", limits)
        weakref.finalize(self, self._child.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._child.close()

    def engine(self, calls: Calls) -> SetEngine:
        """Return the engine of one evaluation."""
        return _PydatalogEngine(self, calls, self._child)


class _PydatalogEngine(SetEngine):
    """One evaluation: rows are kept here, pyDatalog sees one relation at a time."""

    def __init__(self, owner: SetEvaluator, calls: Calls, child: Child) -> None:
        super().__init__(owner, calls)
        self.child = child
        self.time = Time(self.limits.seconds)
        self.grown: Rule | None = None
        """A rule of a relation that grew in the round before."""

    def evaluate(self, sub: SubComponent) -> int:
        """Ask for each relation again until none grows; return how often all were asked."""
        for relation in sub.relations:
            self.tables[relation] |= self.stated(relation)
        self.grown = None
        for rounds in range(1, self.limits.rounds + 1):
            self.grown = self.round(sub)
            if self.grown is None or not sub.recursive:
                return rounds
        assert self.grown is not None
        raise self.unfinished(self.grown, f"after {self.limits.rounds} rounds")

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
        return self.rows_in(self.answer(question, rules), rules)

    def answer(self, question: Question, rules: Sequence[Rule]) -> list[list[int]]:
        """Return the answer's rows. Raises ScheduleError SL141 without one, SL130 and SL131 for failed calls."""
        guilty = rules[0]

        def call(name: str, arguments: Sequence[int]) -> Reply:
            nonlocal guilty
            rule, function = question.calls[name]
            try:
                return {"value": self.calls.call(function, arguments)}
            except CallFailed as error:
                guilty = rule
                return {"failed": str(error)}

        asked = {"facts": question.facts, "rules": question.rules, "goal": question.goal, "width": question.width,
                 "functions": sorted(question.calls)}  # fmt: skip
        try:
            reply = self.child.ask(asked, call, self.time)
        except ChildEnded as ended:
            raise self.no_answer(rules, str(ended)) from None
        if "rows" in reply:
            rows: list[list[int]] = reply["rows"]
            return rows
        if self.calls.failure is not None:
            raise self.calls.failure.error(guilty)
        raise self.no_answer(rules, f"it said: {reply['failed']}")

    def no_answer(self, rules: Sequence[Rule], reason: str) -> ScheduleError:
        """Return the error for a question without an answer."""
        rule = self.grown or rules[0]
        if self.grown is not None:
            reason += f", while rule {rule.name} still added rows"
        return ScheduleError(
            "SL141",
            f"pydatalog gave no answer for {rules[0].head.relation}",
            where=rule.place,
            reason=reason,
            help="ask the sqlite engine, which names a rule that does not end (SL140), or take a smaller graph",
        )

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
