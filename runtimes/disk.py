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
        raise DeviceError("SL540", "a schedule cannot run on disk", where=schedule.graph.name,
                          reason="a file holds values; nothing is computed there",
                          help="run it on a device that computes, as c or numpy; `schedulog devices` lists them")  # fmt: skip


def no_computer(kernel: Kernel) -> DeviceError:
    """SL540: `kernel` is to run on disk, where its memory is."""
    return DeviceError(
        "SL540",
        f"kernel {kernel.name} ({kernel.output.op}) cannot run on disk",
        where=kernel.output.label or kernel.device,
        reason="a file holds values; nothing is computed there",
        help='copy it to a device first: .to("default")',
    )
