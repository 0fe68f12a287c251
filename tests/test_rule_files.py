"""The tests that stand in the rule files: on every engine, shuffled, and with real numbers on every device."""

from __future__ import annotations

from functools import cache

import pytest

from schedulog.rules import pack_names
from schedulog.scheduler.language.sources import read_sources
from schedulog.scheduler.rule_test import Case, Computes
from schedulog.scheduler.rule_tests import Runner, Suite, read_cases, shuffled, suites
from schedulog.scheduler.schedule import ENGINES, engines
from schedulog.verify import computing_devices, differences


@cache
def pack_suites() -> dict[str, Suite]:
    return {suite.name: suite for suite in suites(pack_names())}


@cache
def cases(pack: str) -> list[Case]:
    return read_cases(pack_suites()[pack])


@cache
def runner(pack: str, engine: str) -> Runner:
    """SQLite runs the rules as written and shuffled, and the kernels; the slower engines run them shuffled."""
    program = pack_suites()[pack].program
    if engine == "sqlite":
        return Runner(program, engine, seeds=(1, 2), execute=differences)
    return Runner(shuffled(program, 3), engine)


def items() -> list[object]:
    found = [(pack, i, case.test) for pack in pack_names() for i, case in enumerate(cases(pack))]
    return [pytest.param(pack, i, id=f"{t.place.file}:{t.place.line} {t.title}") for pack, i, t in found]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("pack", "index"), items())
def test_rule(pack: str, index: int, engine: str) -> None:
    missing = engines()[engine]
    if missing is not None:
        pytest.skip(missing)
    failures = [str(result) for result in runner(pack, engine).run(cases(pack)[index]) if not result.passed]
    assert not failures, "\n".join(failures)


def test_numbers_are_compared_on_more_than_the_reference() -> None:
    assert "numpy" in computing_devices()
    assert "null" not in computing_devices()


@pytest.mark.parametrize("pack", pack_names())
def test_every_rule_file_has_a_test_with_numbers(pack: str) -> None:
    computed = {
        case.test.place.file.replace("_test.dl", ".dl")
        for case in cases(pack)
        if any(isinstance(assertion.claim, Computes) for assertion in case.assertions)
    }
    assert {file.name for file in read_sources([pack], [], core=False).files} == computed
