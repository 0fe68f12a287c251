"""The names of a kernel's operations, compared with recorded kernels.

The recorded scheduler names only nodes that simplification changed. Which these are follows from the record: a tensor's
node is unchanged if the graph holds a node of the same operation and argument on sources that are all unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.scheduler.kernels import Schedule
from schedulog.scheduler.names import operation_names


def recorded_names(record: Mapping[str, Any]) -> dict[int, str]:
    """Per node of the simplified graph the name it has in the recorded schedule: of the first tensor that became it."""
    kept: set[int] = set()
    names: dict[int, str] = {}
    rows = {row["id"]: row for row in record["graph"]}
    for row, became in zip(record["tensor_graph"], record["becomes"], strict=True):
        if not isinstance(became, int):
            continue
        if _unchanged(row, rows[became], kept, record["becomes"]):
            kept.add(row["id"])
        elif row.get("metadata") and not _is_no_value(rows[became], rows):
            names.setdefault(became, row["metadata"])
    return names


def _unchanged(row: Mapping[str, Any], other: Mapping[str, Any], kept: set[int], becomes: list[Any]) -> bool:
    same = all(row.get(key) == other.get(key) for key in ("op", "dtype", "arg"))
    return same and all(s in kept for s in row["src"]) and [becomes[s] for s in row["src"]] == other["src"]


def _is_no_value(row: Mapping[str, Any], rows: Mapping[int, Mapping[str, Any]]) -> bool:
    """A view of memory, memory itself, or a constant of known shape."""
    base = rows[row["src"][0]] if row["op"] == "VIEW" else row
    if row["op"] == "CONST":
        return all(isinstance(size, int) for size in row["shape"])
    return bool(base["op"] == "BUFFER")


def metadata_differences(
    schedule: Schedule, record: Mapping[str, Any], ids: Mapping[Node, int]
) -> Iterator[str]:
    """Each kernel whose names are not the recorded ones, in their order."""
    if "becomes" not in record:
        return
    names = recorded_names(record)
    wanted = {kernel["out"]: kernel for kernel in record.get("kernels", ()) if "metadata" in kernel}
    for kernel in schedule.kernels:
        other = wanted.get(ids[kernel.output]) if kernel.output.op is not Op.BUFFER else None
        if other is None:
            continue
        ours = list(operation_names(kernel.output, kernel.members, lambda n: names.get(ids[n], "")))
        if ours != other["metadata"]:
            yield f"metadata of {other['out']}: {ours[:6]} for {other['metadata'][:6]}"
