"""Recorded tensor graphs, simplified: the graphs and what the tensors become are those of tinygrad 0.10.2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schedulog.errors import GraphError
from schedulog.facts.record import read_stages

HERE = Path(__file__).resolve().parent


def parity(*options: str) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "parity.py"), str(HERE / "data" / "recorded.jsonl.gz"), "--json"]
    command += ["--from", "tensor_graph", "--jobs", "1", *options]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def test_simplified_graphs_and_results_equal_the_recorded_ones() -> None:
    found = parity("--every", "2")
    assert found["cases"] > 700
    for what in ("simplified", "results", "realizes", "kernels", "order"):
        assert found[what] >= 0.99 * found["cases"], (what, found["differences"][:5])
    known = ("another shape of a constant under a mask", "fewer views for the same look")
    others = [
        d for d in found["differences"] if d["what"] == "simplified" and not d["reason"].startswith(known)
    ]
    assert others == []


def test_simplified_graphs_compute_what_the_tensors_say() -> None:
    found = parity("--execute", "--device", "numpy", "--max-work", "20000", "--every", "11")
    assert found["executed"] > 80
    wrong = [d for d in found["differences"] if d["what"] == "executed"]
    assert found["executed_equal"] == found["executed"], wrong


def test_a_record_without_a_tensor_graph_is_refused() -> None:
    with pytest.raises(GraphError, match="the record has no tensor_graph") as refused:
        read_stages({"graph": []})
    assert refused.value.code == "SL235"


def test_a_record_with_an_unknown_operation_is_refused() -> None:
    row = {"id": 0, "op": "GEMM", "dtype": "float", "shape": [1], "src": []}
    with pytest.raises(GraphError, match="unknown operation GEMM"):
        read_stages({"tensor_graph": [row], "graph": [row]})
