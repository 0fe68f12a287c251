"""Two outcomes of scheduling one graph, compared: which decisions, kernels, bytes, order and errors differ, and why.

An outcome is plain data in the user's words (nodes as n12), so that one of them may come from a file, from another policy or
from another version of the rules. Nothing is derived here; causes are handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

KINDS: Final = ("realize", "fuse", "forbid", "order")
"""The kinds of decisions, in the order in which people want to hear of them."""

CauseKind = Literal["rule", "option", "fact", "engine", "code", "untraced"]
Change = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """Why something differs: a rule, an option or a fact that was added, removed or changed.

    Where rules and options are the same, another engine or the code of schedulog is the cause; `untraced`: none was found.
    """

    kind: CauseKind
    name: str = ""
    change: Change = "changed"

    def __str__(self) -> str:
        if self.kind == "untraced":
            return "what was not traced"
        named = self.name if self.kind in ("rule", "code") else f"{self.kind} {self.name}"
        return f"{named} {self.change}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision: the atom ("realize(n5)"), the kind of the rules that derive it, and their names."""

    atom: str
    kind: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelOutcome:
    """A kernel: the node it stores, what it computes and reads, bytes, and the rules that formed it.

    `aside` marks the copy of an old content, which computes nothing.
    """

    output: str
    members: tuple[str, ...]
    reads: tuple[str, ...]
    bytes_read: int
    bytes_written: int
    rules: tuple[str, ...]
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that ended a scheduling."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one scheduling gave: decisions in order of their atoms, kernels in running order, the error if there was one."""

    decisions: tuple[Decision, ...] = ()
    kernels: tuple[KernelOutcome, ...] = ()
    failure: Failure | None = None

    @property
    def bytes_read(self) -> int:
        return sum(kernel.bytes_read for kernel in self.kernels)

    @property
    def bytes_written(self) -> int:
        return sum(kernel.bytes_written for kernel in self.kernels)


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """A decision that only one outcome has: `rules` derive it there, `causes` say why not in the other."""

    atom: str
    kind: str
    change: Literal["added", "removed"]
    rules: tuple[str, ...]
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class ReasonChange:
    """A decision of both outcomes that other rules derive."""

    atom: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelChange:
    """A kernel that only one outcome has, or that computes, reads or moves something else (then both are given)."""

    before: KernelOutcome | None
    after: KernelOutcome | None
    causes: tuple[Cause, ...] = ()

    @property
    def output(self) -> str:
        """The node whose value the kernel stores."""
        found = self.after or self.before
        assert found is not None
        return found.output


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two outcomes. `order` lists the kernels that both have, in either order, if it differs.

    `reasons` alone make no difference: the same was decided. `causes` are those of the whole, of its bytes and its error.
    """

    before: Outcome
    after: Outcome
    decisions: tuple[DecisionChange, ...]
    reasons: tuple[ReasonChange, ...]
    kernels: tuple[KernelChange, ...]
    order: tuple[tuple[str, ...], tuple[str, ...]] | None
    causes: tuple[Cause, ...] = ()

    @property
    def failure_differs(self) -> bool:
        """Whether an error appeared, vanished or became another."""
        return self.before.failure != self.after.failure

    @property
    def same(self) -> bool:
        """Whether the same was decided, with the same kernels in the same order, or the same error."""
        return not (self.decisions or self.kernels or self.order or self.failure_differs)

    def explained(self, causes: Mapping[str, Sequence[Cause]], otherwise: Cause) -> Difference:
        """The difference with the causes of each atom; what follows from no atom of `causes` has the cause `otherwise`."""
        decisions = tuple(
            replace(change, causes=_joined([causes.get(change.atom, ())]) or (otherwise,))
            for change in self.decisions
        )
        about = _by_first_node(decisions)
        whole = _joined(change.causes for change in decisions) or (otherwise,)
        kernels = tuple(
            replace(change, causes=_joined(about.get(change.output, ())) or whole) for change in self.kernels
        )
        return replace(self, decisions=decisions, kernels=kernels, causes=() if self.same else whole)


def compare(before: Outcome, after: Outcome) -> Difference:
    """What differs, without causes (`Difference.explained` adds them).

    Where an error ended one of them, what it did not come to is not compared: its kernels, and decisions if it has none.
    """
    failed = before.failure is not None or after.failure is not None
    decided = not failed or (before.decisions and after.decisions)
    old, new = (before.kernels, after.kernels) if not failed else ((), ())
    return Difference(
        before,
        after,
        tuple(_decision_changes(before, after)) if decided else (),
        tuple(_reason_changes(before, after)) if decided else (),
        tuple(_kernel_changes(old, new)),
        _order(old, new),
    )


def _decision_changes(before: Outcome, after: Outcome) -> list[DecisionChange]:
    old, new = ({decision.atom for decision in outcome.decisions} for outcome in (before, after))
    changes = [_changed(d, "removed") for d in before.decisions if d.atom not in new]
    changes += [_changed(d, "added") for d in after.decisions if d.atom not in old]
    return sorted(changes, key=lambda change: _rank(change.kind))


def _reason_changes(before: Outcome, after: Outcome) -> Iterator[ReasonChange]:
    old = {decision.atom: decision.rules for decision in before.decisions}
    for decision in after.decisions:
        rules = old.get(decision.atom, decision.rules)
        if rules != decision.rules:
            yield ReasonChange(decision.atom, rules, decision.rules)


def _changed(decision: Decision, change: Literal["added", "removed"]) -> DecisionChange:
    return DecisionChange(decision.atom, decision.kind, change, decision.rules)


def _rank(kind: str) -> int:
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


def _key(kernel: KernelOutcome) -> tuple[str, bool]:
    return kernel.output, kernel.aside


def _kernel_changes(before: Iterable[KernelOutcome], after: Iterable[KernelOutcome]) -> list[KernelChange]:
    old, new = {_key(k): k for k in before}, {_key(k): k for k in after}
    found = (KernelChange(old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new)))
    return [c for c in found if c.before is None or c.after is None or _work(c.before) != _work(c.after)]


def _work(kernel: KernelOutcome) -> tuple[object, ...]:
    """All of a kernel but the reasons for it."""
    return kernel.members, kernel.reads, kernel.bytes_read, kernel.bytes_written


def _order(
    before: Sequence[KernelOutcome], after: Sequence[KernelOutcome]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The kernels that both have, as they run before and after; None if that is the same."""
    shared = {_key(k) for k in before} & {_key(k) for k in after}
    orders = [[_key(k) for k in kernels if _key(k) in shared] for kernels in (before, after)]
    if orders[0] == orders[1]:
        return None
    old, new = (tuple(f"{output} aside" if aside else output for output, aside in keys) for keys in orders)
    return old, new


def _by_first_node(changes: Iterable[DecisionChange]) -> dict[str, list[tuple[Cause, ...]]]:
    """The causes of the changes by the node that each atom speaks of first."""
    found: dict[str, list[tuple[Cause, ...]]] = {}
    for change in changes:
        first = change.atom.partition("(")[2].partition(",")[0].rstrip(")")
        found.setdefault(first, []).append(change.causes)
    return found


def _joined(groups: Iterable[Sequence[Cause]]) -> tuple[Cause, ...]:
    return tuple(sorted({cause for group in groups for cause in group}))
