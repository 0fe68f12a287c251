"""Findings about rule files as text, JSON, SARIF 2.1.0 and GitHub's workflow commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from schedulog.codes import TITLES
from schedulog.errors import Place, SchedulogError
from schedulog.findings import severity, text

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def record(finding: SchedulogError) -> dict[str, Any]:
    """A finding as a JSON object; what it does not have is left out."""
    found: dict[str, Any] = {
        "code": finding.code,
        "severity": severity(finding),
        "title": TITLES.get(finding.code, ""),
        "message": finding.message,
    }
    where = finding.where
    if isinstance(where, Place):
        found |= {"file": where.file, "line": where.line, "column": where.column, "width": where.width}
    elif where:
        found["where"] = where
    return found | {name: value for name in ("reason", "help") if (value := getattr(finding, name))}


def as_json(findings: Sequence[SchedulogError]) -> str:
    """One JSON object: the findings, and how many errors and warnings they are."""
    kinds = [severity(finding) for finding in findings]
    counts = {"errors": kinds.count("error"), "warnings": kinds.count("warning")}
    return json.dumps({"findings": list(map(record, findings)), **counts}, ensure_ascii=False, indent=2)


def sarif(findings: Sequence[SchedulogError]) -> str:
    """A SARIF log with one run (OASIS standard, version 2.1.0)."""
    codes = sorted({finding.code for finding in findings})
    rules = [{"id": code, "shortDescription": {"text": TITLES.get(code, code)}} for code in codes]
    driver = {"name": "schedulog", "rules": rules}
    results = [_sarif_result(finding, codes.index(finding.code)) for finding in findings]
    # SARIF counts columns in UTF-16 unless told otherwise.
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2)


def _sarif_result(finding: SchedulogError, index: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": severity(finding),
        "message": {"text": _sentences(finding)},
    }
    where = finding.where
    if isinstance(where, Place):
        region = {
            "startLine": where.line,
            "startColumn": where.column,
            "endColumn": where.column + where.width,
        }
        location = {"artifactLocation": {"uri": _uri(where.file)}, "region": region}
        found["locations"] = [{"physicalLocation": location}]
    return found


def _uri(file: str) -> str:
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _sentences(finding: SchedulogError) -> str:
    parts = (
        finding.message,
        finding.reason and f"why: {finding.reason}",
        finding.help and f"help: {finding.help}",
    )
    return "\n".join(part for part in parts if part)


def github(findings: Sequence[SchedulogError]) -> str:
    """One workflow command a finding: GitHub shows it beside the line in a pull request."""
    return "\n".join(_command(finding) for finding in findings)


def _command(finding: SchedulogError) -> str:
    properties = {"title": finding.code}
    where = finding.where
    if isinstance(where, Place):
        columns = {"col": str(where.column), "endColumn": str(where.column + where.width - 1)}
        properties = {"file": where.file, "line": str(where.line), **columns, **properties}
    inside = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{severity(finding)} {inside}::{_escaped(_sentences(finding))}"


def _escaped(value: str, more: str = "") -> str:
    """What would end a workflow command or one of its properties, as percent codes."""
    for letter in "%\r\n" + more:
        value = value.replace(letter, f"%{ord(letter):02X}")
    return value


FORMATS: Final[Mapping[str, Callable[[Sequence[SchedulogError]], str]]] = MappingProxyType(
    {"text": text, "json": as_json, "sarif": sarif, "github": github}
)
"""The forms in which findings are told, by the name that `--format` takes."""
