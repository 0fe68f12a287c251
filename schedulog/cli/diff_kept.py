"""The answers of a comparison of many graphs, kept as they come, so that an interrupted one goes on where it was.

An answer belongs to a question (the rules, switches and code it was found with), the content of a graph and its name. A
process that dies leaves whole answers only.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

import platformdirs

from schedulog.cli.diff_items import Item
from schedulog.cli.diff_work import Answer
from schedulog.errors import UsageError
from schedulog.scheduler.record.file_kind import COMPARISONS, application, file_kind

VERSION: Final = 1
"""The version of the table and of the answers in it."""
FORGOTTEN: Final = 30 * 24 * 3600.0
"""Seconds for which a comparison that nobody continues is kept in the user's cache."""
PATIENCE: Final = 60.0
"""Seconds to wait for another process that writes."""

_SCHEMA: Final = """
create table if not exists answer (
  question text not null, key text not null, name text not null, body blob not null,
  primary key (question, key, name)
) without rowid
"""


class Kept:
    """The answers to one question in a file, which is made if it is absent.

    Raises UsageError SL726 where the file is one of something else, is damaged, or cannot be written.
    """

    def __init__(self, path: Path, question: str) -> None:
        self.path = path
        self._question = question
        with self._told():
            self._connection = sqlite3.connect(path, PATIENCE, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        ask = self._connection.execute
        ask("begin immediate")
        if ask("select count(*) from sqlite_master").fetchone()[0]:
            found, number = application(self._connection), ask("pragma user_version").fetchone()[0]
            if found != COMPARISONS:
                raise _refused(self.path, file_kind(found).holds)
            if number != VERSION:
                raise _refused(
                    self.path, f"it has version {number} of the table, this schedulog reads {VERSION}"
                )
        ask(_SCHEMA)
        ask(f"pragma application_id = {COMPARISONS}")
        ask(f"pragma user_version = {VERSION}")
        ask("commit")

    def find(self, item: Item) -> Answer | None:
        """The answer for a graph, if there is one."""
        query = "select body from answer where question = ? and key = ? and name = ?"
        with self._told():
            row = self._connection.execute(query, (self._question, item.key, item.name)).fetchone()
            if row is None:
                return None
            record = json.loads(zlib.decompress(row[0]))
            return Answer(**record | {"number": item.number, "lines": tuple(record["lines"])})

    def add(self, answers: Sequence[Answer]) -> None:
        """Keep answers, all or none of them."""
        rows = [(self._question, a.key, a.name, _body(a)) for a in answers]
        with self._told():
            self._connection.execute("begin immediate")
            self._connection.executemany("insert or replace into answer values (?, ?, ?, ?)", rows)
            self._connection.execute("commit")

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, zlib.error, ValueError, KeyError, TypeError) as error:
            raise _refused(self.path, str(error)) from error


def _body(answer: Answer) -> bytes:
    return zlib.compress(json.dumps(asdict(answer), ensure_ascii=False).encode())


def _refused(path: Path, reason: str) -> UsageError:
    return UsageError("SL726", f"cannot keep a comparison in {path}", where=str(path), reason=reason,
                      help="give another file with --resume, or remove this one")  # fmt: skip


def usual_place(question: str) -> Path:
    """Where a comparison is kept if nothing is said: a file of the user's cache, which goes when the comparison is done.

    Files of comparisons that nobody continued for a month are removed. Raises UsageError SL726 where there can be no file.
    """
    folder = Path(os.environ.get("SCHEDULOG_CACHE") or platformdirs.user_cache_dir("schedulog")) / "diff"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(folder, error.strerror or str(error)) from error
    for file in folder.glob("*.db"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > FORGOTTEN:
                file.unlink()
    return folder / f"{question[:32]}.db"
