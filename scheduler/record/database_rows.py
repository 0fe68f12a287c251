"""The rows of one run, table by table, as facts/schema.sql describes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from schedulog.facts.buffer import Buffer
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.symbolic import Size, render
from schedulog.scheduler.kernels import Kernel
from schedulog.scheduler.language.metadata import KINDS
from schedulog.scheduler.pack_functions import function_values
from schedulog.scheduler.record.load_rows import load_rows, store_row
from schedulog.scheduler.record.run_record import RunRecord
from schedulog.scheduler.why.names import Names
from schedulog.scheduler.why.refusals import refusal_word, refusals
from schedulog.scheduler.why.support import DECISIONS, Derivations, derivations

Values = tuple[Any, ...]


def graph_rows(graph: Graph) -> Iterator[tuple[str, Iterable[Values]]]:
    """The tables that describe a graph, whatever is decided about it; the number of the graph is left out."""
    yield "node", (_node(i, n) for i, n in enumerate(graph.nodes))


def run_rows(record: RunRecord) -> Iterator[tuple[str, Iterable[Values]]]:
    """The tables of a run; the number of the run is left out."""
    schedule, graph = record.schedule, record.schedule.graph
    number = {buffer: i for i, buffer in enumerate(schedule.buffers)}
    found = derivations(record.decisions.model, KINDS)
    yield "rewrite", ((step, *rewrite) for step, rewrite in enumerate(record.rewrites))
    yield "view", _views(record)
    yield "rule", _rules(record)
    yield "function_value", _function_values(record)
    yield "decision", _decisions(record, found)
    yield "reason", ((graph.label(k.output), rule) for k in schedule.kernels if k.members for rule in k.rules)
    yield "refusal", _refusals(record, found)
    yield "kernel", (_kernel(k, graph) for k in schedule.kernels)
    yield "member", ((k.index, graph.label(n)) for k in schedule.kernels for n in k.members)
    yield "buffer", _buffers(record)
    yield "kernel_buffer", (row for k in schedule.kernels for row in _kernel_buffers(k, number))
    yield "load", (row for k in schedule.kernels for row in load_rows(k, graph))
    yield "store", (store_row(k) for k in schedule.kernels)
    yield "order_edge", {(e.before, e.after, e.kind, number[e.buffer]): None for e in schedule.edges}
    yield "result", _results(record, number)
    yield "option", sorted(record.options.items())
    yield "timing", _timings(record)
    yield "rule_stat", _statistics(record, found)
    yield "component", _components(record)


def edge_rows(record: RunRecord) -> Iterator[Values]:
    """The operands of every operation, with the view each is seen through; the number of the graph is left out."""
    graph, looks = record.schedule.graph, record.decisions.facts.looks
    for n in graph.nodes:
        if n.op in (Op.VIEW, Op.SINK):
            continue
        for slot, source in enumerate(n.src):
            yield graph.label(source.base), graph.label(n), slot, f"v{looks.number(source.view)}"


def relation_rows(record: RunRecord) -> Iterator[tuple[str, tuple[str, ...], Iterable[Values]]]:
    """Every derived relation: its name, its columns' names, its rows."""
    model = record.decisions.model
    names = Names(record.schedule.graph, record.program, model.symbols)
    for relation in sorted({rule.head.relation for rule in record.program.rules}):
        columns = tuple(column.name for column in record.program.relations[relation].columns)
        if columns:
            yield relation, columns, _spelled(model.rows(relation), names.columns(relation))


def _spelled(rows: Iterable[tuple[int, ...]], columns: list[Callable[[int], int | str]]) -> Iterator[Values]:
    if len(columns) == 1:
        (only,) = columns
        return ((only(value),) for (value,) in rows)
    if len(columns) == 2:
        one, two = columns
        return ((one(a), two(b)) for a, b in rows)
    return (tuple(column(value) for column, value in zip(columns, row, strict=True)) for row in rows)


def _shape(sizes: Iterable[Size]) -> str:
    return f"[{','.join(render(size) for size in sizes)}]"


def _node(position: int, n: Node) -> Values:
    shape = _shape(n.shape)
    return f"n{position}", position, str(n.op), str(n.dtype), shape, n.device, n.size, n.nbytes, n.label


def _views(record: RunRecord) -> Iterator[Values]:
    looks = record.decisions.facts.looks
    for i in range(len(looks)):
        view = looks.view(i)
        stack = json.dumps(view.to_json(), separators=(",", ":"))
        yield f"v{i}", _shape(view.shape), int(view.contiguous), int(view.masked), stack


