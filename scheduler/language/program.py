"""A checked rule set as data: what the parser makes, the checks approve and the engines evaluate.

Text never reaches an engine. All strings of a program are interned to integers before evaluation (`Symbols`), so an
engine sees integer rows only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from schedulog.errors import Place, RuleError

ComparisonOp = Literal["=", "!=", "<", "<=", ">", ">="]
ArithmeticOp = Literal["+", "-", "*", "//", "%"]
AggregateOp = Literal["count", "sum", "min", "max"]


@dataclass(frozen=True, slots=True)
class Var:
    """A variable. Each `_` of the text is a fresh one whose name starts with `_`."""

    name: str
    place: Place | None = field(compare=False, default=None, repr=False)

    @property
    def anonymous(self) -> bool:
        return self.name.startswith("_")


@dataclass(frozen=True, slots=True)
class Const:
    """An integer, or a string that is interned before evaluation."""

    value: int | str
    place: Place | None = field(compare=False, default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left op right`; // and % round down, as Python's."""

    op: ArithmeticOp
    left: Expr
    right: Expr
    place: Place | None = field(compare=False, default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`@function(arguments)`: a registered, pure function of integers."""

    function: str
    arguments: tuple[Expr, ...]
    place: Place | None = field(compare=False, default=None, repr=False)


Term = Var | Const
Expr = Var | Const | Arithmetic | Call


@dataclass(frozen=True, slots=True)
class Atom:
    """`relation(terms)`."""

    relation: str
    terms: tuple[Term, ...]
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Literal_:
    """An atom in a body, possibly under `not`."""

    atom: Atom
    negated: bool = False

    @property
    def place(self) -> Place:
        return self.atom.place


@dataclass(frozen=True, slots=True)
class Compare:
    """`left op right`. `=` with an unbound variable on one side binds it to the other side's value."""

    op: ComparisonOp
    left: Expr
    right: Expr
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`Result = #op { terms : literals }` over the distinct tuples of `terms`; sum, min and max read the first term.

    Variables that occur outside the braces are the group; the others are local. count and sum of nothing are 0; min
    and max of nothing make the literal false.
    """

    op: AggregateOp
    result: Var
    terms: tuple[Term, ...]
    body: tuple[Literal_ | Compare, ...]
    place: Place = field(compare=False)


BodyItem = Literal_ | Compare | Aggregate


@dataclass(frozen=True, slots=True)
class Rule:
    """One clause. `id` is the rule's stable name (`core/double-reduce`), `clause` counts its clauses from 1."""

    id: str
    clause: int
    head: Atom
    body: tuple[BodyItem, ...]
    place: Place = field(compare=False)
    text: str = field(compare=False)

    @property
    def name(self) -> str:
        return f"{self.id}#{self.clause}"


@dataclass(frozen=True, slots=True)
class Column:
    """One argument of a relation and its type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A declared relation. `key` counts the leading columns that determine the rest (`a: t -> b: u`), or is None.

    `is_input` relations are loaded from the graph; nothing derives them. `is_open` ones may be left for other
    packs to fill.
    """

    name: str
    columns: tuple[Column, ...]
    place: Place = field(compare=False)
    doc: str = field(compare=False, default="")
    key: int | None = None
    is_input: bool = False
    is_open: bool = False

    @property
    def arity(self) -> int:
        return len(self.columns)


@dataclass(frozen=True, slots=True)
class Function:
    """A declared function: `.function compose(inner: view, outer: view) -> view`."""

    name: str
    arguments: tuple[Column, ...]
    result: str
    place: Place = field(compare=False)
    doc: str = field(compare=False, default="")


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """The Python code behind a pack's `functions`: the text of `file`, or the module `module` if that is not empty."""

    pack: str
    file: str
    text: str
    module: str = ""
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class RuleInfo:
    """The `%!` header of a rule: what people are told about it. `str()` tells it in a few lines.

    `why` says the decision in words; `refusals` give, by condition (from 1), the words for its failing; `alias` holds
    earlier ids of the rule; `preserves` names what the rule leaves unchanged; `allow` the codes of accepted warnings;
    `refusal` the word of `metadata.REFUSALS` for what the rule keeps from being fused, "" where none is given;
    `equivalent` the parts ("#2:3": condition 3 of clause 2) without which the rule means the same, each with the reason.
    """

    id: str
    pack: str
    kind: str
    title: str
    status: str
    priority: int
    why: str
    place: Place = field(compare=False)
    tests: tuple[RuleTest, ...] = ()
    preserves: str = ""
    alias: tuple[str, ...] = ()
    refusals: tuple[tuple[int, str], ...] = ()
    allow: tuple[str, ...] = ()
    refusal: str = ""
    equivalent: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        lines = [
            f"{self.id}  {self.title}".rstrip(),
            f"  {self.kind}, {self.status}, {self.place.file}:{self.place.line}",
        ]
        lines += [f"  why: {self.why}"] if self.why else []
        lines += [f"  tests: {', '.join(test.title for test in self.tests)}"] if self.tests else []
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<RuleInfo {self.id}: {self.title or self.kind}>"


@dataclass(frozen=True, slots=True)
class RuleTest:
    """A `%?` test as written: its title and its text; read by the workbench."""

    title: str
    text: str
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Program:
    """A whole rule set, checked. Facts stated in the text are rules with an empty body.

    `versions` holds the versions of the packs by name, as far as they have one; `code` the functions that packs supply.
    """

    relations: dict[str, Relation]
    functions: dict[str, Function]
    rules: tuple[Rule, ...]
    infos: dict[str, RuleInfo]
    sha: str
    warnings: tuple[RuleError, ...] = ()
    versions: Mapping[str, str] = field(compare=False, default_factory=dict)
    code: tuple[FunctionCode, ...] = field(compare=False, default=())
