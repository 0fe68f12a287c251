"""The rung of the ladder of trials that each rule reached, as `schedulog verify --record` wrote it down.

The record is `verified.json` in the folder of the rules. It names the packs that were tried together and the SHA-256 of what
their rules mean, and counts only for exactly these: once any of them has changed, nothing is known (rung 0). A header line
in the rule file would outlive a change of the rule, and of the rules it relies on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from schedulog.errors import DatabaseError
from schedulog.facts.new_file import new_file
from schedulog.scheduler.language.meaning import functions_sha, program_sha
from schedulog.scheduler.language.pack import pack_around
from schedulog.scheduler.language.pack_finder import find_pack
from schedulog.scheduler.language.program import Program

FILE: Final = "verified.json"
FORMAT: Final = 1
"""The version of the file; one of a later version tells nothing."""
RUNGS: Final = (
    "not tried as it is",
    "its own tests pass",
    "random graphs: fused equals unfused on every device",
    "all small graphs: fused equals unfused on every device",
)
"""What each rung says of a rule."""


@dataclass(frozen=True, slots=True)
class Record:
    """One set of packs and its rules' rungs by id; `how` says what was tried (graphs, seed, devices)."""

    packs: tuple[str, ...]
    sha: str
    rungs: Mapping[str, int]
    how: Mapping[str, Any]


def rungs(program: Program) -> dict[str, int]:
    """The rung of every rule of a program; 0 where there is no record of these rules as they are."""
    present = {info.pack for info in program.infos.values()}
    found = dict.fromkeys(program.infos, 0)
    for folder in _folders(program):
        for record in _read(folder):
            if set(record.packs) <= present and record.sha == sha_of(program, record.packs):
                found |= {rule: rung for rule, rung in record.rungs.items() if rule in found}
    return found


def sha_of(program: Program, packs: Collection[str]) -> str:
    """The SHA-256 of what the rules of some of a program's packs mean, with that of their functions where there are any."""
    rules = [rule for rule in program.rules if program.infos[rule.id].pack in packs]
    heads = {rule.head.relation for rule in rules}
    relations = [relation for name, relation in program.relations.items() if name in heads]
    said = program_sha(relations, (), rules, program.infos)
    return said + functions_sha(code for code in program.code if code.pack in packs)


def keep(program: Program, found: Mapping[str, int], how: Mapping[str, Any]) -> list[Path]:
    """Write down the rungs of rules, each in the folder it comes from; the files that were written.

    Earlier records of the same packs are replaced. Raises DatabaseError SL604 for a folder that cannot be written.
    """
    packs = tuple(sorted({info.pack for info in program.infos.values()}))
    sha, written = sha_of(program, packs), []
    for folder, rules in _folders(program).items():
        own = {rule: found[rule] for rule in sorted(rules) if rule in found}
        if not own:
            continue
        if not isinstance(folder, Path):
            raise DatabaseError("SL604", f"cannot write {FILE} beside these rules", where=str(folder),
                                reason="their pack is packed", help="leave --record out, or unpack it")  # fmt: skip
        path = folder / FILE
        others = [record for record in _read(folder) if record.packs != packs]
        records = [asdict(record) for record in (*others, Record(packs, sha, own, how))]
        text = json.dumps({"format": FORMAT, "records": records}, indent=1, sort_keys=True) + "\n"
        try:
            with new_file(path) as file:
                file.write(text.encode())
        except OSError as error:
            raise DatabaseError("SL604", f"cannot write {path}", where=str(path), reason=error.strerror or str(error),
                                help="leave --record out, or make the folder writeable") from error  # fmt: skip
        written.append(path)
    return written


def _folders(program: Program) -> dict[Traversable, set[str]]:
    """The folders from which a program's rules come, with the ids of these."""
    found: dict[Traversable, set[str]] = {}
    by_place: dict[tuple[str, str], Traversable | None] = {}
    for info in program.infos.values():
        key = (info.pack, info.place.file)
        if key not in by_place:
            by_place[key] = _folder(*key)
        folder = by_place[key]
        if folder is not None:
            found.setdefault(folder, set()).add(info.id)
    return found


def _folder(pack: str, file: str) -> Traversable | None:
    known = find_pack(pack, [])
    if known is not None and file.startswith(f"{known.shown}/"):
        return known.folder
    path = Path(file)
    return (pack_around(path) or path.parent) if path.is_file() else None


def _read(folder: Traversable) -> list[Record]:
    """The records in a folder; what is no such file tells nothing."""
    try:
        whole = json.loads(folder.joinpath(FILE).read_text(encoding="utf-8"))
        if whole["format"] != FORMAT:
            return []
        return [
            Record(tuple(r["packs"]), r["sha"], {k: int(v) for k, v in r["rungs"].items()}, r["how"])
            for r in whole["records"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
