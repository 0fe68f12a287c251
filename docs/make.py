"""Make the pages of docs/ that are made from the code: python docs/make.py [--check].

With --check nothing is written; the exit status is 1 if a page is out of date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from error_examples import refreshed, tutorial

from schedulog.cli.doc import all_packs
from schedulog.codes import TITLES
from schedulog.scheduler.record.database import schema
from schedulog.scheduler.record.queries import named_queries

FOLDER: Final = Path(__file__).parent

_INTRODUCTION: Final = """# The run database

`run.save("run.db")` or `schedulog run GRAPH --save run.db` writes a SQLite file, whole or not at all. `schedulog sql run.db`
asks it, for reading only; so does any other SQLite tool.

The version of the schema is `pragma user_version`; schedulog refuses files of another version. Every derived relation of
the rules has a table `rel_<name>` besides: its columns are `run_id` and those the relation declares, nodes written n12 and
views v3.

This page is made from `facts/schema.sql` and `facts/queries.sql` by `docs/make.py`.
"""


_ERRORS: Final = """# Error codes

Each code means one thing for good. `schedulog explain SL110` prints its page. Where a command gives JSON, an error is an object
with the code.
"""


def schema_page() -> str:
    """docs/schema.md: every table, view and column, and the named queries."""
    return "\n".join([_INTRODUCTION, *_tables(), *_views(), *_queries()]) + "\n"


def _tables() -> Iterator[str]:
    yield "## Tables\n"
    for doc, name, body in re.findall(
        r"((?:^--[^\n]*\n)+)create table (\w+) \(\n(.*?)^\)", schema(), re.MULTILINE | re.DOTALL
    ):
        yield f"### {name}\n\n{_joined(doc)}\n\n| column | type | meaning |\n|---|---|---|"
        for column, kind, meaning in re.findall(r'^  "?(\w+)"? (\w+)[^\n]*? -- (.*)$', body, re.MULTILINE):
            yield f"| `{column}` | {kind} | {meaning} |"
        key = re.search(r"primary key \((.*)\)", body)
        yield f"\nKey: {key[1]}.\n" if key else ""


def _views() -> Iterator[str]:
    yield "## Views\n\n| view | columns | rows |\n|---|---|---|"
    for doc, name, body in re.findall(
        r"((?:^--[^\n]*\n)+)create view (\w+) as\n(.*?);", schema(), re.MULTILINE | re.DOTALL
    ):
        selected = re.split(r"\bfrom\b", body.replace("select", "", 1), maxsplit=1)[0]
        columns = [re.split(r"\bas\b|\.", part)[-1].strip() for part in selected.split(", ")]
        yield f"| `{name}` | {', '.join(columns)} | {_joined(doc)} |"
    yield ""


def _queries() -> Iterator[str]:
    yield "## Named queries\n\n`schedulog sql run.db NAME` or `run.sql(NAME)`; parameters as `--param NAME=VALUE`.\n"
    for query in named_queries().values():
        yield f"### {query.name}\n\n{query.title}\n\n```sql\n{query.sql}\n```\n"


def _joined(comment: str) -> str:
    return " ".join(line.removeprefix("--").strip() for line in comment.splitlines())


def error_pages() -> dict[Path, Callable[[], str]]:
    """The pages of the error codes, with what their examples give now."""
    folder = FOLDER.parent / "schedulog" / "pages"
    return {path: partial(_error_page, path) for path in sorted(folder.glob("*.md"))}


def _error_page(path: Path) -> str:
    return refreshed(path.read_text(encoding="utf-8"))


def language_page() -> str:
    """docs/language.md, with what its examples give now."""
    return refreshed((FOLDER / "language.md").read_text(encoding="utf-8"))


def python_page() -> str:
    """docs/python.md, with what its programs print now."""
    return refreshed((FOLDER / "python.md").read_text(encoding="utf-8"))


def tutorial_page() -> str:
    """docs/tutorial.md, with what its commands print now."""
    return tutorial((FOLDER / "tutorial.md").read_text(encoding="utf-8"))


def errors_page() -> str:
    """docs/errors.md: all codes, each with a link to its page."""
    rows = (f"| [{code}](../schedulog/pages/{code}.md) | {title} |" for code, title in sorted(TITLES.items()))
    return "\n".join([_ERRORS, "| code | what it is about |\n|---|---|", *rows]) + "\n"


PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "schema.md": schema_page,
        "rules.md": all_packs,
        "errors.md": errors_page,
        "language.md": language_page,
        "python.md": python_page,
        "tutorial.md": tutorial_page,
    }
)


def main() -> int:
    """Write the pages, or say which differ."""
    parser = argparse.ArgumentParser(description="Make the pages of docs/ that are made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    check = parser.parse_args().check
    status = 0
    made = {FOLDER / name: make for name, make in PAGES.items()} | error_pages()
    for path, make in made.items():
        text = make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            print(f"{path} is out of date; run: python docs/make.py", file=sys.stderr)
            status = 1
        else:
            path.write_text(text, encoding="utf-8")
            print(f"made {path}")
    return status


if __name__ == "__main__":
    sys.exit(main())
