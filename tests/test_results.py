"""What tensors become after a run: kernel outputs, buffers, constants, other tensors."""

from __future__ import annotations

from functools import reduce

from schedulog.facts import dtype as dt
from schedulog.facts.buffer import Buffer
from schedulog.facts.build import alu, assign, buffer, const, permute, reshape
from schedulog.facts.graph import graph_of
from schedulog.facts.node import CopyArg, Node, node
from schedulog.facts.ops import Op
from schedulog.facts.simplify import simplify
from schedulog.run import schedule
from schedulog.scheduler.results import Outcome, outcomes


def after(*wanted: Node) -> dict[Node, Outcome]:
    simplified = simplify(graph_of(wanted))
    return outcomes(simplified, schedule(simplified.graph).schedule)


MEMORY = buffer(Buffer(6, dt.float32, name="m"))
ONE = const(1.0, dt.float32, (2, 3))


def test_a_requested_value_is_its_kernels_output() -> None:
    wanted = alu(Op.SQRT, reshape(MEMORY, (2, 3)))
    found = after(wanted)[wanted]
    assert (found.kind, found.node, found.shape, found.kernel) == ("kernel", wanted, (2, 3), 0)


def test_a_value_that_simplifies_to_memory_is_the_buffer() -> None:
    wanted = alu(Op.MUL, MEMORY, const(1.0, dt.float32, (6,)))
    found = after(wanted)[wanted]
    assert (found.kind, found.node, found.kernel) == ("buffer", MEMORY, None)


def test_a_value_that_simplifies_to_a_constant_is_that() -> None:
    wanted = alu(Op.MUL, reshape(MEMORY, (2, 3)), const(0.0, dt.float32, (2, 3)))
    found = after(wanted)[wanted]
    assert (found.kind, found.node) == ("constant", const(0.0, dt.float32, (2, 3)))


def test_a_value_that_simplifies_to_another_tensor_is_that_tensor() -> None:
    look = permute(reshape(MEMORY, (2, 3)), (1, 0))
    wanted = alu(Op.ADD, look, const(0.0, dt.float32, (3, 2)))
    found = after(wanted)
    assert (found[wanted].kind, found[wanted].node) == ("tensor", look)
    assert look not in found and MEMORY not in found


def test_an_assign_is_its_target() -> None:
    target = reshape(MEMORY, (2, 3))
    written = assign(target, alu(Op.ADD, target, ONE))
    whole = assign(MEMORY, alu(Op.SQRT, MEMORY))
    assert (after(written)[written].kind, after(written)[written].node) == ("tensor", target)
    assert (after(whole)[whole].kind, after(whole)[whole].node, after(whole)[whole].kernel) == (
        "buffer",
        MEMORY,
        0,
    )


def test_what_is_inside_a_kernel_stays_what_it_was() -> None:
    inside = alu(Op.SQRT, reshape(MEMORY, (2, 3)))
    found = after(alu(Op.ADD, inside, ONE))
    assert inside not in found


def test_of_tensors_that_show_the_same_memory_the_first_is_named() -> None:
    look = reshape(MEMORY, (2, 3))
    stored = reshape(node(Op.CONTIGUOUS, (reshape(look, (6,)),)), (2, 3))
    graph = graph_of([reshape(stored, (3, 2))])
    simplified = simplify(graph, tensors=[look, stored])
    found = outcomes(simplified, schedule(simplified.graph).schedule)
    assert (found[stored].kind, found[stored].node, look in found) == ("tensor", look, False)


def test_a_look_at_memory_stays_what_it_is_whatever_else_shows_the_same() -> None:
    look = reshape(MEMORY, (2, 3))
    stored = reshape(node(Op.CONTIGUOUS, (MEMORY,)), (2, 3))
    simplified = simplify(graph_of([look]), tensors=[stored, look])
    found = outcomes(simplified, schedule(simplified.graph).schedule)
    assert simplified.becomes[stored] is look
    assert look not in found


def test_a_look_at_a_copy_that_is_memory_is_named_by_the_copy() -> None:
    look = reshape(MEMORY, (2, 3))
    copied = node(Op.COPY, (MEMORY,), CopyArg(MEMORY.device))
    found = after(alu(Op.ADD, look, ONE), alu(Op.SQRT, reshape(copied, (2, 3))))
    assert (found[copied].kind, found[copied].node) == ("buffer", MEMORY)
    assert reshape(copied, (2, 3)) not in found


def test_a_run_says_what_tensors_became() -> None:
    stored, plain = alu(Op.SQRT, MEMORY), alu(Op.MUL, MEMORY, const(1.0, dt.float32, (6,)))
    run = schedule([stored, plain])
    assert {n: (run.outcomes[n].kind, run.outcomes[n].node) for n in (stored, plain)} == {
        stored: ("kernel", stored),
        plain: ("buffer", MEMORY),
    }


def test_a_run_without_simplification_says_it_too() -> None:
    stored = alu(Op.SQRT, MEMORY)
    assert schedule([stored], simplify=False).outcomes[stored].kernel == 0


def test_items_and_outcomes_show_themselves_in_a_line() -> None:
    named = alu(Op.ADD, reshape(MEMORY, (2, 3)), ONE, label="plus")
    far = buffer(Buffer(6, dt.float32, "c:1"))
    moved = node(Op.COPY, (far,), CopyArg(""))
    run = schedule([named, moved, assign(MEMORY, const(0.0, dt.float32, (6,)))])
    assert [repr(item) for item in run.items] == [
        "<ScheduleItem k0_add store: n3 float32[6] <- m float32[6]; plus>",
        "<ScheduleItem k1_copy copy: n5 float32[6] <- float32[6] on c:1>",
        "<ScheduleItem k2_assign assign: m float32[6]>",
    ]
    assert repr(run.outcomes[named]) == "<Outcome kernel: <ADD float32[2, 3]> as [2, 3] by k0_add>"
    plain = alu(Op.MUL, MEMORY, const(1.0, dt.float32, (6,)))
    assert repr(after(plain)[plain]) == "<Outcome buffer: <BUFFER float32[6]> as [6]>"


def test_the_line_of_an_item_is_short() -> None:
    parts = [buffer(Buffer(2, dt.float32, name=f"m{i}")) for i in range(7)]
    (item,) = schedule([reduce(lambda a, b: alu(Op.ADD, a, b), parts)]).items
    assert repr(item).endswith(" <- m0 float32[2], m1 float32[2], m2 float32[2], 4 more>")
