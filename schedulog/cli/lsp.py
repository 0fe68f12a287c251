"""`schedulog lsp`: the language server, for editors to start."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout

from schedulog.errors import UsageError


def lsp_command() -> None:
    """Serve an editor on standard input and output (Language Server Protocol)."""
    try:
        from schedulog.lsp.server import make_server
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise UsageError(
            "SL717",
            "the language server needs the package pygls",
            reason=f"{missing.name} is not installed",
            help="pip install 'schedulog[lsp]'",
        ) from None
    import schedulog

    # The server closes its streams when it ends, and whatever else is printed must not come between its messages.
    with (
        os.fdopen(os.dup(0), "rb") as asked,
        os.fdopen(os.dup(1), "wb") as answers,
        redirect_stdout(sys.stderr),
    ):
        make_server(schedulog.__version__).start_io(asked, answers)
