"""The recorded decisions of tinygrad 0.10.2, on the curated part of the corpus that lives in tests/data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schedulog.errors import DeviceError
from schedulog.runtimes import open_device

HERE = Path(__file__).resolve().parent
RECORDS = HERE / "data" / "recorded.jsonl.gz"

KNOWN = {
    ("loads", "synthetic::handmade_two_assigns_to_one_buffer#1"),
    ("metadata", "test/test_schedule.py::TestSchedule::test_example_matmul_same#0+FUSE_ARANGE=1"),
}
"""What differs, and in which case: an assign reads a copy of what it is to overwrite where the seed reads in place
(docs/seed.md), and one kernel carries one user function more."""


def parity(*options: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "parity.py"), str(RECORDS), "--json", "--jobs", "1", *options]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def test_decisions_equal_the_recorded_ones() -> None:
    found = parity()
    assert found["cases"] > 1400
    for what in ("base_realizes", "realizes", "owners", "kernels", "order", "order_valid", "errors"):
        assert found[what] == found["cases"], (what, found["differences"][:5])
    assert found["order_compared"] > 0.9 * found["cases"]
    assert {(d["what"], d["case"]) for d in found["differences"]} == KNOWN
    for what in ("loads", "metadata"):
        assert found[what] == found["cases"] - sum(known == what for known, _ in KNOWN)


@pytest.mark.parametrize(("device", "every"), [("numpy", "1"), ("c", "9")])
def test_executed_kernels_equal_the_reference(device: str, every: str) -> None:
    try:
        open_device(device)
    except DeviceError as missing:
        pytest.skip(str(missing))
    found = parity("--execute", "--device", device, "--max-work", "200000", "--every", every)
    assert found["executed"] > 0.6 * found["cases"]
    assert found["executed_on_several"] > 0.1 * found["executed"]
    wrong = [d for d in found["differences"] if d["what"] == "executed"]
    assert found["executed_equal"] == found["executed"], wrong[:5]
