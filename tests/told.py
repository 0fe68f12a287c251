"""Call the command line in this process: `told(capsys, "diff")("graph.json").out`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from schedulog.__main__ import main


class Told(NamedTuple):
    """The exit status of a command, and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Told]


def told(capsys: pytest.CaptureFixture[str], *first: str) -> Command:
    """Calls schedulog with the arguments `first` and those given."""

    def call(*arguments: str | Path) -> Told:
        status = main([*first, *map(str, arguments)])
        written = capsys.readouterr()
        return Told(status, written.out, written.err)

    return call
