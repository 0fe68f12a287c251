"""The devices users name, and what becomes of a node that goes from one to another."""

from __future__ import annotations

import os
from typing import Final

from schedulog.arguments import DEVICE, name_of
from schedulog.errors import DeviceError
from schedulog.facts import build
from schedulog.facts.device_name import DEFAULT, SPELLED, file_device, file_path, is_file, parts, spelled
from schedulog.facts.file_buffer import open_file_buffer, unopened
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.origin import caller
from schedulog.pending import perform

_HOST: Final = "cpu"


def shown_device(device: str) -> str:
    """A device as users read it."""
    return device or SPELLED


def known_device(name: str) -> str:
    """The device that a user calls `name`, in one spelling. Raises DeviceError: SL500 no such device, SL541 no path; UsageError SL730.

    "cpu", "cpu:1", ... are places of their own on the device a schedule is run on.
    """
    from schedulog.runtimes import device_names

    kind, instance = parts(name_of("device", name, DEVICE))
    if name in (DEFAULT, SPELLED):
        return DEFAULT
    if is_file(name):
        if not file_path(name):
            raise unopened("", f"`{name}` names no file")
        return file_device(os.path.abspath(file_path(name)))
    if kind not in (*device_names(), _HOST) or (instance and not instance.isdecimal()):
        raise DeviceError("SL500", f"there is no device `{name}`", where=caller(),
                          help=f"devices: {', '.join((SPELLED, _HOST, *device_names()))}, and `c:1` for another c")  # fmt: skip
    return spelled(f"{kind}:{instance}") if instance else kind


def memory_device(name: str) -> str:
    """As `known_device`, but no file: values get there by `to`. Raises DeviceError SL549."""
    device = known_device(name)
    if is_file(device):
        raise DeviceError("SL549", "a file is no place for a new tensor", where=caller(),
                          help=f'write it with .to("{name}"), or open a file with open_file')  # fmt: skip
    return device


def in_file(n: Node) -> bool:
    """Whether a value is in a file: the file itself, or a window or look at it."""
    while n.op in (Op.VIEW, Op.BUFFER_VIEW):
        n = n.src[0]
    return n.op is Op.BUFFER and is_file(n.device)


def refuse_file(n: Node) -> None:
    """Raises DeviceError SL549 for a value in a file, which cannot be written in place."""
    if in_file(n):
        raise DeviceError("SL549", "a tensor in a file is not written in place", where=caller(),
                          help="copy it to a device first, and write the result with to or save_safetensors")  # fmt: skip


def refuse_clone(n: Node) -> None:
    """Raises DeviceError SL546 for a clone of what is in a file, which would be another file of the same name."""
    if in_file(n):
        raise DeviceError("SL546", f"{file_path(n.device)} is there already", where=caller(),
                          reason="a clone is on the same device, and that is this file",
                          help='name another one: .to("disk:/path"), or .to("default")')  # fmt: skip


def moved(n: Node, device: str, label: str) -> Node:
    """A node on another device. A constant is written there again; of what is repeated, one is copied."""
    if n.op is Op.CONST:
        return build.const(n.arg.value, n.dtype, n.shape, device, label)
    if n.op is Op.VIEW and n.size > n.base.size:
        return build.view(build.copy(n.base, device, label=label), n.arg, label)
    return build.copy(n, device, label=label)


def filed(n: Node, device: str, label: str) -> Node:
    """The value written to the file that is `device`, and what the file then holds as a node."""
    perform(build.copy(n, device, label=label))
    return build.buffer(open_file_buffer(file_path(device), n.dtype, n.size), n.shape, label)
