"""A third opinion: the whole program handed to clingo, an answer set solver.

A total well-founded model is the only stable model (Van Gelder, Ross and Schlipf, JACM 38(3), 1991), so where the
other engines find a model, clingo must find that one and no other. A single stable model alone does not show that the
well-founded model is total; no or several ones show that it is not. clingo counts with 32 bits: larger numbers are
refused. It runs in a process of its own with limits of time and memory, for nothing else ends its grounding.
"""

from __future__ import annotations

import importlib.util
import time
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence

from schedulog.errors import Place, ScheduleError, UsageError
from schedulog.scheduler.engines.child import Child, ChildEnded, Reply, Time
from schedulog.scheduler.engines.clingo_text import ClingoText, fact_lines
from schedulog.scheduler.engines.driver import Statistics
from schedulog.scheduler.engines.engine import DEFAULT_LIMITS, Limits, Row, Setting
from schedulog.scheduler.engines.functions import CallFailed, Calls
from schedulog.scheduler.engines.keys import check_keys
from schedulog.scheduler.engines.set_engine import SetEngine, SetEvaluator
from schedulog.scheduler.language.expression import postorder
from schedulog.scheduler.language.program import Aggregate, Compare, Const, Program, Rule

_MOST = 2**31 - 1


class ClingoEvaluator(SetEvaluator):
    """Evaluates a program with clingo. Raises UsageError SL705 when clingo is not installed."""

    def __init__(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(program, limits)
        if importlib.util.find_spec("clingo") is None:
            raise UsageError(
                "SL705", "clingo is not installed", help="pip install clingo, or use the sqlite engine"
            )
        self._child = Child("schedulog.scheduler.engines.clingo_worker", limits)
        weakref.finalize(self, self._child.close)

    def engine(self, calls: Calls) -> SetEngine:
        """Return the holder of one evaluation's rows."""
        return SetEngine(self, calls)

    def run(self, engine: SetEngine, setting: Setting) -> Statistics:
        """Ground and solve. Raises ScheduleError SL142 when clingo gives no verdict."""
        begin = time.perf_counter()
        rows = {name: engine.stated(name) for name in engine.tables}
        self.check_range(rows)
        models = _Question(self.program, engine).models(self._child, rows)
        if len(models) != 1:
            found = "no stable model" if not models else "several stable models"
            raise _no_verdict(f"the program has {found}", "ask the sqlite engine which atoms are undefined")
        engine.tables.update(models[0])
        self.check_sums(engine)
        check_keys(setting, sorted(engine.tables), engine)
        return Statistics(seconds=time.perf_counter() - begin)

    def check_range(self, rows: dict[str, set[Row]]) -> None:
        numbers = [value for table in rows.values() for row in table for value in row]
        numbers += [
            c.value for rule in self.program.rules for c in _constants(rule) if isinstance(c.value, int)
        ]
        if any(abs(value) > _MOST for value in numbers):
            raise _no_verdict("a number needs more than 32 bits", "use another engine")

    def check_sums(self, engine: SetEngine) -> None:
        """Refuse when some #sum of the model's numbers could have wrapped."""
        if any(
            isinstance(item, Aggregate) and item.op == "sum" for r in self.program.rules for item in r.body
        ):
            tables = engine.tables.values()
            largest = max((abs(value) for table in tables for row in table for value in row), default=0)
            if largest * max(1, *(len(table) for table in tables)) ** 2 > _MOST:
                raise _no_verdict("a sum may need more than 32 bits", "use another engine")


def _constants(rule: Rule) -> list[Const]:
    sides = [side for item in rule.body if isinstance(item, Compare) for side in (item.left, item.right)]
    return [part for side in sides for part in postorder(side) if isinstance(part, Const)]


def _no_verdict(reason: str, help: str, where: Place | str = "") -> ScheduleError:
    return ScheduleError("SL142", "clingo gives no verdict", where=where, reason=reason, help=help)


class _Question:
    """One call of clingo: the functions it asks for, and who is to blame where one fails or grounding does not end."""

    def __init__(self, program: Program, engine: SetEngine) -> None:
        self.program = program
        self.engine = engine
        self.text = ClingoText(engine.symbols)
        self.called: Counter[str] = Counter()
        self.guilty: Rule | None = None
        self.too_wide = False

    def models(self, child: Child, rows: dict[str, set[Row]]) -> list[dict[str, set[Row]]]:
        """Return at most two stable models. Raises ScheduleError SL130, SL131 for failed calls, SL142 for no end."""
        lines = list(self.text.program(self.program.rules))
        lines += [line for relation, table in rows.items() for line in fact_lines(relation, sorted(table))]
        question = {"text": "\n".join(lines), "functions": sorted(self.text.calls)}
        try:
            reply = child.ask(question, self.call, Time(self.engine.limits.seconds))
        except ChildEnded as ended:
            reply = Reply(failed=str(ended))
        if self.guilty is not None and self.engine.calls.failure is not None:
            raise self.engine.calls.failure.error(self.guilty)
        if self.too_wide:
            raise _no_verdict("a number needs more than 32 bits", "use another engine")
        if "failed" in reply:
            raise self.not_ended(str(reply["failed"]))
        return [self.read(model) for model in reply["models"]]

    def not_ended(self, reason: str) -> ScheduleError:
        """Return the error for no answer. Only functions make new numbers, so the rule that calls most grows, if any does."""
        help = "ask the sqlite engine, which names a rule that does not end (SL140)"
        if not self.called:
            return _no_verdict(reason, help)
        ((name, count),) = self.called.most_common(1)
        rule, _ = self.text.calls[name]
        reason += f"; most calls came from rule {rule.name}, for {rule.head.relation}: {count}"
        return _no_verdict(reason, help, rule.place)

    def read(self, model: Mapping[str, list[list[int]]]) -> dict[str, set[Row]]:
        return {name: set(map(tuple, model.get(name, ()))) for name in self.program.relations}

    def call(self, name: str, arguments: Sequence[int]) -> Reply:
        """Compute what clingo calls as `@name`; it goes on without the value where there is none."""
        self.called[name] += 1
        rule, function = self.text.calls[name]
        try:
            value = self.engine.calls.call(function, arguments)
        except CallFailed as error:
            self.guilty = self.guilty or rule
            return {"failed": str(error)}
        if abs(value) > _MOST:
            self.too_wide = True
            return {"failed": "a number needs more than 32 bits"}
        return {"value": value}
