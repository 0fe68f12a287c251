"""The accepted outcomes of `snapshot` assertions: per rule file NAME.dl one file NAME.expected, made to be reviewed.

# two readers stay apart
realize {e, s}
kernels {{e}, {s}}
bytes 4224
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from schedulog.errors import RuleError
from schedulog.facts.new_file import new_file
from schedulog.scheduler.language.program import RuleTest
from schedulog.scheduler.language.rule_file import stem

_TITLE = "# "


def baseline(test: RuleTest, folder: Path) -> Path:
    """The file of accepted outcomes beside the rule file of a test; the files of a pack known by its name are in `folder`."""
    file = Path(test.place.file)
    name = stem(file.name) + ".expected"
    return (file.parent if file.exists() else folder.joinpath(*file.parent.parts[1:])) / name


def read_snapshots(path: Path) -> dict[str, str]:
    """The accepted outcomes by the titles of their tests; none if there is no file. Raises RuleError SL107."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise RuleError(
            "SL107", "a file of snapshots cannot be read", where=path.as_posix(), reason=str(problem)
        ) from None
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(_TITLE):
            lines = found.setdefault(line.removeprefix(_TITLE), [])
        elif line:
            lines.append(line)
    return {title: "\n".join(lines) for title, lines in found.items()}


def write_snapshots(path: Path, accepted: Mapping[str, str]) -> None:
    """Write the outcomes of one file, in order of their titles; without any there is no file."""
    if not accepted:
        path.unlink(missing_ok=True)
        return
    blocks = [f"{_TITLE}{title}\n{text}\n" for title, text in sorted(accepted.items())]
    with new_file(path) as file:
        file.write("\n".join(blocks).encode())


def check_titles(tests: list[RuleTest]) -> None:
    """Refuse two tests of one file with one title, whose snapshots would be one. Raises RuleError SL160."""
    seen: dict[tuple[str, str], RuleTest] = {}
    for test in tests:
        first = seen.setdefault((test.place.file, test.title), test)
        if first is not test:
            raise RuleError(
                "SL160",
                f'two tests with the title "{test.title}"',
                where=test.place,
                reason=f"a snapshot is known by its title; the first one is at {first.place}",
                help="give this test a title of its own",
            )
