"""The node cases of the onnx package's backend suite, run through the numpy reference.

As a script it runs every case that has only tensors, and prints how many pass, are refused and are wrong:

    python tests/onnx_backend.py [--names] [op types]

`--names` prints the passing names only, which is how tests/data/onnx_node_cases.txt is made.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedulog.errors import SchedulogError
from schedulog.facts.graph import Graph
from schedulog.facts.onnx.reader import read_onnx
from schedulog.runtimes.evaluate import reference

Arrays = Mapping[str, NDArray[Any]]


def node_cases(op_types: Sequence[str] = ()) -> list[Any]:
    """The suite's node cases: all of them, or those made for `op_types`."""
    from onnx.backend.test.case.node import collect_testcases

    if not op_types:
        return list(collect_testcases())
    return [case for op_type in op_types for case in collect_testcases(op_type)]


def lowered(content: bytes, given: Arrays) -> tuple[Graph, Arrays]:
    """The graph, and what is still given when it runs.

    The suite feeds shapes, axes and the like as inputs, where real files have constants: if the graph cannot be read
    with all inputs open, integers after the first input are fixed, then everything.
    """
    names = list(given)
    attempts = [[], [n for n in names[1:] if given[n].dtype.kind in "iu"], names[1:], names]
    for fixed in attempts[:-1]:
        try:
            return _read(content, given, fixed)
        except SchedulogError as error:
            if error.code != "SL244" or "depend on the inputs" not in error.message:
                raise
    return _read(content, given, attempts[-1])


def _read(content: bytes, given: Arrays, fixed: Sequence[str]) -> tuple[Graph, Arrays]:
    graph = read_onnx(
        content,
        inputs={n: a.shape for n, a in given.items() if n not in fixed},
        constants={n: given[n] for n in fixed},
    )
    return graph, {n: a for n, a in given.items() if n not in fixed}


def verdict(case: Any) -> str:
    """How a case ended: "passed", "refused: why", "rounded: how" (16-bit floats only) or "wrong: how"."""
    model = case.model
    for data in case.data_sets:
        inputs, outputs = ([_as_array(value) for value in values] for values in data)
        given = dict(zip(_open_inputs(model), inputs, strict=True))
        if not all(isinstance(a, (np.ndarray, np.generic)) for a in (*given.values(), *outputs)):
            return "refused: not tensors"
        try:
            graph, rest = lowered(model.SerializeToString(), {n: np.asarray(a) for n, a in given.items()})
            results = reference(graph, rest)
        except SchedulogError as error:
            return f"refused: {error.code} {error.message}"
        except (ValueError, IndexError, KeyError, TypeError, ArithmeticError) as error:
            return f"wrong: {type(error).__name__} {error}"
        for name, expected in zip((v.name for v in model.graph.output), outputs, strict=True):
            problem = _difference(results[name], np.asarray(expected), case)
            if problem:
                return problem
    return "passed"


def _as_array(value: Any) -> Any:
    """Casts give their data as ONNX tensors; sequences and the like stay what they are."""
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def _open_inputs(model: Any) -> list[str]:
    """The inputs without contents: old files list their weights among the inputs."""
    weights = {t.name for t in model.graph.initializer}
    return [v.name for v in model.graph.input if v.name not in weights]


def _difference(found: NDArray[Any], expected: NDArray[Any], case: Any) -> str:
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"wrong: {found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    try:
        np.testing.assert_allclose(found, expected, rtol=case.rtol, atol=case.atol)
    except (AssertionError, TypeError) as error:
        near = found.dtype.itemsize == 2 and bool(_within_two_steps(found, expected).all())
        return ("rounded: " if near else "wrong: ") + str(error).strip().replace("\n", " ")[:200]
    return ""


def _within_two_steps(found: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether 16-bit floats differ by at most two roundings: the suite's 1e-3 is less than one of bfloat16."""
    wide = expected.astype(np.float64)
    step = 2.0**-7 if found.dtype.name == "bfloat16" else 2.0**-10
    return np.isclose(found.astype(np.float64), wide, rtol=2 * step, atol=0)


def main(arguments: Sequence[str]) -> int:
    """Run the cases, print the outcome; 1 if one is wrong."""
    verdicts = {c.name: verdict(c) for c in node_cases([a for a in arguments if not a.startswith("-")])}
    if "--names" in arguments:
        print("\n".join(sorted(n for n, v in verdicts.items() if v == "passed")))
        return 0
    for name, outcome in verdicts.items():
        if outcome != "passed":
            print(f"{name}: {outcome}")
    print(Counter(v.split(":")[0] for v in verdicts.values()))
    return int(any(v.startswith("wrong") for v in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
