"""What packs may do to one another: ask for others, leave out their rules, and derive what is open to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.language.pack import Pack
from schedulog.scheduler.language.pack_finder import known_packs
from schedulog.scheduler.language.program import RuleInfo
from schedulog.scheduler.language.requirement import Requirement, read_requirement
from schedulog.scheduler.language.rule_set import rule_names
from schedulog.scheduler.language.syntax import ParsedFile

_CORE: Final = "core"


def heads_of_core(files: Sequence[ParsedFile], packs: Sequence[Pack]) -> Iterator[RuleError]:
    """Rules of others that derive what only core decides (SL122): a policy may be slow, but never wrong.

    Without the pack core among `packs` there is nothing that it decides.
    """
    core = [parsed for parsed in files if parsed.pack == _CORE] if _CORE in {p.name for p in packs} else []
    marks = {mark.name for parsed in core for mark in parsed.marks if mark.kind == "open"}
    owned = {r.name: r for parsed in core for r in parsed.relations if r.name not in marks}
    for rule in (rule for parsed in files if parsed.pack != _CORE for rule in parsed.rules):
        relation = owned.get(rule.head.relation)
        if relation is not None:
            yield RuleError(
                "SL122",
                f"a rule derives `{relation.name}`, which only core decides",
                where=rule.head.place,
                reason=f"core keeps every schedule right by it (declared at {relation.place})",
                help=f"a policy derives {', '.join(f'`{name}`' for name in sorted(marks))}, and relations of its own",
            )


def check_requirements(files: Sequence[ParsedFile], packs: Sequence[Pack]) -> Iterator[RuleError]:
    """What packs and files ask for: it is loaded (SL108), in a version that fits (SL124), and written as it should be (SL118)."""
    versions = dict.fromkeys([_CORE, *(parsed.pack for parsed in files)], "")
    versions |= {pack.name: pack.version for pack in packs}
    for pack in packs:
        for wanted in pack.requires:
            yield from _unmet(wanted, pack.place("requires"), versions)
    for text, place in (asked for parsed in files for asked in parsed.requires):
        found = read_requirement(text)
        if found is None:
            yield RuleError(
                "SL118", f"`{text}` asks for no pack", where=place, help="%! requires: classic>=0.1"
            )
        else:
            yield from _unmet(found, place, versions)


def ids_of_packs(files: Sequence[ParsedFile], packs: Sequence[Pack]) -> Iterator[RuleError]:
    """Ids in a pack that do not begin with its name (SL118): they would be taken for rules of another one."""
    names = {pack.name for pack in packs}
    for parsed in (parsed for parsed in files if parsed.pack in names):
        for info in parsed.headers:
            if info.id and info.id.partition("/")[0] != parsed.pack:
                yield RuleError("SL118", f"`{info.id}` is an id of another pack", where=info.place,
                                reason=f"ids in the pack `{parsed.pack}` begin with its name",
                                help=f"%! id: {parsed.pack}/{info.id.partition('/')[2]}")  # fmt: skip


def _unmet(wanted: Requirement, where: Place | str, versions: Mapping[str, str]) -> Iterator[RuleError]:
    version = versions.get(wanted.pack)
    if version is None:
        known = known_packs()
        load = f"load it too: --rules {wanted.pack}" if wanted.pack in known else nearest(wanted.pack, known)
        yield RuleError("SL108", f"the pack `{wanted.pack}` is not loaded", where=where, help=load)
    elif not wanted.accepts(version) and (version or wanted.pack != _CORE):
        what = f"version {version}" if version else "no version: it has no pack.toml"
        yield RuleError("SL124", f"the pack `{wanted.pack}` does not fit: {wanted} is asked for", where=where,
                        reason=f"the one that is loaded has {what}",
                        help="load a version that fits, or ask for this one")  # fmt: skip


def rules_left_out(
    packs: Sequence[Pack], infos: Mapping[str, RuleInfo], errors: list[RuleError]
) -> frozenset[str]:
    """The ids of the rules that packs leave out (`disable`).

    Added to `errors`: SL119 an unknown id, SL127 a rule of core or of the pack itself. A rule of core is never left out by
    being asked for in a file: what it keeps right holds for every policy.
    """
    names = rule_names(infos)
    found: set[str] = set()
    for pack in packs:
        for name in pack.disable:
            info = infos.get(names.get(name, ""))
            if info is None:
                help = nearest(name, names) or "the pack it is from has to be loaded: name it in `requires`"
                errors.append(
                    RuleError("SL119", f"no rule has the id `{name}`", where=pack.place("disable"), help=help)
                )
            elif info.pack in (_CORE, pack.name):
                errors.append(_refused(pack, info))
            else:
                found.add(info.id)
    return frozenset(found)


def _refused(pack: Pack, info: RuleInfo) -> RuleError:
    core = info.pack == _CORE
    return RuleError(
        "SL127",
        f"the pack `{pack.name}` cannot leave out `{info.id}`",
        where=pack.place("disable"),
        reason="core keeps every schedule right" if core else "it is a rule of its own",
        help="schedule(..., disable=...) leaves it out for an experiment" if core else "delete the rule",
    )
