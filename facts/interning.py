"""The table behind hash-consing: the one node that is what a key says. It keeps no node alive."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final, Generic, TypeVar
from weakref import ref

T = TypeVar("T")

_FEWEST: Final = 1 << 14
"""Entries below which nothing is looked through for the dead."""


class Interned(Generic[T]):
    """Objects by key, held weakly; it cannot be observed except through `is`.

    A key names other objects by their `id`, so that the table keeps none of them alive either. That is exact as long as
    the object found under a key holds all that the key names: while it lives no id can mean another object, and what has
    died is never found. Entries of the dead are dropped when there are as many as there were living ones at the last
    look, which costs each entry a constant.
    """

    def __init__(self) -> None:
        self._table: dict[Hashable, ref[T]] = {}
        self._most = _FEWEST
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> T | None:
        """The living object under a key."""
        known = self._table.get(key)
        return None if known is None else known()

    def add(self, key: Hashable, fresh: T) -> T:
        """`fresh`, or the object that another thread has put under the key meanwhile."""
        with self._lock:
            if len(self._table) >= self._most:
                self._table = {key: kept for key, kept in self._table.items() if kept() is not None}
                self._most = max(_FEWEST, 2 * len(self._table))
            own = ref(fresh)
            known = self._table.setdefault(key, own)()
            if known is None:
                self._table[key] = own
            return fresh if known is None else known
