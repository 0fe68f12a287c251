"""What simplification never loses: the assigns behind a value that is known without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pytest

from schedulog.facts import dtype as dt
from schedulog.facts.buffer import Buffer
from schedulog.facts.build import alu, assign, buffer, const, pad, shrink
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.run import schedule
from schedulog.runtimes import devices
from schedulog.runtimes.evaluate import reference, reference_memory
from schedulog.runtimes.memory import allocate, fetch

ONE: Final = const(1, dt.int32, (4,))
KNOWN: Final[Mapping[str, Callable[[Node], Node]]] = {
    "differs from itself": lambda a: alu(Op.CMPNE, a, a),
    "less than itself": lambda a: alu(Op.CMPLT, a, a),
    "the other choice": lambda a: alu(Op.WHERE, const(True, dt.bool_, (4,)), ONE, a),
    "hidden": lambda a: shrink(pad(alu(Op.NEG, a), ((4, 0),)), ((0, 4),)),
    "nothing of it": lambda a: shrink(alu(Op.NEG, a), ((0, 0),)),
    "nothing of it, assigned elsewhere": lambda a: assign(
        shrink(buffer(Buffer(4, dt.int32, "", "y", np.zeros(4, np.int32))), ((0, 0),)),
        shrink(alu(Op.NEG, a), ((0, 0),)),
    ),
    "nothing of it, assigned": lambda a: assign(shrink(a, ((0, 0),)), shrink(alu(Op.NEG, a), ((0, 0),))),
}


@pytest.mark.parametrize("device", [name for name in ("numpy", "c") if devices()[name] is None])
@pytest.mark.parametrize("made", KNOWN.values(), ids=KNOWN.keys())
def test_an_assign_is_not_lost_with_a_value_that_is_known_without_it(
    made: Callable[[Node], Node], device: str
) -> None:
    x = Buffer(4, dt.int32, "", "x")
    graph = graph_of([made(assign(buffer(x), alu(Op.ADD, buffer(x), ONE)))], inputs={"x": x})
    values = np.arange(4, dtype=np.int32)
    run = schedule(graph)
    memory = allocate(run.schedule, {"x": values.copy()})
    run.load(device).run(memory, run.schedule.variables)
    np.testing.assert_array_equal(
        fetch(run.schedule, memory)["out0"], reference(graph, {"x": values.copy()})["out0"]
    )
    held = memory[run.schedule.buffers.index(x)]
    np.testing.assert_array_equal(held, reference_memory(graph, {"x": values.copy()})[x])
    np.testing.assert_array_equal(held, values + 1)
