"""The graphs that `schedulog diff` compares on: files, records of many calls, and folders of both."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schedulog.cli.source import Bindings
from schedulog.errors import GraphError
from schedulog.graph_file import SUFFIXES, load, read_call

if TYPE_CHECKING:
    from schedulog.facts.graph import Graph

_RECORDS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Item:
    """A graph to come: a file, or `text`, the line of a record. `key` is a hash of its content.

    `broken` says why there is none: the rest of a record that cannot be read, a folder without graphs. What is bound in ONNX
    models is not meant for the other graphs `of_corpus`; for a graph that was named it is.
    """

    number: int
    name: str
    key: str
    text: str = ""
    broken: str = ""
    of_corpus: bool = True

    def graph(self, given: Bindings) -> Graph:
        """The graph. Raises GraphError, as `schedulog.load` does."""
        if self.broken:
            raise GraphError("SL260", f"cannot read {self.name}", where=self.name, reason=self.broken)
        if self.text:
            return read_call(self.text, self.name)
        if self.of_corpus and not self.name.lower().endswith(".onnx"):
            given = Bindings({}, {}, {})
        return load(self.name, dims=given.dims, inputs=given.shapes, constants=given.constants)


def named(paths: Iterable[str]) -> Iterator[Item]:
    """The graphs that are named one by one: a record is its first line, or the one behind `#`."""
    return (Item(number, path, path, of_corpus=False) for number, path in enumerate(paths))


def collected(paths: Iterable[str]) -> Iterator[Item]:
    """All graphs in files, records and folders, each file once, those of a folder in the order of their names.

    Raises GraphError: SL260 a path that does not exist, SL261 a file of an unknown kind.
    """
    files = list(dict.fromkeys(file for path in paths for file in _files(Path(path))))
    found = (content for file in files for content in _contents(file))
    return (Item(number, *content) for number, content in enumerate(found))


def count_of(paths: Iterable[str]) -> int:
    """How many graphs `collected` gives. Records are read for it."""
    return sum(1 for _ in collected(paths))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.is_file() and p.name.lower().endswith(SUFFIXES))
        if not found:
            raise GraphError("SL260", f"no graphs in {path}", where=str(path),
                             help=f"they end in {', '.join(SUFFIXES)}")  # fmt: skip
        return found
    if not path.is_file():
        raise GraphError("SL260", f"no file {path}", where=str(path))
    if not path.name.lower().endswith(SUFFIXES):
        raise GraphError("SL261", f"cannot tell what kind of graph {path} is", where=str(path),
                         help=f"known are names that end in {', '.join(SUFFIXES)}")  # fmt: skip
    return [path]


def _contents(file: Path) -> Iterator[tuple[str, str, str, str]]:
    """Name, key, text and what is broken of every graph in a file."""
    name = file.as_posix()
    if not file.name.lower().endswith(_RECORDS):
        try:
            yield name, _sha(file.read_bytes()), "", ""
        except OSError as error:
            yield name, name, "", error.strerror or str(error)
        return
    line = 0
    try:
        with gzip.open(file) if name.lower().endswith(".gz") else file.open("rb") as lines:
            for line, content in enumerate(lines):
                if content.strip():
                    yield f"{name}#{line}", _sha(content), content.decode("utf-8", "replace"), ""
    except (OSError, EOFError, zlib.error) as error:
        yield name, f"{name} {line}", "", f"after line {line}: {error}"


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
