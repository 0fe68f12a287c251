"""Packs by name: those that come with schedulog, and those that installed packages offer.

A package offers a pack by the entry-point group `schedulog.rule_packs`: the name is the pack's, the value a package in whose
folder `pack.toml` lies. Nothing of it is imported before somebody names the pack.
"""

from __future__ import annotations

import os
import sys
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.resources import files
from pathlib import Path
from typing import Final

from schedulog.errors import RuleError
from schedulog.rules import pack_folder, pack_names
from schedulog.scheduler.language.diagnostic import nearest
from schedulog.scheduler.language.pack import MANIFEST, Pack, is_pack
from schedulog.scheduler.language.pack_manifest import read_manifest

GROUP: Final = "schedulog.rule_packs"


@cache
def built_in_packs() -> dict[str, Pack]:
    """The packs that come with schedulog: their files do not change while a process runs."""
    errors: list[RuleError] = []
    read = [read_manifest(pack_folder(name), name, errors) for name in pack_names()]
    assert not errors, errors
    return {pack.name: pack for pack in read if pack is not None}


def find_pack(name: str, errors: list[RuleError]) -> Pack | None:
    """The pack that is called `name`.

    None, with an error: SL108 there is none, SL125 there are several, SL123 its package or its `pack.toml` is wrong.
    """
    built_in = built_in_packs().get(name)
    offers = _offers(name, entry_points(group=GROUP) if built_in is None else _seen(tuple(sys.path)))
    if len(offers) + (built_in is not None) > 1:
        errors.append(_several(name, offers, built_in))
        return None
    if built_in is not None:
        return built_in
    if not offers:
        errors.append(_unknown(name))
        return None
    return _installed(offers[0], errors)


def shipped_name(folder: Path) -> str | None:
    """The pack that comes with schedulog whose folder this is."""
    found = (name for name in pack_names() if Path(str(pack_folder(name))).resolve() == folder.resolve())
    return next(found, None)


def known_packs() -> tuple[str, ...]:
    """The names of all packs that can be loaded by name."""
    return tuple(sorted({*pack_names(), *(offer.name for offer in entry_points(group=GROUP))}))


@lru_cache(maxsize=8)
def _seen(path: tuple[str, ...]) -> EntryPoints:
    """What installed packages offer, looked up once: it takes milliseconds, and every schedule asks for built-in packs."""
    return entry_points(group=GROUP)


def _offers(name: str, offered: EntryPoints) -> list[EntryPoint]:
    """What is offered under a name; a package that is found twice on the path counts once."""
    found = offered.select(name=name)
    return list({(offer.value, _distribution(offer)): offer for offer in found}.values())


def _distribution(offer: EntryPoint) -> str:
    return offer.dist.name if offer.dist is not None else "an unknown package"


def _installed(offer: EntryPoint, errors: list[RuleError]) -> Pack | None:
    package = f"{offer.value} of {_distribution(offer)}"
    try:
        folder = files(offer.value)
        there = is_pack(folder)
    except Exception as problem:  # noqa: BLE001 (importing a package may raise whatever its author likes)
        reason = f"{type(problem).__name__}: {problem}"
        errors.append(RuleError("SL123", f"the pack `{offer.name}` cannot be loaded: {package}", where=f"{GROUP}: {offer.name}",
                                reason=reason, help="repair or remove the package that offers it"))  # fmt: skip
        return None
    if not there:
        errors.append(RuleError("SL123", f"the pack `{offer.name}` has no {MANIFEST}: {package}", where=f"{GROUP}: {offer.name}",
                                help=f"the value of the entry point is the package beside whose __init__.py {MANIFEST} lies"))  # fmt: skip
        return None
    pack = read_manifest(folder, offer.name, errors)
    if pack is not None and pack.name != offer.name:
        errors.append(RuleError("SL123", f"pack.toml: the pack is called `{pack.name}`, its entry point `{offer.name}`",
                                where=pack.place("name"), help="give both one name"))  # fmt: skip
        return None
    return pack


def _several(name: str, offers: list[EntryPoint], built_in: Pack | None) -> RuleError:
    sources = ["schedulog itself"] * (built_in is not None) + sorted(map(_distribution, offers))
    return RuleError(
        "SL125",
        f"several packs are called `{name}`",
        where="packs",
        reason=f"it comes with {', '.join(sources[:-1])} and with {sources[-1]}; nothing is shadowed",
        help="remove one of the packages, or name the folder of the pack that is meant: ./my_pack",
    )


def _unknown(name: str) -> RuleError:
    known = known_packs()
    # A folder that lies there is meant, whatever pack has a similar name; "" would be the folder we are in.
    help = f"write ./{name} for what lies there" if name and os.path.exists(name) else nearest(name, known)
    if not help and "(" in name:
        help = "rule text is taken for rules if it has a line break or `:-`"
    help = help or f"packs: {', '.join(known)}; a file or folder is written with its path: ./{name}"
    return RuleError("SL108", f"unknown rule pack `{name}`", where="packs", help=help)
