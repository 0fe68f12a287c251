"""Which device runs what a graph's device names stand for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from schedulog.facts.device_name import is_file, parts


@dataclass(frozen=True, slots=True)
class Executor:
    """A device by its `kind` (a file of this folder), and which one of that kind; all of a kind run the same code.

    Each has memory of its own.
    """

    kind: str
    instance: str = ""


def executor(device: str, usual: str, known: Collection[str]) -> Executor:
    """The executor for the device called `device`.

    A kind that is not `known`, such as the "CPU" of recorded graphs, is a place of its own on the `usual` device; no
    name is the usual device itself. So graphs made elsewhere run here.
    """
    kind, instance = parts(device)
    if is_file(device) or kind in known:
        return Executor(kind, instance)
    usual_kind, usual_instance = parts(usual)
    own = f"{kind}:{instance}" if instance else kind
    return Executor(usual_kind, own if device else usual_instance)
