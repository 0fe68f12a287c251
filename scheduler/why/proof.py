"""Proofs as data and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from schedulog.errors import Place
from schedulog.scheduler.engines.engine import Row
from schedulog.scheduler.engines.symbols import Decode
from schedulog.scheduler.html.fragment import Text, fragment

DEPTH: Final = 6
"""Levels of a proof that are written out unless told otherwise."""
_DEEPEST = 12
"""Levels of indentation; what is deeper gets a number and is written out below."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A premise `not relation(row)`: no such row is in the model. None in `row` stands for any value."""

    relation: str
    row: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison, a function call or an aggregate (`kind`) that held, with its values filled in."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Proof:
    """Why `relation(row)` is true: `rule` derives it from `premises`.

    `rule` is empty for a row of the graph; a fact stated in the rules names its rule and has no premises. `height` is
    0 for both and else one more than that of the highest premise. Proofs of one tree share equal parts, so compare
    and walk them by identity.

    Where all derivations are asked for, `others` are further ones of the same fact, each with premises proved without the
    fact, and `more` says how many are left out; None: they were not looked for. `write` gives the lines of a proof that was
    asked for by a question in the user's words, so many levels deep; its parts have none.
    """

    relation: str
    row: Row
    rule: str
    place: Place | None
    text: str
    height: int
    premises: tuple[Proof | Absence | Condition, ...]
    others: tuple[Proof, ...] = ()
    more: int | None = None
    write: Callable[[Proof, int], Iterator[str]] | None = None

    def __str__(self) -> str:
        return self.tree(DEPTH)

    def tree(self, depth: int) -> str:
        """What `schedulog why` prints, `depth` levels deep; for a proof that no question asked for its `repr`."""
        return repr(self) if self.write is None else "\n".join(self.write(self, depth))

    def _repr_html_(self) -> str:
        return fragment("", Text(str(self)))

    def __repr__(self) -> str:
        return f"Proof({self.relation}{self.row}, rule={self.rule!r}, height={self.height})"

    def walk(self) -> Iterator[Proof]:
        """Yield every proof of the tree once, this one first; other derivations behind the one they are others of."""
        seen: set[int] = set()
        stack: list[Proof] = [self]
        while stack:
            proof = stack.pop()
            if id(proof) not in seen:
                seen.add(id(proof))
                yield proof
                stack.extend(part for part in reversed(proof.premises) if isinstance(part, Proof))
                stack.extend(reversed(proof.others))

    def render(self, decode: Decode) -> str:
        """Return the proof as indented lines, premises below what they prove.

        A part that is needed twice is written out once, other derivations with an "or" below the first. A part deeper
        than 12 levels stands at the left below, under a number.
        """
        return "\n".join(_Page(decode).write(self))


class _Page:
    """The lines of one proof."""

    def __init__(self, decode: Decode) -> None:
        self.decode = decode
        self.lines: list[str] = []
        self.shown: set[int] = set()
        self.numbers: dict[int, int] = {}
        self.below: list[Proof] = []

    def write(self, proof: Proof) -> list[str]:
        self.tree(proof, "")
        for later in self.below:
            # The list grows while it is read.
            if id(later) not in self.shown:
                self.tree(later, f"[{self.numbers[id(later)]}] ")
        return self.lines

    def tree(self, root: Proof, label: str) -> None:
        stack: list[tuple[Proof | Absence | Condition, int, str]] = [(root, 0, label)]
        while stack:
            part, depth, sign = stack.pop()
            more = f", and {part.more} more" if isinstance(part, Proof) and part.more else ""
            self.lines.append(f"{'  ' * depth}{sign}{self.line(part, depth)}{more}")
            if isinstance(part, Proof) and self.opens(part, depth):
                self.shown.add(id(part))
                stack.extend((other, depth, "or ") for other in reversed(part.others))
                stack.extend((premise, depth + 1, "") for premise in reversed(part.premises))

    def opens(self, proof: Proof, depth: int) -> bool:
        return id(proof) not in self.shown and (depth < _DEEPEST or not proof.premises)

    def line(self, part: Proof | Absence | Condition, depth: int) -> str:
        if isinstance(part, Condition):
            return part.text
        if isinstance(part, Absence):
            return f"not {self.decode(part.relation, part.row)}: absent"
        atom = self.decode(part.relation, part.row)
        if not part.premises:
            return f"{atom}  [{f'{part.rule}, {part.place}' if part.rule else 'given'}]"
        if self.opens(part, depth):
            return f"{atom}  [{part.rule}, {part.place}]"
        return (
            f"{atom}  [see {self.number(part)}]" if id(part) not in self.shown else f"{atom}  [shown above]"
        )

    def number(self, proof: Proof) -> int:
        if id(proof) not in self.numbers:
            self.numbers[id(proof)] = len(self.numbers) + 1
            self.below.append(proof)
        return self.numbers[id(proof)]
