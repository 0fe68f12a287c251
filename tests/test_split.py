"""Reductions in two steps: the same values, and clear errors for cuts that are none."""

from __future__ import annotations

import numpy as np
import pytest

from schedulog.errors import GraphError
from schedulog.facts import build
from schedulog.facts.graph import graph_of
from schedulog.facts.node import ReduceOp
from schedulog.facts.ops import Op
from schedulog.facts.split import Cut, split_reductions
from schedulog.runtimes.evaluate import reference


@pytest.mark.parametrize("op", ["ADD", "MUL", "MAX"])
@pytest.mark.parametrize("cut", [Cut(0, 2), Cut(2, 3), Cut(2, 6), Cut(0, 1)])
def test_the_values_stay(op: ReduceOp, cut: Cut) -> None:
    x = build.array(np.arange(1, 49, dtype=np.int64).reshape(4, 2, 6) % 5 + 1)
    total = build.reduce(op, build.permute(build.permute(x, (1, 0, 2)), (1, 0, 2)), (0, 2))
    graph = graph_of([build.alu(Op.ADD, total, total)])
    (wanted,) = reference(graph, {}).values()
    (found,) = reference(split_reductions(graph, {total: cut}), {}).values()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("cut", [Cut(1, 2), Cut(0, 3), Cut(0, 0), Cut(0, -2)])
def test_a_cut_that_is_none(cut: Cut) -> None:
    total = build.reduce("ADD", build.array(np.ones((4, 2), np.float32)), (0,))
    with pytest.raises(GraphError) as caught:
        split_reductions(graph_of([total]), {total: cut})
    assert caught.value.code == "SL238"
    assert (
        f"axis {cut.axis}" in caught.value.message and f"into {cut.parts} equal parts" in caught.value.message
    )


def test_only_a_reduction_can_be_cut() -> None:
    value = build.alu(Op.NEG, build.array(np.ones(4, np.float32)))
    with pytest.raises(GraphError, match="SL238"):
        split_reductions(graph_of([value]), {value: Cut(0, 2)})
