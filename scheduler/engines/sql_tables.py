"""Tables and indexes for relations: which columns lead, so that every lookup of the rules is an index prefix."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Table:
    """One relation's table and the column sets by which it is looked up.

    `appends`: rows keep the order of insertion (rowid 1..n), so that a range of rowids is a delta.
    """

    name: str
    width: int
    appends: bool
    strict: bool
    lookups: set[frozenset[int]] = field(default_factory=set)

    def statements(self) -> list[str]:
        """Return the SQL that makes the table and its indexes."""
        orders = index_orders(self.lookups, self.width)
        # One affinity everywhere: SQLite uses no index for a comparison between columns of two affinities.
        columns = ", ".join(f"c{i} INTEGER NOT NULL" for i in range(self.width))
        key = f"{'UNIQUE' if self.appends else 'PRIMARY KEY'}({_columns(orders[0])})"
        options = [*([] if self.appends else ["WITHOUT ROWID"]), *(["STRICT"] if self.strict else [])]
        made = [f'CREATE TABLE "{self.name}"({columns}, {key}) {", ".join(options)}']
        for i, order in enumerate(orders[1:]):
            made.append(f'CREATE INDEX "{self.name}.{i}" ON "{self.name}"({_columns(order)})')
        return made

    def insert(self, rows: int = 1) -> str:
        """Return the statement that adds some rows, each unless it is there."""
        marks = f"({', '.join('?' * self.width)})"
        return f'INSERT OR IGNORE INTO "{self.name}" VALUES{", ".join([marks] * rows)}'


def index_orders(lookups: Collection[frozenset[int]], width: int) -> list[tuple[int, ...]]:
    """Return column orders, the first over all columns, so that each looked-up set is a prefix of one of them.

    Sets that contain one another share an order (a chain cover, as in Subotic et al., VLDB 12(2), 2018, but greedy).
    """
    chains: list[list[frozenset[int]]] = []
    for columns in sorted(set(lookups) | {frozenset(range(width))}, key=lambda s: (len(s), sorted(s))):
        if not columns:
            continue
        fitting = [chain for chain in chains if chain[-1] < columns]
        if fitting:
            max(fitting, key=lambda chain: len(chain[-1])).append(columns)
        else:
            chains.append([columns])
    chains.sort(key=lambda chain: -len(chain[-1]))
    return [_spell(chain, width) for chain in chains]


def _spell(chain: Iterable[frozenset[int]], width: int) -> tuple[int, ...]:
    order: list[int] = []
    for columns in chain:
        order += sorted(columns - set(order))
    # Every order ends with all columns: a lookup then never goes back to the table.
    return (*order, *sorted(set(range(width)) - set(order)))


def _columns(order: Iterable[int]) -> str:
    return ", ".join(f"c{i}" for i in order)
