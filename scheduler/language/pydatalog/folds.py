"""The aggregates of pyDatalog that rules have: `len_(X)`, `sum_(X, for_each=Y)`, `min_(X, order_by=X)` and `max_`.

pyDatalog's `len_` counts the values of one variable. Several are counted as a sum of ones: `sum_(_one, for_each=(X, Y))`
with `(_one == 1)` in the body.
"""

from __future__ import annotations

import ast
from typing import Final

from schedulog.scheduler.language.program import AggregateOp, Const, Term
from schedulog.scheduler.language.pydatalog.names import AGGREGATES, OTHER_AGGREGATES
from schedulog.scheduler.language.pydatalog.values import ValueBuilder

OPS: Final[dict[str, AggregateOp]] = {"len_": "count", "sum_": "sum", "min_": "min", "max_": "max"}
KEYWORDS: Final = {"sum_": "for_each", "min_": "order_by", "max_": "order_by"}
FORMS: Final = {
    "len_": "len_(X)",
    "sum_": "sum_(X, for_each=Y)",
    "min_": "min_(X, order_by=X)",
    "max_": "max_(X, order_by=X)",
}
_TUPLES: Final = (
    "count several values as a sum of ones: `sum_(_one, for_each=(X, Y))`, with `(_one == 1)` in the body"
)


def is_fold(node: ast.expr) -> bool:
    """Whether an expression is an aggregate of pyDatalog."""
    known = (*AGGREGATES, *OTHER_AGGREGATES)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known


def read_fold(node: ast.expr, builder: ValueBuilder) -> tuple[AggregateOp, tuple[Term, ...]]:
    """The operation and the terms of an aggregate. Raises Rejected, with the error in the builder."""
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    word, place = node.func.id, builder.located.place(node)
    if word not in AGGREGATES:
        known = ", ".join(f"`{name}`" for name in AGGREGATES)
        raise builder.rejected("SL135", f"rules have no `{word}`", place, f"they have {known}")
    if word == "len_" and len(node.args) == 1 and isinstance(node.args[0], ast.Tuple):
        raise builder.rejected("SL135", "`len_` of several values", place, _TUPLES)
    if len(node.args) != 1 or [k.arg for k in node.keywords] != [*filter(None, [KEYWORDS.get(word)])]:
        raise builder.rejected(
            "SL135", f"`{word}` is not used as `{FORMS[word]}`", place, f"write `{FORMS[word]}`"
        )
    first = builder.counted(node.args[0])
    if word == "len_":
        return "count", (first,)
    each = node.keywords[0].value
    parts = each.elts if isinstance(each, ast.Tuple) else [each]
    terms = tuple(builder.counted(part) for part in parts)
    # Compared as written: a sum of ones counts, whatever the first of its terms is.
    if parts and ast.dump(parts[0]) == ast.dump(node.args[0]):
        return OPS[word], terms
    return _apart(node, first, terms, builder)


def _apart(
    node: ast.Call, first: Term, terms: tuple[Term, ...], builder: ValueBuilder
) -> tuple[AggregateOp, tuple[Term, ...]]:
    """An aggregate whose keyword does not begin with what is aggregated."""
    assert isinstance(node.func, ast.Name)
    if not terms:
        raise builder.rejected(
            "SL135", "an aggregate over nothing", builder.located.place(node), FORMS[node.func.id]
        )
    if node.func.id == "sum_":
        if isinstance(first, Const) and first.value == 1:
            return "count", terms
        return "sum", (first, *terms)
    written = builder.located.written(node.args[0])
    help = f"take the {node.func.id[:-1]}imum first, then look for the `{written}` that has it"
    raise builder.rejected("SL135", f"`{written}` by the order of something else",
                           builder.located.place(node.keywords[0].value), help)  # fmt: skip


def keyword_of(op: AggregateOp) -> tuple[str, str]:
    """The spelling of an operation, and its keyword or ""."""
    word = next(name for name, known in OPS.items() if known == op)
    return word, KEYWORDS.get(word, "")
