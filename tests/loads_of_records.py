"""What kernels load and store, compared with recorded kernels: buffers loaded, bytes loaded and stored, number of buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.scheduler.kernels import Kernel, Schedule

FIELDS = ("loaded", "loads", "bytes_loaded", "bytes_stored", "bufs")


def traffic(kernel: Kernel) -> dict[str, Any]:
    """A kernel's memory traffic in the words of the records: the numbers of the buffers it loads, distinct loads, bytes.

    The records count the whole buffer as stored, also where an assign writes a part of it.
    """
    return {
        "loaded": sorted({load.argument for load in kernel.loads}),
        "loads": len({(load.argument, load.view) for load in kernel.loads}),
        "bytes_loaded": kernel.bytes_read,
        "bytes_stored": kernel.buffers[0].nbytes,
        "bufs": len(kernel.buffers),
    }


def load_differences(schedule: Schedule, record: Mapping[str, Any], ids: Mapping[Node, int]) -> Iterator[str]:
    """Each kernel whose traffic is not the recorded one. Recorded kernels that were not lowered are passed over."""
    wanted = {kernel["out"]: kernel for kernel in record.get("kernels", ()) if "loaded" in kernel}
    for kernel in schedule.kernels:
        other = wanted.get(ids[kernel.output]) if kernel.output.op is not Op.BUFFER else None
        if other is None:
            continue
        ours = traffic(kernel)
        for field in FIELDS:
            if ours[field] != other[field]:
                yield f"{field} of {other['out']}: {ours[field]} for {other[field]}"
