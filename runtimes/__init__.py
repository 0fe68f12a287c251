"""How a schedule runs: one file a device, found by its file name."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from schedulog.errors import DeviceError
from schedulog.runtimes.base import Device


def device_names() -> list[str]:
    """The names of all devices there is a file for, sorted, whether or not they can run here."""
    return list(_names())


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    """Read from the sources once a process: importing them all would cost more."""
    files = Path(__file__).parent.glob("*.py")
    return tuple(sorted(p.stem for p in files if f"class {_class(p.stem)}" in p.read_text("utf-8")))


def devices() -> dict[str, str | None]:
    """Every device, and one sentence why it cannot run here (None: it can)."""
    return {name: _make(name).missing() for name in device_names()}


def computes(kind: str) -> bool:
    """Whether values come out of the device called `kind`. Names of no device here stand for the usual one, which does."""
    if not kind.isidentifier() or not (Path(__file__).parent / f"{kind}.py").is_file():
        return True
    return bool(
        getattr(getattr(import_module(f"schedulog.runtimes.{kind}"), _class(kind), None), "computes", True)
    )


def default_device() -> str:
    """The device used when none is named: compiled C where there is a compiler, else numpy, which runs everywhere."""
    return "c" if default_note() is None else "numpy"


def default_note() -> str | None:
    """Why the default device is the slow one, in one sentence; None if it is not."""
    missing = _make("c").missing()
    return None if missing is None else f"running on numpy, the slow reference: {missing}"


def open_device(name: str) -> Device:
    """The device called `name`. Raises DeviceError: SL500 if there is none, SL501 if it cannot run here."""
    if name not in device_names():
        raise DeviceError(
            "SL500", f"there is no device `{name}`", help="devices: " + ", ".join(device_names())
        )
    device = _make(name)
    reason = device.missing()
    if reason is not None:
        usable = [other for other, missing in devices().items() if missing is None]
        raise DeviceError(
            "SL501",
            f"device {name} cannot run here",
            reason=reason,
            help="devices that can: " + ", ".join(usable),
        )
    return device


def _class(name: str) -> str:
    return f"{name.capitalize()}Device"


def _make(name: str) -> Device:
    """The device of this process: what it found out, as the version of a compiler, is not asked for again."""
    made: type[Device] = getattr(import_module(f"schedulog.runtimes.{name}"), _class(name))
    settings: tuple[str, ...] = getattr(made, "settings", ())
    return _device(made, tuple(os.environ.get(setting) for setting in settings))


@lru_cache(maxsize=32)
def _device(made: type[Device], _: tuple[str | None, ...]) -> Device:
    return made()
