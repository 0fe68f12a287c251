"""Rules in the place of others, for a comparison of a rule set with what it could be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from schedulog.errors import RuleError, UsageError
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.language.load import link
from schedulog.scheduler.language.program import Program, RuleInfo
from schedulog.scheduler.language.rule_file import Part, RuleFile, parsed
from schedulog.scheduler.language.rule_set import rule_names
from schedulog.scheduler.language.sources import read_sources
from schedulog.scheduler.language.syntax import ParsedFile


@dataclass(frozen=True, slots=True)
class Replacement:
    """A file whose rules take the place of those of the same ids, or all of them that of the rule `rule`."""

    file: RuleFile
    rule: str = ""


def load_replaced(parts: Sequence[Part], replacements: Sequence[Replacement]) -> Program:
    """The rules that `parts` name, with some of them replaced. What takes a rule's place belongs to its pack, core included.

    Raises RuleError as `load_program`; UsageError SL724 for an id that the rules do not have, and for a file without rules.
    """
    errors: list[RuleError] = []
    sources = read_sources(parts, errors)
    files = [parsed(file) for file in sources.files]
    for replacement in replacements:
        files = _replaced(files, parsed(replacement.file), replacement.rule)
    return link(files, errors=errors, packs=sources.packs)


def _replaced(files: Sequence[ParsedFile], new: ParsedFile, only: str) -> list[ParsedFile]:
    infos = {info.id: info for parsed in files for info in (*parsed.headers, *parsed.plain)}
    names = rule_names(infos)
    if not new.rules and not new.errors:
        raise UsageError("SL724", f"{new.file} holds no rules", where="--replace")
    wanted = {rule.id: only or rule.id for rule in new.rules}
    for name in wanted.values():
        if name not in names:
            help = nearest(name, names) or "--with adds rules; --replace ID=FILE says in whose place they are"
            raise UsageError("SL724", f"no rule has the id `{name}`, in whose place {new.file} would be",
                             where="--replace", help=help)  # fmt: skip
    instead = {mine: names[name] for mine, name in wanted.items()}
    # What else the file says, declarations above all, is a file beside the others.
    rest = replace(new, rules=(), headers=(), plain=())
    return [*_put_in(files, new, instead), rest]


def _put_in(files: Sequence[ParsedFile], new: ParsedFile, instead: Mapping[str, str]) -> Sequence[ParsedFile]:
    """The files with the clauses of `new` where those of the same meaning stood first; `instead` gives their ids."""
    left = dict.fromkeys(instead.values())
    headers = {instead[info.id]: info for info in new.headers if info.id in instead}
    found = []
    for file in files:
        ids = {rule.id for rule in file.rules} & left.keys()
        fresh = tuple(replace(rule, id=instead[rule.id]) for rule in new.rules if instead[rule.id] in ids)
        kept = tuple(rule for rule in file.rules if rule.id not in instead.values())
        found.append(replace(file, rules=kept + fresh, headers=_named(file.headers, headers), plain=_named(file.plain, headers)))  # fmt: skip
        left = {name: None for name in left if name not in ids}
    return found


def _named(infos: Sequence[RuleInfo], headers: Mapping[str, RuleInfo]) -> tuple[RuleInfo, ...]:
    """What is told about rules, from the new header where there is one."""
    return tuple(
        replace(headers[info.id], id=info.id, pack=info.pack, alias=info.alias)
        if info.id in headers
        else info
        for info in infos
    )
