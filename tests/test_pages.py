"""Every error code has a page, and what stands on it is what is really said."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from schedulog.__main__ import main
from schedulog.codes import TITLES
from schedulog.pages import page

ROOT = Path(__file__).parent.parent


def loaded(name: str) -> ModuleType:
    """A module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLES = loaded("error_examples")


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {path.stem for path in (ROOT / "schedulog" / "pages").glob("*.md")} == set(TITLES)


def test_every_code_that_is_raised_has_a_title() -> None:
    folders = ("facts", "scheduler", "codegen", "runtimes", "schedulog")
    raised = {
        code
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if not path.is_symlink()
        for code in re.findall(r'"(SL\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert raised - set(TITLES) == set()


@pytest.mark.parametrize("code", sorted(TITLES))
def test_a_page(code: str) -> None:
    text = page(code)
    assert text.startswith(f"# {code}: {TITLES[code]}\n\n")
    assert re.search(r"\n## Cure\n\n\S", text)
    assert max(map(len, re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines())) <= 110
    if "## Example" in text:
        assert f"[{code}]" in text, "the example gives another code"
        assert EXAMPLES.refreshed(text) == text, "run: python docs/make.py"
    elif "SL100" <= code < "SL120":
        pytest.fail("a page about rule text has an example")


def test_the_programs_of_the_page_on_python_print_what_stands_there() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert EXAMPLES.refreshed(text.replace("\n40000 400\n", "\n1 2\n")) == text, "run: python docs/make.py"


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "sl110"]) == 0
    assert capsys.readouterr().out == page("SL110")
    assert main(["explain"]) == 0
    assert "SL110  a variable that nothing binds\n" in capsys.readouterr().out
    assert main(["explain", "SL999"]) == 2
    assert "there is no error code `SL999`" in capsys.readouterr().err
    assert main(["explain", "SL110", "--json"]) == 0
    assert '"title": "a variable that nothing binds"' in capsys.readouterr().out
