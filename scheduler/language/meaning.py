"""What rules mean, as text and as a hash: the order of rules and of conditions, and comments, do not enter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from schedulog.scheduler.language.program import Function, FunctionCode, Relation, Rule, RuleInfo
from schedulog.scheduler.language.rule_text import format_atom, format_item


def meaning(rule: Rule) -> str:
    """A clause with its conditions sorted: equal for clauses that say the same in another order."""
    return f"{format_atom(rule.head)} :- {', '.join(sorted(format_item(item) for item in rule.body))}"


def program_sha(
    relations: Iterable[Relation],
    functions: Iterable[Function],
    rules: Iterable[Rule],
    infos: Mapping[str, RuleInfo],
) -> str:
    """The SHA-256 that identifies a rule set (`Program.sha`)."""
    lines = [f"rule {rule.id} {infos[rule.id].priority} {meaning(rule)}" for rule in rules]
    for relation in relations:
        columns = ",".join(column.type for column in relation.columns)
        lines.append(f"decl {relation.name} {columns} {relation.key} {relation.is_input}")
    for function in functions:
        columns = ",".join(column.type for column in function.arguments)
        lines.append(f"function {function.name} {columns} {function.result}")
    return sha256("\n".join(sorted(lines)).encode()).hexdigest()


def functions_sha(code: Iterable[FunctionCode]) -> str:
    """The SHA-256 of the Python code behind rules, of which `program_sha` knows nothing; "" for none."""
    texts = sorted(f"{one.pack} {sha256(one.text.encode()).hexdigest()}" for one in code)
    return sha256("\n".join(texts).encode()).hexdigest() if texts else ""
