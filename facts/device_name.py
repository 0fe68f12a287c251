"""What the name of a device says: which kind of device, which one of its kind, which file."""

from __future__ import annotations

from typing import Final

DEFAULT: Final = ""
"""The device of what names none: the one a schedule is run on."""

SPELLED: Final = "default"
"""How users write and read it."""

_DISK: Final = "disk"


def parts(device: str) -> tuple[str, str]:
    """Kind and instance: "c:1" is ("c", "1"). The first of a kind needs no number: "c:0" is ("c", "")."""
    kind, _, instance = device.partition(":")
    return kind.lower(), "" if instance == "0" else instance


def spelled(device: str) -> str:
    """The one spelling of a device's name in graphs: "c:0" is "c" and "c:01" is "c:1"; what is no number stays as it is."""
    kind, colon, instance = device.partition(":")
    if not colon or not (instance.isascii() and instance.isdecimal()) or is_file(device):
        return device
    number = instance.lstrip("0")
    return f"{kind}:{number}" if number else kind


def quoted(device: str) -> str:
    """A device as users write it: in quotes."""
    return f'"{device or SPELLED}"'


def is_file(device: str) -> bool:
    """Whether the device is a file ("disk:/path/to/it")."""
    return parts(device)[0] == _DISK


def file_path(device: str) -> str:
    """The path in the name of a file's device, "" if it has none."""
    return device.partition(":")[2]


def file_device(path: str) -> str:
    """The device that is the file at `path`."""
    return f"{_DISK}:{path}"
