"""How a schedule runs: one file a device, found by its file name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from schedulog.errors import DeviceError
from schedulog.runtimes.base import Device


def device_names() -> list[str]:
    """The names of all devices there is a file for, sorted, whether or not they can run here."""
    folder = Path(__file__).parent
    return sorted(
        path.stem for path in folder.glob("*.py") if f"class {_class(path.stem)}" in path.read_text("utf-8")
    )


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
    device: Device = getattr(import_module(f"schedulog.runtimes.{name}"), _class(name))()
    return device
