"""The `%!` headers and `%?` tests of rule files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from schedulog.errors import Place, RuleError
from schedulog.scheduler.language.diagnostic import SourceText, nearest
from schedulog.scheduler.language.program import RuleInfo
from schedulog.scheduler.language.scan import Comment

KINDS: Final = ("realize", "fuse", "forbid", "order", "check", "helper")
STATUSES: Final = ("stable", "experimental")
REFUSALS: Final = (
    "is a graph output",
    "different device",
    "runs outside generated code",
    "must run before",
    "would make a cycle",
    "something runs between",
    "in-place unsafe",
    "reads a mutated buffer at another index",
    "different element count",
    "broadcast",
    "different offset",
    "different loop order",
    "unsafe padding",
    "reduction",
    "two large reductions",
    "recompute",
    "group too large",
    "too many buffers",
    "too far apart",
    "raises peak memory",
    "saving below threshold",
    "measured slower",
    "user forbade it",
)
"""Why a value is not computed inside the kernel that reads it, in a word that holds for every rule set."""
KEYS: Final = (
    "id",
    "pack",
    "requires",
    "kind",
    "title",
    "status",
    "priority",
    "preserves",
    "why",
    "alias",
    "refuse",
    "refusal",
    "allow",
    "equivalent",
)
_FILE_KEYS: Final = frozenset({"pack", "requires"})

_ENTRY: Final = re.compile(r"([A-Za-z_]+)(?:[ \t]+([0-9]{1,4}))?[ \t]*:[ \t]*")
_VALUE: Final = re.compile(
    r'"((?:\\.|[^"\\])*)"|((?:(?!%!|[ \t]{2,}[A-Za-z_]+(?:[ \t]+[0-9]{1,4})?[ \t]*:).)*)'
)
_EQUIVALENT: Final = re.compile(r"(#[1-9][0-9]*(?::[1-9][0-9]*(?:\.[1-9][0-9]*)?)?)[ \t]+(\S.*)")
_GAP: Final = re.compile(r"(?:[ \t]|%!)*")
RULE_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` of a header; `number` is the condition of `refuse 4: ...`."""

    key: str
    value: str
    number: int | None
    place: Place


@dataclass(slots=True)
class Header:
    """The `%!` lines that stand together before a clause."""

    entries: list[Entry] = field(default_factory=list)

    def value(self, key: str) -> str:
        """The last value given for `key`, or an empty string."""
        return next((entry.value for entry in reversed(self.entries) if entry.key == key), "")

    def place(self, key: str) -> Place:
        """Where `key` was given; the header's first entry when it was not."""
        return next((entry.place for entry in self.entries if entry.key == key), self.entries[0].place)

    @property
    def about_file(self) -> bool:
        """Whether only the file is described (`pack`, `requires`), and no rule."""
        return all(entry.key in _FILE_KEYS for entry in self.entries)


def read_entries(comment: Comment, source: SourceText, errors: list[RuleError]) -> list[Entry]:
    """The entries of one `%!` line: `key: value` pairs, two or more blanks or another `%!` between them."""
    entries: list[Entry] = []
    text, offset, position = comment.text, comment.start + len(comment.sign), 0
    while True:
        gap = _GAP.match(text, position)
        position = gap.end() if gap else position
        if position >= len(text.rstrip()):
            return entries
        key = _ENTRY.match(text, position)
        place = source.place(offset + position, offset + (key.end(1) if key else len(text.rstrip())))
        if key is None:
            errors.append(
                RuleError(
                    "SL118",
                    "a header line holds `key: value` pairs",
                    where=place,
                    help="%! id: pack/rule-name",
                )
            )
            return entries
        value = _VALUE.match(text, key.end())
        assert value is not None
        number = int(key[2]) if key[2] else None
        plain = value[1] if value[1] is not None else value[2].strip()
        entries.append(Entry(key[1], plain, number, place))
        position = value.end()


