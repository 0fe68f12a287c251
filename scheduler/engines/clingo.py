"""A third opinion: the whole program handed to clingo, an answer set solver.

A total well-founded model is the only stable model (Van Gelder, Ross and Schlipf, JACM 38(3), 1991), so where the
other engines find a model, clingo must find that one and no other. A single stable model alone does not show that the
well-founded model is total; no or several ones show that it is not. clingo counts with 32 bits: larger numbers are
refused.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any

from schedulog.errors import ScheduleError, UsageError
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

    def engine(self, calls: Calls) -> SetEngine:
        """Return the holder of one evaluation's rows."""
        return SetEngine(self, calls)

    def run(self, engine: SetEngine, setting: Setting) -> Statistics:
        """Ground and solve. Raises ScheduleError SL142 when clingo gives no verdict."""
        begin = time.perf_counter()
        rows = {name: engine.stated(name) for name in engine.tables}
        self.check_range(rows)
        models = _Solver(self.program, engine).models(rows)
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


def _no_verdict(reason: str, help: str) -> ScheduleError:
    return ScheduleError("SL142", "clingo gives no verdict", reason=reason, help=help)


class _Solver:
    """One call of clingo."""

    def __init__(self, program: Program, engine: SetEngine) -> None:
        # clingo is an optional dependency without types.
        self.clingo: Any = importlib.import_module("clingo")
        self.program = program
        self.engine = engine
        self.text = ClingoText(engine.symbols)
        self.guilty: Rule | None = None
        self.too_wide = False

    def models(self, rows: dict[str, set[Row]]) -> list[dict[str, set[Row]]]:
        """Return at most two stable models. Raises ScheduleError SL130, SL131 for failed calls."""
        control = self.clingo.Control(["--models=2"], logger=lambda code, message: None)
        lines = list(self.text.program(self.program.rules))
        lines += [line for relation, table in rows.items() for line in fact_lines(relation, sorted(table))]
        control.add("base", [], "\n".join(lines))
        control.ground([("base", [])], context=self)
        if self.guilty is not None and self.engine.calls.failure is not None:
            raise self.engine.calls.failure.error(self.guilty)
        if self.too_wide:
            raise _no_verdict("a number needs more than 32 bits", "use another engine")
        with control.solve(yield_=True) as handle:
            return [self.read(model) for model in handle]

    def read(self, model: Any) -> dict[str, set[Row]]:
        found: dict[str, set[Row]] = {name: set() for name in self.program.relations}
        for atom in model.symbols(atoms=True):
            found[atom.name[len("p_") :]].add(tuple(argument.number for argument in atom.arguments))
        return found

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the function that clingo calls as `@name`."""
        if name not in self.text.calls:
            raise AttributeError(name)
        rule, function = self.text.calls[name]
        return lambda *arguments: self.call(rule, function, arguments)

    def call(self, rule: Rule, function: str, arguments: tuple[Any, ...]) -> Any:
        if any(argument.type != self.clingo.SymbolType.Number for argument in arguments):
            # The least or most of nothing reaches a function before its own test drops it.
            return []
        try:
            value = self.engine.calls.call(function, [argument.number for argument in arguments])
        except CallFailed:
            self.guilty = self.guilty or rule
            return []
        if abs(value) > _MOST:
            self.too_wide = True
            return []
        return self.clingo.Number(value)
