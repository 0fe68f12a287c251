"""The user's names for what a kernel computes, in the order of the reference scheduler."""

from __future__ import annotations

import numpy as np

from schedulog.facts import build
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.run import schedule
from schedulog.scheduler.names import operation_names


def graph() -> dict[str, Node]:
    """out = (x * y) + sum(x - y), whose difference is stored."""
    x = build.array(np.ones((4, 4), np.float32), "x")
    y = build.array(np.full((4, 4), 2, np.float32), "y")
    product = build.alu(Op.MUL, x, y, label="product")
    stored = build.contiguous(build.alu(Op.SUB, x, y, label="difference"), "kept")
    total = build.expand(build.reduce("ADD", stored, (1,), "total"), (4, 4), "total")
    return {"out": build.alu(Op.ADD, product, total, label="out"), "stored": stored}


def test_the_output_is_named_first_then_breadth_first() -> None:
    items = schedule([graph()["out"]]).items
    assert [item.metadata for item in items] == [
        ("kept", "difference"),
        ("total",),
        ("out", "product", "total"),
    ]


def test_members_only_and_each_name_once() -> None:
    nodes = graph()
    out = nodes["out"]
    inner = [n for n in (out, *out.src, out.src[1].base) if n is not nodes["stored"]]
    assert operation_names(out, inner, lambda n: n.label) == ("out", "product", "total")
    assert operation_names(out, [out], lambda n: n.label) == ("out",)
    assert operation_names(out, inner, lambda n: "") == ()


def test_a_chain_of_any_length() -> None:
    value = build.array(np.ones(3, np.float32))
    chain = [value]
    for step in range(100_000):
        chain.append(build.alu(Op.NEG, chain[-1], label=f"step{step}"))
    assert len(operation_names(chain[-1], chain[1:], lambda n: n.label)) == 100_000
