"""A group of commands each of which is imported when it is called: the others cost it nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class LazyGroup(TyperGroup):
    """Commands by name, each the function `NAME_command` of its module in this folder.

    Listing the commands imports none of them: their docstrings are read from the source.
    """

    modules: ClassVar[Mapping[str, str]]
    """The module of each command, by the command's name."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands.update({name: _Unloaded(name, module) for name, module in self.modules.items()})

    # What typer calls a context is click's class in some versions and its own in others.
    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help of the group, with the first paragraph of each command's."""
        for command in self.commands.values():
            if isinstance(command, _Unloaded):
                command.help = _paragraphs(command.docstring())[0]
        super().format_help(ctx, formatter)


class _Unloaded(TyperCommand):
    """Stands for a command until it is called."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__(name)
        self.module = module

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself, which is imported here."""
        return self.load().make_context(info_name, args, parent=parent, **extra)

    def load(self) -> Any:
        """The command itself."""
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name, help="\n\n".join(_paragraphs(self.docstring())))(self.function())
        return get_command(alone)

    def function(self) -> Callable[..., Any]:
        """The function of the command."""
        found: Callable[..., Any] = getattr(import_module(f"schedulog.cli.{self.module}"), self._function)
        return found

    def docstring(self) -> str:
        """What the function's docstring says, without importing it."""
        source = Path(__file__).with_name(f"{self.module}.py").read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef) and node.name == self._function:
                return ast.get_docstring(node) or ""
        raise LookupError(f"{self.module}.{self._function}")

    @property
    def _function(self) -> str:
        return f"{self.name}_command"


def _paragraphs(text: str) -> list[str]:
    """Each on one line: typer keeps the line breaks of the source, and breaks lines for the terminal besides."""
    return [" ".join(part.split()) for part in text.split("\n\n")]
