"""Simplifying a whole graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, get_args

from schedulog.errors import GraphError
from schedulog.facts.graph import Graph
from schedulog.facts.node import Node, node, remade, topological
from schedulog.facts.ops import ELEMENTWISE, Op
from schedulog.facts.place import overwritten
from schedulog.facts.simplify import arithmetic, constants, powers, storage, views
from schedulog.facts.simplify.engine import Engine, Rewrite
from schedulog.facts.simplify.rule import Preserves, Rule, rules_in
from schedulog.facts.simplify.writes import Writes

RULES: Final[tuple[Rule, ...]] = tuple(
    rule for group in (views, arithmetic, constants, powers, storage) for rule in rules_in(group)
)
"""Every rule, in the order they are tried on a node."""

READ_STORED: Final = "read-stored-order"
"""The one rule that looks at a node's users: where a value is also stored with its elements in another order, all its
elementwise users (no casts) that read it directly read what is stored. No cycle can arise: what is stored comes from the
value alone, and its users are behind both."""

KEPT: Final = "value-of-overwritten"
"""The one rule that looks at what is requested: an expression that comes out as a look at memory means what that held when the
expression was made, so where the graph overwrites it the value is stored."""


@dataclass(frozen=True, eq=False)
class Simplified:
    """A simplified graph, what each node of the original became, and the rewrites that led there, in order."""

    graph: Graph
    becomes: Mapping[Node, Node]
    rewrites: tuple[Rewrite, ...]


def simplify(
    graph: Graph,
    *,
    tensors: Iterable[Node] = (),
    preserves: Preserves = "finite",
    without: Collection[str] = (),
) -> Simplified:
    """Rewrite a graph by `RULES` until none applies; `tensors` are further nodes to say what they become,
    first and in their order.

    `preserves` says how far values may change: "values" tries only rules that keep every value, "rounding" also those
    that may round otherwise, "finite" also those that hold for finite values only. With "values", no assign is lost that
    a value is made of, even where the value does not depend on it. `without` leaves out rules by id.

    Deterministic and independent of the order of outputs, nodes and rules' earlier applications. Cost: linear in the
    nodes and applications. Raises GraphError: SL236 for rules that undo each other, SL237 for an unknown rule id.
    """
    rules = _chosen(preserves, without)
    nodes = tuple(topological((*tensors, graph.sink)))
    writes = Writes(nodes) if preserves == "values" else None
    engine = Engine(rules, {}, writes=writes)
    becomes = {n: engine.rewrite(n) for n in nodes}
    rewrites = engine.rewrites
    sink = becomes[graph.sink]
    instead = {} if READ_STORED in without else _readers_of_stored(sink)
    if instead:
        second = Engine(rules, instead, READ_STORED, writes)
        final = {n: second.rewrite(n) for n in dict.fromkeys(becomes.values())}
        becomes = {n: final[first] for n, first in becomes.items()}
        rewrites = rewrites + second.rewrites
    if preserves == "values" and KEPT not in without:
        kept = _kept(graph.sink, becomes)
        becomes |= kept
        rewrites = rewrites + [Rewrite(KEPT, stored.src[0], stored) for stored in kept.values()]
        becomes[graph.sink] = remade(becomes[graph.sink], tuple(becomes[s] for s in graph.sink.src))
    return Simplified(replace(graph, sink=becomes[graph.sink]), becomes, tuple(rewrites))


def _chosen(preserves: Preserves, without: Collection[str]) -> tuple[Rule, ...]:
    known = {rule.id for rule in RULES} | {READ_STORED, KEPT}
    unknown = sorted(set(without) - known)
    if unknown:
        raise GraphError("SL237", f"no simplification rule is called `{unknown[0]}`",
                         help="rules are: " + ", ".join(sorted(known)))  # fmt: skip
    allowed = get_args(Preserves)[: get_args(Preserves).index(preserves) + 1]
    return tuple(rule for rule in RULES if rule.preserves in allowed and rule.id not in without)


def _readers_of_stored(sink: Node) -> dict[Node, Node]:
    """The elementwise nodes that read a base which is also stored, permuted or flipped, and what they should be."""
    nodes = tuple(topological((sink,)))
    stored: dict[Node, Node] = {}
    for base, back in filter(None, map(storage.stored_order, nodes)):
        known = stored.get(base)
        if known is None or _order_key(back) < _order_key(known):
            stored[base] = back
    if not stored:
        return {}
    return {
        n: node(n.op, tuple(stored.get(s, s) for s in n.src), n.arg, n.dtype, n.label)
        for n in nodes
        if n.op in _READERS and any(s in stored for s in n.src)
    }


def _order_key(back: Node) -> str:
    """Of several stored orders of one base, one is read, whichever is met first."""
    return repr(back.arg.to_json())


def _kept(sink: Node, becomes: Mapping[Node, Node]) -> dict[Node, Node]:
    """The requested expressions of which only a look at overwritten memory is left, stored."""
    looks = {n: becomes[n] for n in sink.src if not _names_memory(n) and _names_memory(becomes[n])}
    writes = overwritten(topological((becomes[sink],))) if looks else {}
    memory = {place for place, _ in writes.values()}
    return {
        n: node(Op.CONTIGUOUS, (look,), label=n.label)
        for n, look in looks.items()
        if writes.get(look.base, (look.base,))[0] in memory
    }


def _names_memory(n: Node) -> bool:
    """Whether a node is memory itself, which shows whatever it holds, or a look at it."""
    while n.op in _LOOKS:
        n = n.src[0]
    return n.op in (Op.BUFFER, Op.ASSIGN)


_LOOKS: Final = frozenset({Op.VIEW, Op.BUFFER_VIEW, Op.DETACH, Op.CONTIGUOUS_BACKWARD})
_READERS: Final = ELEMENTWISE - {Op.CAST, Op.BITCAST}
