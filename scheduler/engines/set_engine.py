"""What the engines for small graphs share: rows in Python sets, and the evaluation around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from schedulog.errors import UsageError
from schedulog.scheduler.engines.driver import Statistics, evaluate
from schedulog.scheduler.engines.engine import DEFAULT_LIMITS, Functions, Limits, Row, Setting
from schedulog.scheduler.engines.functions import Calls, check_functions
from schedulog.scheduler.engines.model import Model
from schedulog.scheduler.engines.sql_compile import rows_of
from schedulog.scheduler.engines.strata import Strata, SubComponent, stratify
from schedulog.scheduler.engines.symbols import Symbols
from schedulog.scheduler.language.expression import HIGHEST, LOWEST
from schedulog.scheduler.language.program import Program

Facts = Mapping[str, Iterable[Row]]


class SetEvaluator:
    """Evaluates one program on graphs, with the engine that `engine` makes."""

    def __init__(self, program: Program, limits: Limits = DEFAULT_LIMITS) -> None:
        self.program = program
        self.limits = limits
        self.strata: Strata = stratify(program)
        self.symbols = Symbols()
        self.facts = rows_of((rule for rule in program.rules if not rule.body), self.symbols)

    def engine(self, calls: Calls) -> SetEngine:
        """Return the engine of one evaluation."""
        raise NotImplementedError

    def evaluate(
        self, facts: Facts, functions: Functions | None = None, symbols: Symbols | None = None
    ) -> Model:
        """Return the well-founded model; arguments and errors are those of the sqlite engine, and SL141."""
        functions, symbols = functions or {}, symbols or self.symbols
        check_functions(self.program.functions, functions)
        given = {name: list(rows) for name, rows in facts.items()}
        engine = self.engine(Calls(functions))
        engine.symbols = symbols
        for relation, rows in given.items():
            engine.load(relation, rows)
        statistics = self.run(engine, Setting(self.program, self.strata, symbols, functions, self.limits))
        counts = {name: len(rows) for name, rows in engine.tables.items()}
        derived = {name for component in self.strata.components for name in component.relations}
        also_given = {name: frozenset(rows) for name, rows in given.items() if name in derived}
        return Model(self.program, symbols, engine, counts, functions, statistics, also_given)

    def run(self, engine: SetEngine, setting: Setting) -> Statistics:
        """Evaluate all components."""
        for relation in self.strata.base:
            engine.tables[relation] |= engine.stated(relation)
        return evaluate(setting, engine)


class SetEngine:
    """Rows in sets. A relation without columns has the row (0,) inside, () outside."""

    def __init__(self, owner: SetEvaluator, calls: Calls) -> None:
        self.program = owner.program
        self.limits = owner.limits
        self.symbols = owner.symbols
        self.facts = owner.facts
        self.calls = calls
        self.tables: dict[str, set[Row]] = {name: set() for name in owner.program.relations}
        self.snapshots: dict[str, set[Row]] = {}
        self.given: dict[str, set[Row]] = {}

    def stated(self, relation: str) -> set[Row]:
        """Return the rows that are stated in the rules or handed in."""
        return set(self.facts.get(relation, ())) | self.given.get(relation, set())

    def load(self, relation: str, rows: Sequence[Row]) -> None:
        """Set the given rows of a relation. Raises UsageError SL702 for rows that do not fit it."""
        declared = self.program.relations.get(relation)
        if declared is None:
            raise UsageError(
                "SL702", f"no relation is called {relation}", help="load only declared relations"
            )
        if any(not _fits(row, declared.arity) for row in rows):
            raise UsageError("SL702", f"rows of {relation} do not fit its {declared.arity} integer columns")
        self.given[relation] = {tuple(row) or (0,) for row in rows}

    def evaluate(self, sub: SubComponent) -> int:
        """Compute the least fixpoint of a sub-component; return the number of rounds."""
        raise NotImplementedError

    def late(self, sub: SubComponent) -> str:
        """Nothing here takes long but what is asked of another process, which has a limit of its own."""
        return ""

    def count(self, relation: str) -> int:
        """Return the number of rows of a relation."""
        return len(self.tables[relation])

    def rows(self, relation: str) -> list[Row]:
        """Return the rows of a relation, sorted."""
        if not self.program.relations[relation].arity:
            return [()] if self.tables[relation] else []
        return sorted(self.tables[relation])

    def clear(self, relations: Sequence[str]) -> None:
        """Empty some relations."""
        for relation in relations:
            self.tables[relation] = set()

    def keep_snapshot(self, relation: str) -> None:
        """Let `not` read the rows of now."""
        self.snapshots[relation] = set(self.tables[relation])

    def drop_snapshot(self, relation: str) -> None:
        """Let `not` read no rows."""
        self.snapshots[relation] = set()


def _fits(row: Row, arity: int) -> bool:
    return len(row) == arity and all(type(value) is int and LOWEST <= value <= HIGHEST for value in row)
