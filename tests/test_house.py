"""The walls of the house: who may import whom, what is installed, and how large things may grow."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("facts", "rules", "scheduler", "codegen", "runtimes")
MAY_IMPORT = {
    "facts": {"facts"},
    "rules": {"rules"},
    "scheduler": {"facts", "rules", "scheduler"},
    "codegen": {"facts", "scheduler", "codegen"},
    "runtimes": {"facts", "scheduler", "codegen", "runtimes"},
}
LONGEST_FUNCTION = 50
LONGEST_MODULE = 400
LONGEST_TEMPLATE = 80


def modules() -> list[Path]:
    return sorted(p for folder in (*FOLDERS, "schedulog") for p in _real(ROOT / folder, "*.py"))


def _real(folder: Path, pattern: str) -> Iterator[Path]:
    """Files below a folder, not through the links that stand for other folders."""
    for path in folder.rglob(pattern):
        if not any(parent.is_symlink() for parent in path.parents if parent != ROOT):
            yield path


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_run_one_way(folder: str) -> None:
    for path in _real(ROOT / folder, "*.py"):
        for name in imported(path):
            parts = name.split(".")
            if parts[0] == "schedulog" and len(parts) > 1:
                assert parts[1] in MAY_IMPORT[folder] | {"errors", "codes"}, f"{path} imports {name}"


def test_no_generic_top_level_import() -> None:
    for path in modules():
        for name in imported(path):
            assert name.split(".")[0] not in FOLDERS, f"{path} imports {name}"


def test_packages_list_is_the_tree() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {"schedulog"}
    for path in modules():
        relative = path.parent.relative_to(ROOT)
        name = ".".join(relative.parts)
        found.add(name if relative.parts[0] == "schedulog" else f"schedulog.{name}")
    assert found == listed


def test_links_stand_for_the_folders() -> None:
    for folder in FOLDERS:
        link = ROOT / "schedulog" / folder
        assert link.is_symlink() and link.resolve() == ROOT / folder


def test_no_device_is_named_above_the_runtimes() -> None:
    for folder in ("facts", "rules", "scheduler"):
        for path in _real(ROOT / folder, "*.py"):
            text = path.read_text()
            for word in ("cuda", "opencl", "pocl"):
                assert word not in text.lower(), f"{path} speaks of {word}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_sizes(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= LONGEST_MODULE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno + 1 <= LONGEST_FUNCTION, f"{path}: {node.name}"


def test_templates_are_short() -> None:
    for path in (ROOT / "codegen" / "templates").glob("*.j2"):
        assert len(path.read_text().splitlines()) <= LONGEST_TEMPLATE, path


def test_nothing_happens_at_import() -> None:
    """A module's top level only defines: no call but a few that make constants, no print, no file, no loop."""
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            assert (
                not isinstance(node, (ast.For, ast.While, ast.With, ast.Try)) or path.name == "__main__.py"
            ), path


def test_no_global_statement() -> None:
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, ast.Global), f"{path}:{node.lineno}"
