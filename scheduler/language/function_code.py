"""The Python functions behind a pack's `.function` lines, looked at without running them.

Each is a plain `def` at the top level of the pack's file of functions, with one parameter for each declared argument. A
function sees values only: integers, strings, and views as `ViewStack`s. Nodes, kernels and buffers are numbers of one graph;
a rule hands over what is to be known of them.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import decode_source, find_spec
from pathlib import Path
from typing import Final

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.diagnostic import nearest, plural
from schedulog.scheduler.language.pack import Pack
from schedulog.scheduler.language.program import Function, FunctionCode

_NUMBERS_OF_A_GRAPH: Final = ("node", "kernel", "buffer", "shape")
_NO_RESULTS: Final = (*_NUMBERS_OF_A_GRAPH, "view")


def code_of(
    packs: Sequence[Pack],
    declared: Mapping[str, Sequence[Function]],
    own: Collection[str],
    errors: list[RuleError],
) -> tuple[FunctionCode, ...]:
    """The functions that packs supply. `declared` holds by pack what its files declare, `own` what is schedulog's own.

    Mistakes are added to `errors`: SL126 code that cannot be read, a function that is absent, has other parameters or sees
    what it must not see; SL125 one that two packs supply.
    """
    found: dict[str, FunctionCode] = {}
    result: list[FunctionCode] = []
    first_of_each = {pack.name: pack for pack in reversed(packs)}  # two of one name are told elsewhere
    for pack in (pack for pack in first_of_each.values() if pack.functions):
        wanted = [function for function in declared.get(pack.name, ()) if function.name not in own]
        code = _read(pack, errors)
        if code is None:
            continue
        tree = _tree(code, pack, errors)
        if tree is not None:
            errors += _mistakes(code, wanted, own, tree)
        for function in wanted:
            first = found.setdefault(function.name, code)
            if first is not code:
                errors.append(_two(function, first, code))
        if wanted:
            result.append(replace(code, functions=tuple(sorted({function.name for function in wanted}))))
    return tuple(result)


def _read(pack: Pack, errors: list[RuleError]) -> FunctionCode | None:
    """The text of a pack's functions; that of a module is found without running it, as far as it can be."""
    is_file = pack.functions.endswith(".py")
    try:
        if is_file:
            entry = pack.folder.joinpath(pack.functions)
            return FunctionCode(
                pack.name, f"{pack.shown}/{pack.functions}", decode_source(entry.read_bytes())
            )
        return _module(pack)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 (to find a module inside a package, Python runs the package)
        reason = problem.strerror or str(problem) if isinstance(problem, OSError) else _told(problem)
        what = f"the functions of {pack.name} cannot be read: {pack.functions}"
        errors.append(RuleError("SL126", what, where=pack.place("functions"), reason=reason,
                                help="" if is_file else "a file of the pack ends in .py"))  # fmt: skip
        return None


def _told(problem: BaseException) -> str:
    if isinstance(problem, ImportError | ValueError | SyntaxError):
        return str(problem)
    return f"{type(problem).__name__}: {problem}"


def _module(pack: Pack) -> FunctionCode:
    spec = find_spec(pack.functions)
    if spec is None:
        raise ImportError(f"there is no module {pack.functions}")
    origin = Path(spec.origin or "")
    text = decode_source(origin.read_bytes()) if spec.has_location and origin.suffix == ".py" else ""
    return FunctionCode(pack.name, origin.as_posix() if text else pack.functions, text, pack.functions)


def _tree(code: FunctionCode, pack: Pack, errors: list[RuleError]) -> ast.Module | None:
    try:
        return ast.parse(code.text, code.file) if code.text or not code.module else None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        where: Place | str = code.file
        if isinstance(problem, SyntaxError) and problem.lineno:
            where = Place(
                code.file, problem.lineno, max(1, problem.offset or 1), 1, (problem.text or "").rstrip()
            )
        errors.append(
            RuleError(
                "SL126",
                f"the functions of {pack.name} are no Python",
                where=where,
                reason=str(problem.args[0]) if problem.args else "it is nested too deeply",
            )
        )
        return None


def _mistakes(
    code: FunctionCode, wanted: Sequence[Function], own: Collection[str], tree: ast.Module
) -> Iterator[RuleError]:
    there = {
        part.name: part for part in tree.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for name in sorted(there.keys() & set(own)):
        yield _error(f"`{name}` is a function of schedulog's own", _line(code, there[name]),
                     "give it another name: nothing is shadowed")  # fmt: skip
    for function in wanted:
        yield from _types(function)
        if function.name not in there:
            yield _error(f"@{function.name} is declared, but not in {code.file}", function.place,
                         nearest(function.name, there) or f"write there: def {_signature(function)}")  # fmt: skip
        elif not _takes(there[function.name], len(function.arguments)):
            takes = plural(len(function.arguments), "argument")
            yield _error(f"`{function.name}` does not take {takes}", _line(code, there[function.name]),
                         f"it is declared at {function.place}: def {_signature(function)}")  # fmt: skip


def _types(function: Function) -> Iterator[RuleError]:
    for column in function.arguments:
        if column.type in _NUMBERS_OF_A_GRAPH:
            yield _error(f"@{function.name} takes a {column.type}, which is a number of one graph", function.place,
                         "hand over what it is to know: size(N, S), W = @f(S)")  # fmt: skip
    if function.result in _NO_RESULTS:
        yield _error(f"@{function.name} cannot make a {function.result}", function.place,
                     "a pack's function gives an int or a string")  # fmt: skip


def _takes(found: ast.FunctionDef | ast.AsyncFunctionDef, count: int) -> bool:
    """Whether a function can be called with `count` positional arguments, and gives its result at once."""
    given = found.args
    most = len(given.posonlyargs) + len(given.args)
    least = most - len(given.defaults)
    free = all(default is not None for default in given.kw_defaults)
    return (
        isinstance(found, ast.FunctionDef)
        and least <= count
        and (count <= most or given.vararg is not None)
        and free
    )


def _signature(function: Function) -> str:
    return f"{function.name}({', '.join(column.name for column in function.arguments)})"


def _line(code: FunctionCode, found: ast.stmt) -> Place:
    # Not splitlines: it also breaks at form feeds and others, where Python counts no line.
    text = code.text.split("\n")[found.lineno - 1]
    return Place(code.file, found.lineno, found.col_offset + 1, len(text) - found.col_offset, text)


def _error(message: str, where: Place, help: str) -> RuleError:
    return RuleError("SL126", message, where=where, help=help)


def _two(function: Function, first: FunctionCode, second: FunctionCode) -> RuleError:
    return RuleError(
        "SL125",
        f"two packs supply @{function.name}",
        where=function.place,
        reason=f"{first.pack} in {first.file}, {second.pack} in {second.file}; nothing is shadowed",
        help="load one of them, or give the function another name",
    )
