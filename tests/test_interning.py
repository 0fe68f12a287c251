"""The table of nodes: one object for what is equal, nothing kept alive, nothing mixed up when memory is used again."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from schedulog.errors import GraphError
from schedulog.facts import build
from schedulog.facts import dtype as dt
from schedulog.facts.buffer import Buffer
from schedulog.facts.interning import Interned
from schedulog.facts.node import Node, node, remade
from schedulog.facts.ops import Op
from schedulog.facts.view import ViewStack


class Thing:
    """Something that can be held weakly."""


def test_what_lives_is_found_and_what_died_is_not() -> None:
    table: Interned[Thing] = Interned()
    kept = table.add("kept", Thing())
    assert table.find("kept") is kept and table.add("kept", Thing()) is kept
    table.add("lost", Thing())
    assert table.find("lost") is None
    again = table.add("lost", Thing())
    assert table.find("lost") is again


def test_the_dead_are_dropped() -> None:
    table: Interned[Thing] = Interned()
    kept = [table.add(("kept", i), Thing()) for i in range(1000)]
    for i in range(60_000):
        table.add(("lost", i), Thing())
    assert len(table._table) < 20_000
    assert all(table.find(("kept", i)) is thing for i, thing in enumerate(kept))


def test_threads_agree_on_one_node() -> None:
    source = build.buffer(Buffer(8, dt.float32))
    with ThreadPoolExecutor(8) as pool:
        made = list(
            pool.map(lambda i: build.alu(Op.ADD, source, build.const(i // 8, dt.float32, (8,))), range(400))
        )
    assert len(set(made)) == 50


def test_memory_used_again_is_not_taken_for_what_was_there() -> None:
    """Buffers and nodes of other shapes and types come and go at the same addresses."""
    for i in range(3000):
        size = 1 + i % 7
        source = build.buffer(Buffer(size, dt.SCALARS[i % len(dt.SCALARS)]))
        twice = build.alu(Op.MAX, source, source)
        assert twice.src == (source, source) and source.arg.size == size == twice.size
        assert twice.dtype is source.dtype is source.arg.dtype


def test_a_node_keeps_neither_sources_nor_memory_alive_after_it_died() -> None:
    memory = Buffer(4, dt.float32, array=np.zeros(4, np.float32))
    root = build.alu(Op.EXP, build.buffer(memory))
    assert any(isinstance(o, Node) for o in gc.get_referrers(memory))
    del root
    assert not any(isinstance(o, Node) for o in gc.get_referrers(memory))


def test_numbers_of_another_type_do_not_reach_others_by_equal_shapes() -> None:
    for strange in (np.int64(37), True):
        ViewStack.of_shape((strange, 41))  # type: ignore[arg-type]
        assert [type(s) for s in ViewStack.of_shape((int(strange), 41)).shape] == [int, int]


def test_an_operation_on_other_sources_is_checked_where_they_differ() -> None:
    one, two = (build.buffer(Buffer(4, dt.float32)) for _ in range(2))
    assert remade(build.alu(Op.EXP, one), (two,)) is build.alu(Op.EXP, two)
    longer, other = build.buffer(Buffer(5, dt.float32)), build.buffer(Buffer(4, dt.int32))
    assert remade(build.alu(Op.EXP, one), (longer,)).shape == (5,)
    assert remade(build.reshape(one, (2, 2)), (other,)).dtype is dt.int32
    with pytest.raises(GraphError, match="SL211"):
        remade(build.alu(Op.ADD, one, two), (one, longer))
    with pytest.raises(GraphError, match="SL212"):
        remade(build.alu(Op.ADD, one, two), (one, other))
    with pytest.raises(GraphError, match="SL214"):
        remade(build.assign(one, two), (build.alu(Op.EXP, one), two))


def test_what_is_found_was_checked_and_what_is_wrong_is_never_found() -> None:
    one, other = build.buffer(Buffer(4, dt.float32)), build.buffer(Buffer(4, dt.int32))
    for _ in range(2):
        with pytest.raises(GraphError, match="SL212"):
            node(Op.ADD, (one, other))
        with pytest.raises(GraphError, match="SL213"):
            build.reduce("ADD", one, (1,))
