"""The example pack: its own tests, its tutorial, and that it installs as it says."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from schedulog.__main__ import main
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.rule_check import check_rules
from schedulog.scheduler.rule_tests import run_rule_tests
from schedulog.scheduler.schedule import ENGINES, engines
from schedulog.verify import differences

FOLDER = Path(__file__).parent.parent / "examples" / "keep_reductions"
TUTORIAL = (FOLDER / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    (command, shown)
    for block in re.findall(r"```console\n(.*?)```", TUTORIAL, re.DOTALL)
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy, so that commands leave nothing behind."""
    monkeypatch.chdir(shutil.copytree(FOLDER, tmp_path / "example"))


def test_it_is_right_and_its_tests_hold_on_every_engine() -> None:
    pack = Path("keep_reductions")
    assert check_rules([pack]) == ()
    present = [name for name in ENGINES if engines()[name] is None]
    found = run_rule_tests([pack], present, execute=differences, seeds=(1,))
    assert not [str(result) for result in found if not result.passed]
    assert len({result.test.place for result in found}) == 5


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_the_tutorial_shows_what_is_printed(
    command: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = re.findall(r"'[^']*'|\S+", command)
    assert program == "schedulog"
    main([argument.strip("'") for argument in arguments])
    captured = capsys.readouterr()
    assert _unplaced(captured.out + captured.err) == _unplaced(shown)


def _unplaced(text: str) -> str:
    """A text without the lines at which rules of core stand: they move when those files are edited."""
    return re.sub(r"(core/\w+\.dl):\d+", r"\1", text)


def test_the_tutorials_python_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
    exec(compile(program, "README.md", "exec"), {})  # noqa: S102 (the tutorial is ours)


def test_it_is_found_by_its_name_as_its_project_offers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    offers = project["project"]["entry-points"]["schedulog.rule_packs"]
    (package,) = project["tool"]["setuptools"]["packages"]
    assert offers == {"keep-reductions": package}
    info = tmp_path / "site" / "keep_reductions-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: keep-reductions\nVersion: 0.1.0\n", encoding="utf-8"
    )
    lines = [f"{name} = {value}" for name, value in offers.items()]
    (info / "entry_points.txt").write_text("\n".join(["[schedulog.rule_packs]", *lines]), encoding="utf-8")
    # Only what the project installs is there.
    for pattern in project["tool"]["setuptools"]["package-data"][package] + ["*.py"]:
        for file in Path(package).glob(pattern):
            (tmp_path / "site" / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, tmp_path / "site" / file)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, package, raising=False)
    program = load_program(["keep-reductions"])
    assert program.versions["keep-reductions"] == project["project"]["version"]
    assert [code.functions for code in program.code] == [("depth",)]
    found = run_rule_tests(["keep-reductions"])
    assert found and all(result.passed for result in found)
