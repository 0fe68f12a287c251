"""The device "disk": files as memory. It holds values and computes none."""

from __future__ import annotations

from typing import NoReturn

from schedulog.errors import DeviceError
from schedulog.scheduler.kernels import Kernel, Schedule


class DiskDevice:
    """A file is the device `disk:/path/to/it`. Values are copied from it and to it, windows into it are memory."""

    name = "disk"
    computes = False

    def missing(self) -> str | None:
        """None: there are files everywhere."""
        return None

    def load(self, schedule: Schedule) -> NoReturn:
        """Raises DeviceError SL540: copies and windows are no kernels of the disk's, and it runs none."""
        kernel = schedule.kernels[0] if schedule.kernels else None
        raise no_computer(kernel)


def no_computer(kernel: Kernel | None) -> DeviceError:
    """SL540: `kernel`, or else a schedule without any, is to run on disk."""
    what = "a schedule" if kernel is None else f"kernel {kernel.name} ({kernel.output.op})"
    return DeviceError(
        "SL540",
        f"{what} cannot run on disk",
        where=(kernel.output.label or kernel.device) if kernel is not None else "",
        reason="a file holds values; nothing is computed there",
        help='copy it to a device first: .to("default")',
    )
