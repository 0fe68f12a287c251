"""`schedulog new pack`: the folder of a rule pack, with a rule, a function, and tests of which one fails."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import typer

from schedulog.errors import UsageError

_FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pack.toml": """name = "{name}"
version = "0.1.0"
license = "MIT"
description = "Say in one sentence what the pack decides."
requires = ["core>=0.1"]
functions = "functions.py"
""",
        "functions.py": '''"""What the rules of this pack ask of Python: values in, an int or a string out, always the same for the same values."""


def wide(elements: int) -> bool:
    """Whether a value has so many elements that it is worth storing."""
    return elements >= 1024
''',
        "rules/{relation}.dl": """% {relation}.dl: which values are stored besides?
%
% Say here what is decided and why, and draw an example.
%
%     x --> sum(stored) --> neg
%
% Reads model.dl. Decides realize.

.function wide(elements: int) -> int
% 1 for a value with so many elements that it is worth storing (functions.py).
%! id: {name}/wide-sums    %! kind: realize    %! status: experimental
%! title: Store wide sums
%! why: "{{N}} is stored, because it has {{S}} elements"
realize(N) :- is_reduce(N), size(N, S), @wide(S) = 1.
%? test "a wide sum is stored"   graph: x=load f32[2048,8]; s=sum x axis=1; n=neg s; out n
%?   holds realize(s).   by {name}/wide-sums.   kernels == 2.   result ~ numpy.
""",
        "tests/{relation}_test.dl": """test "a narrow sum is not"   graph: x=load f32[8,8]; s=sum x axis=1; n=neg s; out n
  not realize(s).   kernels == 1.

test "say what the test shows"   graph: x=load f32[8,8]; s=sum x axis=1; n=neg s; out n
  kernels == 2.
""",
    }
)


def new_pack(name: str, output: str | None) -> None:
    """Write the folder of a new pack, whole or not at all. Raises UsageError SL709."""
    folder = Path(output) if output else Path(name.replace("-", "_"))
    if folder.exists():
        raise UsageError("SL709", f"{folder} exists already", help="give another name, or -o FOLDER")
    beside = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.part")
    try:
        for file, text in _FILES.items():
            path = beside / file.format(relation=name.replace("-", "_"))
            path.parent.mkdir(parents=True, exist_ok=True)
            filled = (
                text if file == "functions.py" else text.format(name=name, relation=name.replace("-", "_"))
            )
            path.write_text(filled, encoding="utf-8")
        beside.rename(folder)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise UsageError(
            "SL709", f"cannot write {folder}", reason=reason, help="give another place: -o FOLDER"
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    shown = folder.as_posix() if "/" in folder.as_posix() else f"./{folder}"
    typer.echo(f"{shown}: one of its tests fails until the rules say what you want\n"
               f"  schedulog test {shown}\n  schedulog run MODEL.onnx --random 0 --rules classic --rules {shown}")  # fmt: skip