def check_header(header: Header) -> list[RuleError]:
    """What is wrong with the keys and values of a header (SL118)."""
    errors = [error for entry in header.entries if (error := _check_entry(entry))]
    if header.value("status") == "stable":
        errors += [
            RuleError(
                "SL118", f"a stable rule needs `{key}`", where=header.place("status"), help=f"%! {key}: ..."
            )
            for key in ("id", "title")
            if not header.value(key)
        ]
    return errors


def _check_entry(entry: Entry) -> RuleError | None:
    if entry.key not in KEYS:
        known = ", ".join(KEYS)
        hint = nearest(entry.key, KEYS) or f"known keys: {known}"
        return RuleError("SL118", f"unknown header key `{entry.key}`", where=entry.place, help=hint)
    if entry.key == "kind" and entry.value not in KINDS:
        return _bad_value(entry, KINDS)
    if entry.key == "status" and entry.value not in STATUSES:
        return _bad_value(entry, STATUSES)
    if entry.key == "refusal" and entry.value not in REFUSALS:
        return _bad_value(entry, REFUSALS)
    if entry.key == "priority" and not re.fullmatch(r"-?[0-9]{1,9}", entry.value):
        return RuleError("SL118", f"priority `{entry.value}` is not an integer", where=entry.place)
    if entry.key in ("id", "alias") and not RULE_ID.fullmatch(entry.value):
        hint = "small letters, digits and dashes: pack/rule-name"
        return RuleError("SL118", f"`{entry.value}` is not a rule id", where=entry.place, help=hint)
    if entry.key == "allow" and not re.fullmatch(r"SL15[0-9]", entry.value):
        hint = "`%! allow: SL154` accepts a warning about this rule; errors cannot be accepted"
        return RuleError(
            "SL118", f"`{entry.value}` is not the code of a warning", where=entry.place, help=hint
        )
    if entry.key == "equivalent" and not _EQUIVALENT.fullmatch(entry.value):
        hint = "`%! equivalent: #2:3 why` says why clause 2 derives the same without its condition 3"
        return RuleError(
            "SL118", f"`{entry.value}` names no mutant and a reason", where=entry.place, help=hint
        )
    if (entry.key == "refuse") != (entry.number is not None):
        hint = "`%! refuse 2: ...` words the failing of the second condition; no other key takes a number"
        return RuleError("SL118", f"wrong number at `{entry.key}`", where=entry.place, help=hint)
    return None


def _bad_value(entry: Entry, allowed: tuple[str, ...]) -> RuleError:
    hint = nearest(entry.value, allowed) or "one of: " + ", ".join(allowed)
    return RuleError("SL118", f"unknown {entry.key} `{entry.value}`", where=entry.place, help=hint)


def rule_info(header: Header, rule_id: str, pack: str) -> RuleInfo:
    """What a header tells about the rule `rule_id` of `pack`; keys with wrong values count as absent."""
    kind, status, priority = header.value("kind"), header.value("status"), header.value("priority")
    refusal = header.value("refusal")
    return RuleInfo(
        id=rule_id,
        pack=pack,
        kind=kind if kind in KINDS else "helper",
        title=header.value("title"),
        status=status if status in STATUSES else "experimental",
        priority=int(priority) if re.fullmatch(r"-?[0-9]{1,9}", priority) else 0,
        why=header.value("why"),
        place=header.place("id"),
        preserves=header.value("preserves"),
        alias=tuple(entry.value for entry in header.entries if entry.key == "alias"),
        allow=tuple(entry.value for entry in header.entries if entry.key == "allow"),
        refusals=tuple(
            (e.number, e.value) for e in header.entries if e.key == "refuse" and e.number is not None
        ),
        refusal=refusal if refusal in REFUSALS else "",
        equivalent=tuple(
            (found[1], found[2])
            for entry in header.entries
            if entry.key == "equivalent" and (found := _EQUIVALENT.fullmatch(entry.value))
        ),
    )


def plain_info(rule_id: str, pack: str, place: Place) -> RuleInfo:
    """What is known of a rule without a header: a helper of its pack."""
    return RuleInfo(rule_id, pack, "helper", "", "experimental", 0, "", place)
