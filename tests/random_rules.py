"""Do rules that nobody thought of end in right numbers or a clear error? python tests/random_rules.py [--sets N] [--graphs M]

Draws well-formed rule sets at random: bodies over the declared relations with recursion, negation, aggregates, arithmetic
and functions; heads that store values, refuse, split reductions, set limits, or fill relations of their own. Each schedules
recorded graphs, alone or beside classic, and the kernels run. Every pair must end in the numbers of the unfused reference
or in a SchedulogError, in time. Prints how many ended how, and what is neither; exit status 1 if anything is.
"""

from __future__ import annotations

import argparse
import gzip
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from types import FrameType

from schedulog.errors import Place, RuleError, SchedulogError
from schedulog.facts.graph import Graph
from schedulog.facts.ops import Op
from schedulog.facts.record import read_record
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.program import Relation
from schedulog.scheduler.schedule import Scheduler
from schedulog.trials.trial import SMALL_LIMITS
from schedulog.verify import Values, drawn, executed, first_difference, reference_values

RECORDS = Path(__file__).resolve().parent / "data" / "recorded.jsonl.gz"
FILE = "random.dl"
SECONDS = 60
"""What takes longer hangs."""
MOST_NODES, MOST_ELEMENTS, MOST_LETTERS = 150, 20_000, 100_000

OPS = ("EXP", "ADD", "MUL", "REDUCE_AXIS", "CONTIGUOUS", "ASSIGN", "CAST", "CONST", "BUFFER")
HEADS = ("realize",) * 5 + ("refused", "split", "default_limit", "stored")
TYPES = ("node", "node", "node", "int", "view")
NUMBERS = (0, 1, 2, 3, 7, 2000)


def random_rules(seed: int, packs: Sequence[str] = ()) -> str:
    """The text of a random rule set for use beside `packs`: up to nine rules, and the relations of their own.

    Clauses in which the checks find a mistake are left out; every twentieth rule set keeps them.
    """
    lines = _Rules(Random(seed)).text().splitlines()
    while seed % 20:
        try:
            load_program(packs, extra=[(FILE, "\n".join(lines))])
            break
        except RuleError as error:
            places = [e.where for e in (error, *error.others)]
            wrong = {place.line for place in places if isinstance(place, Place) and place.file == FILE}
            # A mistake may be told at a rule of core that a clause here feeds: the last clause goes then.
            wrong = wrong or {max(number for number, line in enumerate(lines, 1) if ":-" in line)}
            lines = [line for number, line in enumerate(lines, 1) if number not in wrong]
    return "\n".join([*lines, ""])


@cache
def _declared() -> tuple[Relation, ...]:
    return tuple(load_program(()).relations.values())


