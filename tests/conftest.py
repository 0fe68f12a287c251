"""Options of the test run."""

from __future__ import annotations

import pytest

collect_ignore_glob = ["bad/*"]
"""Rule files that are wrong on purpose; the plugin for rule tests would collect those with tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files anew instead of comparing"
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def _hundred_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fits the terminal is told for one of 100 columns: processes of a parallel run are told another width."""
    monkeypatch.setenv("COLUMNS", "100")
