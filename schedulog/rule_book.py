"""Rules as an object: checked, tried and compared from Python, in a notebook or a test."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from schedulog.arguments import graph_behind, name_of, names_of, rule_parts
from schedulog.errors import RuleError
from schedulog.findings import Findings
from schedulog.run import Run, schedule_with
from schedulog.scheduler.coverage import Coverage, coverage
from schedulog.scheduler.html.fragment import Table, fragment
from schedulog.scheduler.language.diagnostic import nearest, plural, raise_all
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.program import Program, Relation, RuleInfo
from schedulog.scheduler.language.rule_file import Part, RuleFile, is_text, parsed
from schedulog.scheduler.language.sources import pack_names_of, read_sources, required_by
from schedulog.scheduler.rule_check import check_rules, each
from schedulog.scheduler.rule_list import rule_list
from schedulog.scheduler.rule_test_report import RuleTestReport, usable_engines
from schedulog.scheduler.rule_tests import Suite, run_suites, selected, suites
from schedulog.scheduler.schedule import Scheduler
from schedulog.verify import differences

if TYPE_CHECKING:
    from schedulog.difference import Diff
    from schedulog.facts.graph import Graph
    from schedulog.facts.node import Node
    from schedulog.scheduler.why.proof import Proof
    from schedulog.scheduler.why.whynot import WhyNot
    from schedulog.tensor import Tensor

    What: TypeAlias = Graph | Node | Tensor | Sequence[Node | Tensor]
    Options: TypeAlias = Mapping[str, int] | None


def load_rules(*rules: Part, disable: str | Sequence[str] = ()) -> Rules:
    """Rules to work with: names of packs, paths of rule files and of folders, and rules as text.

        mine = schedulog.load_rules("classic", "wide_sums.dl")
        mine.check()                        # what is wrong with them
        mine.test()                         # whether their tests hold, on every engine
        mine.why(graph, "realize(n12)")

    A string with a line break or `:-` is rules itself. `disable` leaves out rules by id. Everything is read at once; a file
    that changes later is read by another call. Raises RuleError SL107, SL108, SL123, SL125 and SL128 for what cannot be read.
    Mistakes in the rules are what `check` returns, and what the other methods raise.
    """
    return Rules(rule_parts("rules", rules), names_of("disable", disable))


class Rules:
    """A rule set. Iterating gives what is told about each rule; `rules["my/rule"]` that of one.

    Threads may share it. Every method that schedules raises RuleError for rules with mistakes.
    """

    def __init__(self, parts: Sequence[Part], disable: Sequence[str] = ()) -> None:
        errors: list[RuleError] = []
        self.parts = tuple(parts)
        self.disable = tuple(disable)
        self._sources = read_sources(parts, errors)
        raise_all(errors)
        self._schedulers: dict[str, Scheduler] = {}
        self._once = threading.RLock()

    @cached_property
    def program(self) -> Program:
        """The checked rules as data. Raises RuleError with all mistakes."""
        files = [parsed(file) for file in self._sources.files]
        return link(files, disable=self.disable, packs=self._sources.packs)

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The relations by name, with their columns and the sentence about each."""
        return self.program.relations

    def __iter__(self) -> Iterator[RuleInfo]:
        ids = {rule.id for rule in self.program.rules}
        return (info for name, info in self.program.infos.items() if name in ids)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, rule: object) -> bool:
        """Whether one of the rules has this id, or is told about by this `RuleInfo`."""
        return any(rule in (info.id, info) for info in self)

    def __getitem__(self, rule: str) -> RuleInfo:
        """What is told about the rule with this id. Raises KeyError with the nearest id."""
        found = self.program.infos.get(rule) if isinstance(rule, str) else None
        if found is None:
            raise KeyError(
                f"no rule has the id `{rule}`; {nearest(str(rule), self.program.infos)}".rstrip("; ")
            )
        return found

    def check(self) -> Findings:
        """All errors and warnings, of the rules and of their tests. Files are read again, as they are now.

        Packs that rules ask for (`requires`) are loaded with them.
        """
        return Findings(check_rules(self.parts))

    def test(
        self, select: str | None = None, engines: str | Sequence[str] = (), *, execute: bool = True
    ) -> RuleTestReport:
        """Run the tests of these rules: of packs that come with schedulog only where nothing else is named.

        `select` keeps the tests with this text in file, line or title; `engines` are all that are installed unless named;
        `execute` runs kernels for `result ~ numpy`. Files are read again, as they are now.
        Raises RuleError for mistakes, SL161 when no test is selected; UsageError SL703 and SL705 for engines.
        """
        text = None if select is None else name_of("select", select, "give a text")
        chosen = selected(self._suites(), text)
        present, missing = usable_engines(names_of("engines", engines) or None)
        results = run_suites(chosen, present, execute=differences if execute else None, seeds=(1,))
        return RuleTestReport(results, present, missing)

    def coverage(self) -> Coverage:
        """What the tests of these rules show about them, as `schedulog coverage`; the rules are those of `test`."""
        return coverage(selected(self._suites(), None))

    def _suites(self) -> list[Suite]:
        """The tests, with the packs that are asked for; those of built-in packs only where nothing else is named."""
        own = bool(self._sources.own_files)
        named = pack_names_of(self.parts) if own else ()
        rest: list[Part] = [part for part in self.parts if part not in named] if own else list(self.parts)
        return suites(rest, [*named, *required_by(self.parts)])

    def schedule(
        self,
        graph: What,
        *,
        engine: str = "sqlite",
        options: Options = None,
        capture: Any = None,
        simplify: bool = True,
    ) -> Run:
        """Schedule a graph by these rules; see `schedulog.schedule`, whose arguments and errors are the same."""
        return schedule_with(
            self._scheduler(name_of("engine", engine)), graph, self._given, options=options, capture=capture, simplify=simplify
        )  # fmt: skip

    def why(self, graph: What, fact: str, options: Options = None) -> Proof:
        """Why a fact about a graph holds; see `Run.why`."""
        return self.schedule(graph, options=options).why(fact)

    def whynot(self, graph: What, fact: str, options: Options = None) -> WhyNot:
        """Why a fact about a graph does not hold; see `Run.whynot`."""
        return self.schedule(graph, options=options).whynot(fact)

    def diff(
        self, other: Rules | Part | Sequence[Part], *graphs: What, **more: Any
    ) -> Diff | tuple[Diff, ...]:
        """What changes for graphs under `other` rules: one result for one graph, a tuple for several.

        `more` are arguments of `schedulog.diff`: options, device, seed. Raises UsageError SL704 without a graph.
        """
        from schedulog.difference import diff

        after = other.program if isinstance(other, Rules) else other
        found = tuple(diff(graph_behind(graph), self.program, after, **more) for graph in graphs or [None])
        return found[0] if len(found) == 1 else found

    def _scheduler(self, engine: str) -> Scheduler:
        with self._once:
            if engine not in self._schedulers:
                self._schedulers[engine] = Scheduler(self.program, engine)
            return self._schedulers[engine]

    @property
    def _given(self) -> tuple[tuple[Part, ...], tuple[str, ...]]:
        """The rules as a captured call keeps them: packs by name, the rest as the text that was read."""
        left_out = (name for pack in self._sources.own_packs for name in pack.disable)
        return (*pack_names_of(self.parts), *self._sources.own_files), (*self.disable, *left_out)

    def __str__(self) -> str:
        rows = [(r.id, r.kind, r.title) for r in rule_list(self.program)]
        width = max((len(name) for name, _, _ in rows), default=0)
        return "\n".join(f"{name:<{width}}  {kind:<7}  {title}".rstrip() for name, kind, title in rows)

    def __repr__(self) -> str:
        return f"Rules({', '.join(map(_shown, self.parts))})"

    def _repr_html_(self) -> str:
        try:
            rows = [(r.id, r.kind, r.status, r.rung, r.place, r.title) for r in rule_list(self.program)]
        except RuleError as error:
            return Findings(each(error))._repr_html_()
        title = f"{plural(len(rows), 'rule')}: {', '.join(map(_shown, self.parts))}"
        return fragment(title, Table(("rule", "kind", "status", "rung", "place", "title"), rows))


def _shown(part: Part) -> str:
    """A part as `repr` shows it: a name, a path, or the first line of a text."""
    if isinstance(part, RuleFile):
        return part.name
    text = str(part)
    if not is_text(text):
        return repr(text)
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return repr(line if len(line) <= 40 else f"{line[:39]}…")