class _Rules:
    """A rule set under construction."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.own = {
            f"own{i}": [random.choice(TYPES) for _ in range(random.randint(1, 3))]
            for i in range(random.randint(1, 4))
        }
        self.columns = {r.name: [c.type for c in r.columns] for r in _declared()} | self.own

    def text(self) -> str:
        lines = [
            f".decl {name}({', '.join(f'a{i}: {kind}' for i, kind in enumerate(kinds))})"
            for name, kinds in self.own.items()
        ]
        lines += [f".open {name}" for name in self.own]
        heads = [self.random.choice((*HEADS, *self.own, *self.own)) for _ in range(self.random.randint(2, 9))]
        return "\n".join([*lines, *(_Clause(self, head).text() for head in heads), ""])


class _Clause:
    """One clause: conditions that bind variables come first, what only tests them last."""

    def __init__(self, rules: _Rules, head: str) -> None:
        self.rules = rules
        self.random = rules.random
        self.head = head
        self.bound: dict[str, list[str]] = {}
        self.count = 0

    def text(self) -> str:
        body = [self.atom(self.relation()) for _ in range(self.random.randint(1, 3))]
        extra = (self.negated, self.compared, self.computed, self.called, self.counted)
        body += [part for _ in range(self.random.randint(0, 2)) if (part := self.random.choice(extra)())]
        head = ", ".join(self.in_head(kind, body) for kind in self.rules.columns[self.head])
        return f"{self.head}({head}) :- {', '.join(body)}."

    def relation(self) -> str:
        names = sorted(self.rules.columns)
        likely = ("edge", "source", "op", "computed", "is_reduce", "position", "look", *self.rules.own)
        return self.random.choice(likely if self.random.random() < 0.75 else names)

    def fresh(self, kind: str) -> str:
        self.count += 1
        name = f"{kind[0].upper()}{self.count}"
        self.bound.setdefault(kind, []).append(name)
        return name

    def atom(self, relation: str) -> str:
        return f"{relation}({', '.join(self.term(kind) for kind in self.rules.columns[relation])})"

    def term(self, kind: str) -> str:
        chance = self.random.random()
        known = self.bound.get(kind, [])
        if known and chance < 0.55:
            return self.random.choice(known)
        if chance < 0.65:
            return "_"
        if chance < 0.75 and kind in ("op", "int"):
            return f'"{self.random.choice(OPS)}"' if kind == "op" else str(self.random.choice(NUMBERS))
        return self.fresh(kind)

    def in_head(self, kind: str, body: list[str]) -> str:
        known = self.bound.get(kind, [])
        if kind == "str":
            return '"kernel_nodes"' if self.random.random() < 0.3 else '"own_limit"'
        if kind == "int" and (not known or self.random.random() < 0.3):
            return str(self.random.choice(NUMBERS))
        if not known:
            body.insert(
                0, {"node": "computed({0})", "view": "look(_, _, {0})"}[kind].format(self.fresh(kind))
            )
        return self.random.choice(self.bound[kind])

    def tested(self, kind: str) -> str:
        known = self.bound.get(kind, [])
        return self.random.choice(known) if known and self.random.random() < 0.8 else "_"

    def negated(self) -> str:
        relation = self.relation()
        return f"not {relation}({', '.join(self.tested(kind) for kind in self.rules.columns[relation])})"

    def compared(self) -> str:
        kind = self.random.choice(("node", "int"))
        known = self.bound.get(kind, [])
        if not known:
            return ""
        sign = (
            self.random.choice(("!=", "=")) if kind == "node" else self.random.choice(("<", "<=", "!=", ">"))
        )
        other = self.random.choice(
            known if kind == "node" or self.random.random() < 0.5 else [*map(str, NUMBERS)]
        )
        return f"{self.random.choice(known)} {sign} {other}"

    def computed(self) -> str:
        known = self.bound.get("int", [])
        if not known:
            return ""
        one, two = self.random.choice(known), self.random.choice([*known, "1", "2", "3"])
        sign = self.random.choice(("+", "-", "*", "/", "\\"))
        return f"{self.fresh('int')} = {one} {sign} {two}"

    def called(self) -> str:
        known = self.bound.get("view", [])
        if not known:
            return ""
        one, two = self.random.choice(known), self.random.choice(known)
        tests = (f"@masked({one}) = 1", f"@overlap({one}, 4, {two}, 4) = 1", f"@shows_more({one}, {two}) = 1")
        if self.random.random() < 0.5:
            return self.random.choice(tests)
        sized = f"{self.fresh('int')} = @view_size({one})"
        return sized if self.random.random() < 0.4 else f"{self.fresh('view')} = @compose({one}, {two})"

    def counted(self) -> str:
        known = self.bound.get("node", [])
        if not known:
            return ""
        group = self.random.choice(known)
        inner = self.random.choice((f"edge({group}, U, _)", f"edge(U, {group}, _)", f"member({group}, U)"))
        kind = self.random.choice(("count", "count", "max", "min", "sum"))
        if kind == "count":
            return f"{self.fresh('int')} = #count {{ U : {inner} }}"
        return f"{self.fresh('int')} = #{kind} {{ P : {inner}, position(U, P) }}"


@dataclass(frozen=True, eq=False)
class Subject:
    """A recorded graph with its switches, contents for its inputs, and what it means."""

    name: str
    graph: Graph
    options: dict[str, int]
    wanted: Values


@cache
def subjects(count: int, file: Path = RECORDS) -> tuple[Subject, ...]:
    """Recorded graphs of moderate size that numpy can run, spread over the file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        records = [line for line in lines if len(line) < MOST_LETTERS]
    step = max(1, len(records) // count)
    spread = (records[i] for first in range(step) for i in range(first, len(records), step))
    found = (subject for line in spread if (subject := _subject(json.loads(line))) is not None)
    return tuple(islice(found, count))


def _subject(record: dict[str, object]) -> Subject | None:
    try:
        graph = read_record(record, str(record["case"])).graph
        sizes = sum(n.size for n in graph.nodes if n.op is not Op.SINK)
        if not 8 <= len(graph.nodes) <= MOST_NODES or sizes > MOST_ELEMENTS:
            return None
        flags = record["flags"]
        assert isinstance(flags, dict)
        wanted = reference_values(graph, drawn(graph, 0))
        return Subject(str(record["case"]), graph, {k: int(v) for k, v in flags.items()}, wanted)
    except (SchedulogError, ValueError, KeyError):
        return None


@dataclass
class Ends:
    """How the pairs of one rule set ended: right, the codes of errors, and what is neither, with the seconds of the slowest."""

    seed: int
    ends: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")


class Hang(Exception):
    """Raised after SECONDS."""


@contextmanager
def alarm() -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def beside(seed: int) -> tuple[str, ...]:
    """The packs beside which a random rule set is loaded: every other one is the whole policy."""
    return ("classic",) if seed % 2 else ()


def try_set(seed: int, graphs: int, device: str) -> Ends:
    """One rule set on the graphs."""
    found, packs = Ends(seed), beside(seed)
    try:
        program = load_program(packs, extra=[(FILE, random_rules(seed, packs))])
        scheduler = Scheduler(program, limits=SMALL_LIMITS)
    except RuleError as error:
        found.ends[f"rules refused, {error.code}"] += graphs
        return found
    for subject in subjects(graphs):
        begin = time.perf_counter()
        try:
            with alarm():
                end = _end(scheduler, subject, device)
        except Hang:
            end = "HANG"
        except Exception as error:  # noqa: BLE001 (what is no SchedulogError is what is looked for)
            end = f"CRASH {type(error).__name__}: {error}"
        if end.startswith(("CRASH", "WRONG", "HANG")):
            found.bad.append(f"rules {seed} on {subject.name}: {end}")
            end = end.partition(" ")[0]
        found.ends[end] += 1
        found.slowest = max(found.slowest, (time.perf_counter() - begin, f"rules {seed} on {subject.name}"))
    return found


def _end(scheduler: Scheduler, subject: Subject, device: str) -> str:
    try:
        decisions = scheduler.decide(subject.graph, {"verify": 1, **subject.options})
        schedule = scheduler.schedule(decisions)
        values = executed(schedule, device, drawn(schedule.graph, 0))
    except SchedulogError as error:
        return error.code
    problem = first_difference(schedule.graph, values, subject.wanted)
    return f"WRONG {problem}" if problem else "right"


def _job(job: tuple[int, int, str]) -> Ends:
    return try_set(*job)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sets", type=int, default=500)
    parser.add_argument("--graphs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="the first rule set")
    parser.add_argument("--device", default="numpy")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the rule sets instead")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.sets)
    if options.show:
        print("\n".join(f"% rules {seed}\n{random_rules(seed, beside(seed))}" for seed in seeds))
        return 0
    ends: Counter[str] = Counter()
    bad: list[str] = []
    slowest: list[tuple[float, str]] = []
    jobs = [(seed, options.graphs, options.device) for seed in seeds]
    begin = time.perf_counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        for found in pool.map(_job, jobs) if options.jobs > 1 else map(_job, jobs):
            ends += found.ends
            bad += found.bad
            slowest = sorted([*slowest, found.slowest], reverse=True)[:5]
            for line in found.bad:
                print(line, flush=True)
    for end, count in ends.most_common():
        print(f"{count:8} {end}")
    print(f"{sum(ends.values()):8} in all, {time.perf_counter() - begin:.0f} s; slowest:")
    for seconds, what in slowest:
        print(f"{seconds:8.2f} s {what}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
