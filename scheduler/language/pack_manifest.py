"""`pack.toml`: what a pack says about itself, each field checked.

name = "keep-reductions"        # small letters, digits and dashes: the first part of its rules' ids
version = "1.2.0"               # numbers with dots
license = "MIT"
description = "One sentence."
requires = ["core>=0.1", "classic>=0.1,<2"]
disable = ["classic/some-rule"] # rules of other packs that are left out where this one is loaded
functions = "functions.py"      # Python behind its .function lines: a file of the pack, or a module
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Any, Final

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.language.metadata import RULE_ID
from schedulog.scheduler.language.pack import MANIFEST, Pack
from schedulog.scheduler.language.requirement import PACK_NAME, VERSION, read_requirement

_TEXTS: Final = ("name", "version", "license", "description", "functions")
_LISTS: Final = ("requires", "disable")
_NEEDED: Final = ("name", "version")
_AT: Final = re.compile(r"(.*?) \(at line (\d+), column (\d+)\)")
_CODE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def read_manifest(folder: Traversable, shown: str, errors: list[RuleError]) -> Pack | None:
    """The pack in a folder that has a `pack.toml`; None, with the errors (SL123), if that says no name or no version."""
    where = f"{shown}/{MANIFEST}"
    try:
        text = folder.joinpath(MANIFEST).read_bytes().decode("utf-8-sig")
    except OSError as problem:
        errors.append(_wrong("it cannot be read", where, problem.strerror or str(problem)))
        return None
    except UnicodeDecodeError as problem:
        errors.append(_wrong("it is not UTF-8 text", where, f"byte {problem.start}"))
        return None
    try:
        fields = tomllib.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as problem:  # TOMLDecodeError is the first; digits and brackets beyond bounds
        errors.append(_no_toml(str(problem), text, where))
        return None
    return _Reader(fields, text, where, errors).pack(folder, shown)


def _wrong(what: str, where: Place | str, reason: str = "", help: str = "") -> RuleError:
    return RuleError("SL123", f"pack.toml: {what}", where=where, reason=reason, help=help)


def _no_toml(problem: str, text: str, where: str) -> RuleError:
    found = _AT.fullmatch(problem)
    if found is None:
        return _wrong("it is not TOML", where, problem)
    lines, line = text.split("\n"), int(found[2])
    shown = lines[line - 1] if line <= len(lines) else ""
    return _wrong("it is not TOML", Place(where, line, int(found[3]), 1, shown), found[1])


class _Reader:
    """The fields of one file; what is wrong with them is added to `errors`, and they count as absent."""

    def __init__(self, fields: Mapping[str, Any], text: str, where: str, errors: list[RuleError]) -> None:
        self.fields = fields
        self.lines = [line.rstrip() for line in text.split("\n")]
        self.where = where
        self.errors = errors
        self.places = {key: self.place(key) for key in fields}

    def place(self, key: str) -> Place:
        """The line on which a field begins; the first line if it is spelled in quotes."""
        begin = re.compile(rf"\s*({re.escape(key)})\s*[=.]|\s*\[+\s*({re.escape(key)})\b")
        for number, line in enumerate(self.lines, 1):
            found = begin.match(line)
            if found is not None:
                return Place(self.where, number, found.start(found.lastindex or 0) + 1, len(key), line)
        return Place(self.where, 1)

    def pack(self, folder: Traversable, shown: str) -> Pack | None:
        known = (*_TEXTS, *_LISTS)
        for key in self.fields:
            if key not in known:
                self.error(
                    key, f"unknown field `{key}`", nearest(key, known) or f"fields: {', '.join(known)}"
                )
        for key in _NEEDED:
            if key not in self.fields:
                self.errors.append(_wrong(f"`{key}` is missing", self.where, help=_HELP[key]))
        texts = {key: self.text(key) for key in _TEXTS}
        requires = [r for text in self.texts("requires") if (r := read_requirement(text)) is not None]
        if not texts["name"] or not texts["version"]:
            return None
        return Pack(
            shown=shown, folder=folder, requires=tuple(requires), disable=self.texts("disable"),
            places=MappingProxyType(self.places), **texts,
        )  # fmt: skip

    def text(self, key: str) -> str:
        value = self.fields.get(key, "")
        if not isinstance(value, str):
            self.error(key, f"`{key}` is no text", _HELP[key])
            return ""
        if key in self.fields and not _FITS[key](value):
            self.error(key, f"`{value}` is no {key}", _HELP[key])
            return ""
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.fields.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            self.error(key, f"`{key}` is no list of texts", _HELP[key])
            return ()
        for entry in (entry for entry in value if not _FITS[key](entry)):
            self.error(key, f"`{entry}` cannot stand in `{key}`", _HELP[key])
        return tuple(entry for entry in value if _FITS[key](entry))

    def error(self, key: str, what: str, help: str) -> None:
        self.errors.append(_wrong(what, self.places[key], help=help))


_FITS: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType(
    {
        "name": PACK_NAME.fullmatch,
        "version": VERSION.fullmatch,
        "license": str.strip,
        "description": str.strip,
        "functions": _CODE.fullmatch,
        "requires": read_requirement,
        "disable": RULE_ID.fullmatch,
    }
)
_HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "name": 'small letters, digits and dashes: name = "my-pack"',
        "version": 'numbers with dots: version = "0.1.0"',
        "license": 'license = "MIT"',
        "description": "one sentence",
        "functions": 'a file of the pack or a module: functions = "functions.py"',
        "requires": 'requires = ["core>=0.1", "classic>=0.1,<2"]',
        "disable": 'ids of rules: disable = ["classic/some-rule"]',
    }
)