def _rules(record: RunRecord) -> Iterator[Values]:
    for rule in record.program.rules:
        info, at = record.program.infos[rule.id], rule.place
        yield (
            rule.id, rule.clause, rule.head.relation, info.pack, record.program.versions.get(info.pack, ""),
            info.kind, info.priority, info.title, info.why,
            info.status, refusal_word(info), json.dumps(dict(info.refusals)), at.file, at.line, at.column, at.width, rule.text,
        )  # fmt: skip


def _function_values(record: RunRecord) -> Iterable[Values]:
    """Of both passes where the graph was rewritten on the way; a function sees values only, so they agree."""
    passes = [record.decisions, record.decisions.before]
    return dict.fromkeys(
        row for made in passes if made is not None for row in function_values(made.model.functions)
    )


def _decisions(record: RunRecord, found: Derivations) -> Iterator[Values]:
    model, program = record.decisions.model, record.program
    names = Names(record.schedule.graph, program, model.symbols)
    for rule in program.rules:
        kind = program.infos[rule.id].kind
        if kind not in DECISIONS:
            continue
        relation = rule.head.relation
        columns = names.columns(relation)
        for row, count in found[rule.name].items():
            values = [str(spell(value)) for spell, value in zip(columns, row, strict=True)]
            first = (*values, None, None, None)[:3]
            yield kind, relation, *first, names.atom(relation, row), rule.id, rule.clause, count


def _refusals(record: RunRecord, derived: Derivations) -> Iterator[Values]:
    graph = record.schedule.graph
    for found in refusals(record.decisions, derived) if record.refusals else ():
        why, producer, consumer = found.storing, graph.nodes[found.producer], graph.nodes[found.consumer]
        yield (
            "fuse", graph.label(producer), graph.label(consumer), why.rule.id, why.rule.clause, why.condition,
            why.condition_text, why.word, why.reason, found.bytes_lost,
        )  # fmt: skip


def _kernel(kernel: Kernel, graph: Graph) -> Values:
    value, reduces = kernel.value, sum(n.op is Op.REDUCE_AXIS for n in kernel.members)
    return (
        kernel.index, kernel.name, kernel.kind, graph.label(kernel.output), _shape(value.shape), str(value.dtype),
        kernel.device, len(kernel.members), reduces, kernel.bytes_read, kernel.bytes_written, ", ".join(kernel.rules),
    )  # fmt: skip


def _buffers(record: RunRecord) -> Iterator[Values]:
    given = frozenset(record.schedule.graph.buffers)
    for i, buffer in enumerate(record.schedule.buffers):
        origin = "made" if buffer not in given else "input" if buffer.array is None else "contents"
        yield i, buffer.name, str(buffer.dtype), buffer.size, buffer.nbytes, buffer.device, origin


def _kernel_buffers(kernel: Kernel, number: Mapping[Buffer, int]) -> Iterator[Values]:
    read = {where.argument for where in kernel.reads.values()}
    for argument, buffer in enumerate(kernel.buffers):
        role = "input" if argument else "both" if 0 in read else "output"
        yield kernel.index, argument, number[buffer], role


def _results(record: RunRecord, number: Mapping[Buffer, int]) -> Iterator[Values]:
    graph = record.schedule.graph
    for slot, result in enumerate(record.schedule.results):
        buffer = None if result.buffer is None else number[result.buffer]
        yield slot, result.name, graph.label(result.node), _shape(result.node.shape), buffer


def _timings(record: RunRecord) -> Iterator[Values]:
    for device, seconds in sorted(record.timings.items()):
        for kernel, spent in zip(record.schedule.kernels, seconds, strict=True):
            yield kernel.index, device, spent * 1e6


def _statistics(record: RunRecord, found: Derivations) -> Iterator[Values]:
    clauses = record.profile.clauses if record.profile else ()
    costs = {c.rule.name: (c.tried, c.fired, c.new_facts, c.ms) for c in clauses}
    # A clause that never ran looked at nothing.
    idle = (0, 0, 0, 0.0) if clauses else (None, None, None, None)
    for rule in record.program.rules:
        rows = found[rule.name]
        yield rule.id, rule.clause, sum(rows.values()), len(rows), *costs.get(rule.name, idle)


def _components(record: RunRecord) -> Iterator[Values]:
    for i, part in enumerate(record.decisions.model.statistics.components):
        yield (
            i, part.name, part.alternations, part.rounds, part.evaluations, part.skipped, part.seconds * 1e3,
        )  # fmt: skip
