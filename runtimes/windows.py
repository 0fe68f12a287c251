"""Where the memory lies that a BUFFER_VIEW shows."""

from __future__ import annotations

from schedulog.errors import DeviceError
from schedulog.facts.symbolic import bound_value
from schedulog.facts.view import View, ViewStack
from schedulog.scheduler.kernels import Kernel


def window_source(kernel: Kernel) -> tuple[int, int]:
    """Which of the kernel's buffers its window looks into, and the first byte it shows.

    Raises DeviceError SL522 if what it shows are no consecutive elements.
    """
    source = kernel.output.src[0]
    read = kernel.reads[source.base]
    shown = read.view.then(source.view).bound()
    if not _is_run(shown):
        raise DeviceError("SL522", "a window into memory that is not in one piece", where=f"kernel {kernel.name}",
                          reason=f"it shows {shown.views}", help="copy it to a device first")  # fmt: skip
    return read.argument, bound_value(shown.views[0].offset) * source.dtype.itemsize


def _is_run(stack: ViewStack) -> bool:
    if len(stack.views) != 1:
        return False
    view = stack.views[0]
    return view.mask is None and view.strides == View.create(view.shape).strides
