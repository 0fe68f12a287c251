"""What the rules are given beside the graph, checked before they are evaluated: switches in their ranges, inputs that exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from schedulog.errors import ScheduleError, UsageError
from schedulog.scheduler.language.expression import HIGHEST, LOWEST
from schedulog.scheduler.language.program import Const, Literal_, Program


def check_switches(program: Program, options: Mapping[str, int]) -> None:
    """Require that every switch is an integer of 64 bits, and no limit less than `least_limit` in the rules allows.

    Raises UsageError: SL730 no integer, SL731 outside the range.
    """
    least = least_values(program) if options else {}
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, int):
            raise UsageError("SL730", f"the switch {name!r} cannot be {value!r}", where="options",
                             reason="a switch has a name and an integer", help="for example kernel_nodes=500")  # fmt: skip
        low = least.get(name, LOWEST)
        if not low <= value <= HIGHEST:
            raise UsageError("SL731", f"`{name}` cannot be {value}", where="options",
                             reason=f"it goes from {low} to {HIGHEST}", help="give a number in this range")  # fmt: skip


def check_known(known: Collection[str], options: Iterable[str], where: str = "options") -> None:
    """Refuse a switch that no rule asks about: it would change nothing. `known` are those of `known_switches`.

    Raises UsageError SL706.
    """
    for name in options:
        if name not in known:
            listed = sorted(known)
            near = get_close_matches(name, listed, 1)
            help = f"did you mean {near[0]}?" if near else f"switches: {', '.join(listed)}"
            raise UsageError("SL706", f"no rule asks about `{name}`", where=where, help=help)


def known_switches(*programs: Program) -> frozenset[str]:
    """The switches that some rule of the programs asks about, limits among them."""
    return frozenset(name for program in programs for name in switches(program, "option", "default_limit"))


def least_values(program: Program) -> dict[str, int]:
    """What the rules state with `least_limit`, of several the most."""
    found: dict[str, int] = {}
    for rule in program.rules:
        if rule.head.relation == "least_limit" and not rule.body:
            name, value = (term.value for term in rule.head.terms if isinstance(term, Const))
            if isinstance(name, str) and isinstance(value, int):
                found[name] = max(value, found.get(name, LOWEST))
    return found


def switches(program: Program, *relations: str) -> list[str]:
    """The names that rules give to the first argument of these relations, sorted: an option is asked for by its name.

    `option`: switches; `default_limit`: limits, which an option of the same name replaces.
    """
    found: set[str] = set()
    for rule in program.rules:
        atoms = [rule.head, *(item.atom for item in rule.body if isinstance(item, Literal_))]
        terms = [term for atom in atoms if atom.relation in relations for term in atom.terms[:1]]
        found.update(term.value for term in terms if isinstance(term, Const) and isinstance(term.value, str))
    return sorted(found)


def check_inputs(program: Program, supplied: Collection[str]) -> None:
    """Require that the graph supplies every `.input` relation that is not `.open`. Raises ScheduleError SL315."""
    for relation in program.relations.values():
        if relation.is_input and not relation.is_open and relation.name not in supplied:
            raise ScheduleError("SL315", f"nothing supplies the input relation `{relation.name}`", where=relation.place,
                                reason="a graph has no such facts, so rules that need them would never hold",
                                help=f"state facts of it and drop `.input {relation.name}`, or write "
                                     f"`.open {relation.name}` if it may be empty")  # fmt: skip
