"""The rows of `load` and `store`: what a kernel reads and writes, through which views."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from schedulog.errors import ScheduleError
from schedulog.facts.graph import Graph
from schedulog.facts.symbolic import Size, render
from schedulog.facts.view import ViewStack
from schedulog.scheduler.kernels import Kernel
from schedulog.scheduler.loads import Load, loop_indices

Values = tuple[int | str, ...]


def load_rows(kernel: Kernel, graph: Graph) -> Iterator[Values]:
    """One row for each load of a kernel, none for one that sees values through too many views."""
    try:
        loads = kernel.loads
    except ScheduleError:
        return
    for number, load in enumerate(loads):
        yield kernel.index, number, load.argument, graph.label(load.node), _shape(load), *_where(load)


def store_row(kernel: Kernel) -> Values:
    """The row for what a kernel stores."""
    look = kernel.stores
    indices = loop_indices(look.shape, len(look.shape))
    return kernel.index, *_texts(*look.index(indices)), _stack(look)


def _shape(load: Load) -> str:
    return f"[{','.join(render(size) for size in load.view.shape)}]"


def _where(load: Load) -> Values:
    return *_texts(load.position, load.guards), _stack(load.view)


def _texts(position: Size, guards: Sequence[Size]) -> tuple[str, str]:
    return render(position), " and ".join(render(guard) for guard in guards)


def _stack(look: ViewStack) -> str:
    return json.dumps(look.to_json(), separators=(",", ":"))
