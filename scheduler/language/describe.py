"""Rules, relations and packs as pages of Markdown, made from what stands in the rule files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schedulog.scheduler.language.check_names import atoms
from schedulog.scheduler.language.layout import format_text
from schedulog.scheduler.language.program import Function, Program, Relation, Rule, RuleInfo


def describe_rule(program: Program, rule_id: str, level: int = 1) -> str:
    """The page of one rule: its header in words, its clauses, what it reads, its tests. Raises KeyError."""
    info = program.infos[rule_id]
    clauses = [rule for rule in program.rules if rule.id == rule_id]
    lines = [f"{'#' * level} {rule_id}", "", *([f"{info.title}.", ""] if info.title else [])]
    lines += _code(clauses)
    lines += ["", *_facts(info, clauses, placed=level == 1), ""]
    if level == 1:
        lines += _readings(program, clauses)
        lines += _tests(info)
    return "\n".join(lines).rstrip() + "\n"


def describe_relation(program: Program, name: str) -> str:
    """The page of one relation: its sentence and columns, who derives it, who reads it. Raises KeyError."""
    relation = program.relations[name]
    derive = sorted({rule.id for rule in program.rules if rule.head.relation == name})
    read = sorted({r.id for r in program.rules if any(a.relation == name for a in list(atoms(r))[1:])})
    lines = [f"# {name}", "", relation.doc, "", f"```prolog\n{declaration(relation)}\n```", ""]
    lines += [f"Declared at {relation.place}.", ""]
    source = "the graph" if relation.is_input else ", ".join(f"`{rule}`" for rule in derive)
    if relation.is_open:
        source = f"{source or 'no rule here'}; other packs may add rules"
    lines += [
        f"* from: {source or 'nothing'}",
        f"* read by: {', '.join(f'`{r}`' for r in read) or 'no rule'}",
    ]
    return "\n".join(lines) + "\n"


def describe_pack(program: Program, pack: str, files: Sequence[tuple[str, str]]) -> str:
    """The chapter of one pack: for each file (name, text) its first comment, its relations with their sentences, its rules."""
    lines = [f"## {pack}", ""]
    for file, text in files:
        lines += [f"### {file}", "", "```text", *_first_comment(text), "```", ""]
        lines += _relations(program, file)
        ids = dict.fromkeys(rule.id for rule in program.rules if rule.place.file == file)
        for rule_id in sorted(ids, key=lambda rule: _line(program, rule)):
            lines += [describe_rule(program, rule_id, 4).rstrip(), ""]
    return "\n".join(lines).rstrip() + "\n"


def declaration(what: Relation | Function) -> str:
    """A relation or a function as it is declared."""
    if isinstance(what, Function):
        inner = ", ".join(f"{column.name}: {column.type}" for column in what.arguments)
        return f".function {what.name}({inner}) -> {what.result}"
    columns = [f"{column.name}: {column.type}" for column in what.columns]
    key = what.arity if what.key is None else what.key
    inner = " -> ".join(", ".join(part) for part in (columns[:key], columns[key:]) if part)
    return f".decl {what.name}({inner})"


def _line(program: Program, rule_id: str) -> int:
    return min(rule.place.line for rule in program.rules if rule.id == rule_id)


def _first_comment(text: str) -> Iterator[str]:
    """The lines of the comment with which a file begins, without their signs."""
    for line in text.splitlines():
        if not line.startswith("%") or line.startswith(("%!", "%?")):
            return
        yield line.removeprefix("%").removeprefix(" ").rstrip()


def _relations(program: Program, file: str) -> Iterator[str]:
    """A table of the relations and functions that a file declares."""
    found: list[Relation | Function] = [
        what
        for table in (program.relations, program.functions)
        for what in table.values()
        if what.place.file == file
    ]
    if not found:
        return
    yield "| relation | meaning |\n|---|---|"
    for what in sorted(found, key=lambda one: one.place.line):
        written = (
            declaration(what).split(" ", 1)[1] if isinstance(what, Relation) else "@" + declaration(what)[10:]
        )
        yield f"| `{written}` | {_cell(what.doc)} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(clauses: Sequence[Rule]) -> Iterator[str]:
    yield "```prolog"
    for rule in clauses:
        yield format_text(rule.text, rule.place.file).rstrip()
    yield "```"


def _facts(info: RuleInfo, clauses: Sequence[Rule], *, placed: bool) -> Iterator[str]:
    """What a header says. A chapter names the file above; lines in it would make the page change with every edit."""
    place = clauses[0].place if clauses else info.place
    where = f", {place.file}:{place.line}" if placed else ""
    entries: Mapping[str, str] = {
        "kind": f"{info.kind}, {info.status}{where}",
        "why": f'"{info.why}"' if info.why else "",
        "refusal": info.refusal,
        "preserves": info.preserves,
        "earlier ids": ", ".join(info.alias),
        "the same without": "; ".join(f"{part}: {why}" for part, why in info.equivalent),
    }
    for key, value in entries.items():
        if value:
            yield f"* {key}: {value}"
    for number, words in info.refusals:
        yield f"* when condition {number} fails: {words}"


def _readings(program: Program, clauses: Sequence[Rule]) -> Iterator[str]:
    """What the relations of a rule mean."""
    names = dict.fromkeys(atom.relation for rule in clauses for atom in atoms(rule))
    yield "| relation | meaning |\n|---|---|"
    for name in names:
        yield f"| `{declaration(program.relations[name])[6:]}` | {_cell(program.relations[name].doc)} |"
    yield ""


def _tests(info: RuleInfo) -> Iterator[str]:
    if info.tests:
        yield "Tests:\n"
    for test in info.tests:
        yield f"* {test.title} ({test.place.file}:{test.place.line})"
