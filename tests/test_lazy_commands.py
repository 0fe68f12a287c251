"""Commands are imported when they are called, and listed without being imported."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from schedulog.cli.app import app

ROOT = Path(__file__).resolve().parent.parent
COMMANDS: dict[str, Any] = dict(get_command(app).commands)  # type: ignore[attr-defined]

CODE = """
import sys
from schedulog.__main__ import main
main(sys.argv[1:])
print("imported", *sorted(name for name in sys.modules if name.startswith("schedulog.cli.")))
"""


def imported_by(*arguments: str) -> set[str]:
    child = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], cwd=ROOT, text=True, capture_output=True, check=True
    )
    return {name.rpartition(".")[2] for name in child.stdout.splitlines()[-1].split()[1:]}


def test_the_list_of_commands_imports_none() -> None:
    assert imported_by("--help") == {"app", "lazy_group"}


def test_a_command_imports_no_other() -> None:
    assert imported_by("explain", "SL100") & set(COMMANDS) == {"explain"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    command = COMMANDS[name]
    assert command.docstring() == inspect.getdoc(command.function())
    assert command.load().name == name


def test_the_list_has_the_first_paragraph_and_the_command_all_of_them() -> None:
    why = COMMANDS["why"].load().help
    assert why.startswith("Say why something holds: the rules, down to the facts of the graph.\n\nOf a fact,")
    assert why.count("\n") == 2
    child = subprocess.run(
        [sys.executable, "-m", "schedulog", "--help"], cwd=ROOT, text=True, capture_output=True, check=True
    )
    assert "Say why something holds:" in child.stdout
    assert "Of a fact," not in child.stdout


def test_a_pack_that_is_not_there_is_told_with_the_way_to_others() -> None:
    child = subprocess.run(
        [sys.executable, "-m", "schedulog", "rules", "--pack", "./zz"],
        cwd=ROOT,
        check=False,
        text=True,
        capture_output=True,
    )
    assert child.stderr == (
        "error[SL716] no rule here is of the pack `./zz`\n"
        "  help: packs: classic, core; of another one name its folder: schedulog rules ./FOLDER\n"
    )
