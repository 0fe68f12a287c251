"""`schedulog profile`: where the evaluation of the rules spends its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from schedulog.cli.inputs import check_options, pairs
from schedulog.cli.output import print_json, print_table, working
from schedulog.cli.run import AsJson, Engine, GraphPath, Options, Rules
from schedulog.cli.source import Constants, Dims, Shapes, bindings, read_graph_file, tell_assumed
from schedulog.errors import SchedulogError

if TYPE_CHECKING:
    from schedulog.facts.simplify import Simplified
    from schedulog.scheduler.language.program import Program
    from schedulog.scheduler.profile import ClauseProfile, JoinOrder, JoinStep, Profile

_NAMES: Final = 60
"""Characters of the names of a component's relations."""


def profile_command(
    graph: GraphPath,
    rules: Rules = None,
    top: Annotated[int, typer.Option(min=1, help="Clauses, components and relations to show.")] = 10,
    engine: Engine = "sqlite",
    dim: Dims = None,
    shape: Shapes = None,
    const: Constants = None,
    set_: Options = None,
    max_rounds: Annotated[
        int | None, typer.Option(min=1, help="Give up a recursion after so many rounds.")
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="RUN.db", help="Save the run with what each clause cost.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say what each clause of the rules costs on a graph: time, rounds, rows looked at, new facts, join order, hints."""
    from schedulog.facts.simplify import simplify
    from schedulog.scheduler.engines.engine import Limits
    from schedulog.scheduler.language.load import load_program
    from schedulog.scheduler.profile import profile
    from schedulog.scheduler.record.run_file import check_destination

    if save is not None:
        check_destination(save)
    options = pairs(set_ or (), "--set", int)
    program = load_program(tuple(rules or ("classic",)))
    check_options(program, options)
    given = read_graph_file(graph, bindings(dim, shape, const))
    limits = Limits() if max_rounds is None else Limits(rounds=max_rounds)
    with working(f"profiling {len(given.nodes)} nodes"):
        simplified = simplify(given, preserves="values")
        found = profile(simplified.graph, program, engine, options, limits)
        if save is not None and found.decisions is not None:
            _save(found, simplified, program, options, save)
    if as_json:
        print_json(_record(found, given.assumed))
        if found.error is not None:
            # It stands in the record: what raised it would be a second one.
            return 1
    else:
        tell_assumed(given.assumed)
        _tell(found, top)
    return _ended(found, save)


def _ended(found: Profile, saved: str | None) -> int:
    """Raise what ended the evaluation; say where the run is saved."""
    if found.error is not None:
        raise found.error
    if saved is not None:
        typer.echo(f"\nsaved: {saved}   (schedulog sql {saved} dear-rules)", err=True)
    return 0


def _save(
    found: Profile, simplified: Simplified, program: Program, options: Mapping[str, int], path: str
) -> None:
    """Save the run that was profiled, in the place of what is in the file. Raises DatabaseError, and ScheduleError."""
    from schedulog.facts.simplify import rewrite_rows
    from schedulog.scheduler.record.run_file import save
    from schedulog.scheduler.record.run_record import RunRecord
    from schedulog.scheduler.schedule import Scheduler

    assert found.decisions is not None
    schedule = Scheduler(program).schedule(found.decisions)
    rewrites = tuple(rewrite_rows(simplified))
    save(
        RunRecord(
            program, found.engine, options, found.decisions, schedule, rewrites=rewrites, profile=found
        ),
        path,
    )


def _tell(found: Profile, top: int) -> None:
    graph = found.graph
    counts = f"{found.rounds} rounds, {found.statements} statements"
    typer.echo(
        f"{graph.name}: {len(graph.nodes)} nodes, {found.engine}: {found.ms:.1f} ms"
        + (f", {counts}" if found.clauses else "")
    )
    if found.clauses:
        _tell_clauses(found, top)
        _tell_components(found, top)
    elif found.error is None:
        typer.echo(f"{found.engine} does not work clause by clause; the sqlite engine tells more")
    if found.rows:
        typer.echo("")
        print_table(("relation", "rows"), list(found.rows.items())[:top])


def _tell_clauses(found: Profile, top: int) -> None:
    shown, rest = found.clauses[:top], found.clauses[top:]
    rows = [_clause_row(clause, found.ms) for clause in shown]
    if rest:
        ms = sum(clause.ms for clause in rest)
        rows.append((f"{len(rest)} more", *_time(ms, found.ms), "", "", "", ""))
    typer.echo("")
    _print(("clause", "ms", "%", "rounds", "tried", "fired", "new"), rows)
    typer.echo("")
    for clause in shown:
        place = clause.rule.place
        typer.echo(f"{clause.rule.name}  {place.file}:{place.line}")
        for order in clause.orders:
            typer.echo(f"  order  {_order(order)}")
        for hint in clause.hints:
            typer.echo(f"  hint   {hint}")


def _clause_row(clause: ClauseProfile, total: float) -> tuple[str, ...]:
    tried, fired = ("-" if count is None else str(count) for count in (clause.tried, clause.fired))
    counts = (str(clause.rounds), tried, fired, str(clause.new_facts))
    return clause.rule.name, *_time(clause.ms, total), *counts


def _time(ms: float, total: float) -> tuple[str, str]:
    return f"{ms:.2f}", f"{100 * ms / total if total else 0:.1f}"


def _order(order: JoinOrder) -> str:
    """The conditions in the order of the join, each atom with the rows it met."""
    steps = [_step(step, order.starts_from_new_rows and i == 0) for i, step in enumerate(order.steps)]
    return " > ".join(steps)


def _step(step: JoinStep, is_new: bool) -> str:
    met = "" if step.met is None else f" [{'new ' * is_new}{step.met}]"
    return f"{step.number} {step.text}{met}"


def _tell_components(found: Profile, top: int) -> None:
    rows = [
        (
            str(p.number),
            f"{p.ms:.2f}",
            str(p.rounds),
            str(p.evaluations),
            str(p.new_facts),
            _names(p.relations),
        )
        for p in found.components[:top]
    ]
    typer.echo("")
    _print(("component", "ms", "rounds", "evaluations", "new", "relations"), rows)


def _names(relations: Sequence[str]) -> str:
    """The relations of a component, as far as they fit."""
    text = ", ".join(relations)
    if len(text) <= _NAMES:
        return text
    kept = text[:_NAMES].rpartition(", ")[0].split(", ")
    return f"{', '.join(kept)} and {len(relations) - len(kept)} more"


def _print(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of texts: numbers to the right, names to the left."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for line in (columns, *rows):
        cells = [
            text.ljust(width) if name in ("clause", "relations") else text.rjust(width)
            for name, text, width in zip(columns, line, widths, strict=True)
        ]
        typer.echo("  ".join(cells).rstrip())


def _record(found: Profile, assumed: Mapping[str, int]) -> dict[str, Any]:
    return {
        "graph": {"name": found.graph.name, "nodes": len(found.graph.nodes), "assumed": dict(assumed)},
        "engine": found.engine,
        "ms": found.ms,
        "rounds": found.rounds,
        "statements": found.statements,
        "clauses": [_clause_record(clause) for clause in found.clauses],
        "components": [asdict(part) for part in found.components],
        "rows": dict(found.rows),
        "error": None if found.error is None else _error_record(found.error),
    }


def _clause_record(clause: ClauseProfile) -> dict[str, Any]:
    place = clause.rule.place
    return {
        "rule": clause.rule.id, "clause": clause.rule.clause, "file": place.file, "line": place.line,
        "component": clause.component, "ms": clause.ms, "rounds": clause.rounds, "tried": clause.tried,
        "fired": clause.fired, "new_facts": clause.new_facts, "orders": [asdict(order) for order in clause.orders],
        "hints": list(clause.hints),
    }  # fmt: skip


def _error_record(error: SchedulogError) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "where": str(error.where), "reason": error.reason}
