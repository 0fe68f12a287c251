"""Symbolic integers: canonical form, bounds, simplification, conversion."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedulog.errors import GraphError
from schedulog.facts.symbolic import (
    Expr,
    Size,
    Variable,
    bound_value,
    equal,
    evaluate,
    from_json,
    less,
    lower_bound,
    maximum,
    minimum,
    parse_record,
    prod,
    render,
    sizes_text,
    substitute,
    to_json,
    upper_bound,
    variables,
)

I = Variable("i", 0, 9)
J = Variable("j", 0, 3)
K = Variable("k", -2, 5)
BIT = Variable("bit", 0, 1)
N = Variable("n", 1, 8)

SIMPLIFIED: list[tuple[Size, str]] = [
    (I + 1 - 1, "i"),
    (I * 2 - I, "i"),
    ((I + J) * 3 - 3 * J, "i*3"),
    (I - I, "0"),
    (0 * I + 4, "4"),
    (5 - I, "-i + 5"),
    ((I + 1) * (I - 1), "i*i - 1"),
    ((I * 4 + J) // 4, "i"),
    ((I * 4 + J) % 4, "j"),
    ((I * 12 + J * 3 + 2) // 12, "i"),
    ((I * 8 + J) // 4, "i*2"),
    ((I * 6 + 4) // 2, "i*3 + 2"),
    ((I * 6 + 3) // 12, "i//2"),
    ((I * 7) // 4, "i + (i*3)//4"),
    ((I + 12) // 4, "i//4 + 3"),
    (I // 10, "0"),
    ((I + 20) % 10, "i"),
    (I // -2, "(-i)//2"),
    (I // 2 // 3, "i//6"),
    ((I // 2 + 5) // 3, "(i + 4)//6 + 1"),
    (I % 6 // 2, "(i//2)%3"),
    (I % 8 % 4, "i%4"),
    ((I * 2 + 1) % 4, "(i%2)*2 + 1"),
    ((I * 5 + J) % 4, "(i + j)%4"),
    (I // 4 * 4 + I % 4, "i"),
    (I // 4 % 2 * 4 + I % 4, "i%8"),
    (J * (I // 4) * 4 + J * (I % 4), "i*j"),
    ((BIT + 1) // 2, "bit"),
    ((BIT + 1) % 2, "-bit + 1"),
    (I * N // N, "i"),
    ((I * N + N * 3) // N, "i + 3"),
    ((N * 3 + 3) // (N + 1), "3"),
    (N % (N + 1), "n"),
    ((J + N + 4) % (N + 4), "j"),
    (less(I * 4 + J, 8), "(i < 2)"),
    (less(I // 2, 3), "(i < 6)"),
    (less(1, I // 2), "(3 < i)"),
    (less(3, I), "(3 < i)"),
    (less(I, 3 + J), "(i < j + 3)"),
    (less(I * 6, J * 4 + 5), "(i*3 < j*2 + 3)"),
    (less(I, 10), "1"),
    (less(I, 0), "0"),
    (less(I, 4) * less(I, 4), "(i < 4)"),
    (maximum(I, 9), "9"),
    (minimum(I, 12), "i"),
]


@pytest.mark.parametrize(("size", "text"), SIMPLIFIED, ids=[text for _, text in SIMPLIFIED])
def test_simplifies(size: Size, text: str) -> None:
    assert render(size) == text


def test_a_known_result_is_an_int() -> None:
    for size in (I - I, I // 10, less(I, 10), prod([I, 0]), I * 4 % 2):
        assert type(size) is int


def test_bounds_are_exact_for_independent_terms() -> None:
    size = I * 3 - J * 2 + 1
    assert (lower_bound(size), upper_bound(size)) == (-5, 28)
    assert (lower_bound(K * K), upper_bound(K * K)) == (0, 25)
    assert (lower_bound(K // 2), upper_bound(K // 2)) == (-1, 2)
    assert (lower_bound(I % 4), upper_bound(I % 4)) == (0, 3)
    assert (lower_bound(7), upper_bound(7)) == (7, 7)


def test_an_undecided_condition_has_no_truth_value() -> None:
    condition = less(I, 4)
    with pytest.raises(TypeError, match=r"\(i < 4\) has no truth value"):
        bool(condition)


def test_equal_and_less_say_when_they_do_not_know() -> None:
    assert equal(I + 1, 1 + I) is True
    assert equal(I, 10) is False
    assert equal(I, J) is None
    assert render(less(I, J)) == "(i < j)"


def test_equality_includes_bounds_and_value() -> None:
    assert Variable("i", 0, 9) == I
    assert Variable("i", 0, 8) != I
    assert I.bind(3) != I
    assert I.bind(3).unbound == I
    assert len({I + J, J + I, I, Variable("i", 0, 9)}) == 2


def test_expressions_are_immutable_and_can_be_pickled() -> None:
    size = (I * 5 + J) // 3 + less(K, J) - J % 3
    with pytest.raises(AttributeError, match="immutable"):
        I.name = "other"
    assert pickle.loads(pickle.dumps(size)) == size


def test_hash_and_text_do_not_depend_on_the_process() -> None:
    code = (
        "from schedulog.facts.symbolic import Variable;"
        "i, j = Variable('i', 0, 9), Variable('j', 0, 3);"
        "e = j % 3 + (i * 5 + j) // 3 + i; print(hash(e), e)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    size = J % 3 + (I * 5 + J) // 3 + I
    assert outputs == {f"{hash(size)} {size}\n"}


def test_text_does_not_depend_on_the_order_of_making() -> None:
    parts = [I * 3, J % 3, K * J, I // 4, less(I, J), K]
    texts = set()
    for seed in range(20):
        random.Random(seed).shuffle(parts)
        texts.add(render(sum(parts, start=0)))
    assert len(texts) == 1


def test_substitute_simplifies_again() -> None:
    size = (I * 4 + J * 2) // 8 + I
    assert render(substitute(size, {I: J * 2})) == "j*3"
    assert substitute(size, {I: 3, J: 2}) == 5
    assert substitute(size, {K: 1}) is size
    assert variables(size) == {I, J}


def test_values() -> None:
    size = (I.bind(7) * 2 + 1) // 4 + J.bind(3)
    assert bound_value(size) == 6
    assert evaluate(size, {"i": 1, "j": 2}) == 2
    assert bound_value(5) == 5


def test_a_deep_expression_passes() -> None:
    size: Size = I
    for k in range(3000):
        size = (size + Variable(f"v{k}", 0, 1)) // 2 + I
    moved = substitute(size, {I: I + 1})
    assert isinstance(moved, Expr)
    assert moved != size
    assert len(variables(moved)) == len(variables(size)) > 1
    assert evaluate(size, dict.fromkeys([v.name for v in variables(size)], 1)) > 0


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(GraphError) as caught:
        call()
    return caught.value.code


def test_errors() -> None:
    assert code_of(lambda: bound_value(I + 1)) == "SL220"
    assert code_of(lambda: evaluate(I + J, {"i": 1})) == "SL220"
    assert code_of(lambda: evaluate(I + J, {"i": 10, "j": 0})) == "SL223"
    assert code_of(lambda: Variable("x", 3, 2)) == "SL223"
    assert code_of(lambda: I.bind(10)) == "SL223"
    assert code_of(lambda: I.bind(2.0)) == "SL223"  # type: ignore[arg-type]
    assert code_of(lambda: I.bind("2")) == "SL223"  # type: ignore[arg-type]
    assert code_of(lambda: Variable("x", 0, 2.5)) == "SL223"  # type: ignore[arg-type]
    assert code_of(lambda: I // J) == "SL224"
    assert code_of(lambda: 7 % (I - 2)) == "SL224"


def test_error_text() -> None:
    with pytest.raises(GraphError) as caught:
        bound_value(I * 2 + J.bind(1))
    assert str(caught.value) == (
        "error[SL220] variable i has no value\n  at i*2 + j\n  help: bind i to a number between 0 and 9"
    )


@pytest.mark.parametrize(
    "obj",
    [None, "4", True, 1.0, [], {}, {"var": "i"}, {"var": "i", "min": 0, "max": "9"}, {"expr": ["POW", 2, 3]},
     {"expr": ["IDIV", 4]}, {"expr": ["MOD", 4, 3, 2]}, {"expr": ["ADD", 1, None]}],
)  # fmt: skip
def test_what_is_no_symbolic_integer_is_refused(obj: object) -> None:
    assert code_of(lambda: from_json(obj)) == "SL222"


def test_json_form() -> None:
    i = {"var": "i", "min": 0, "max": 9}
    assert to_json(I) == i
    assert to_json(I.bind(4)) == {**i, "val": 4}
    assert to_json(I * 3 + 1) == {"expr": ["ADD", ["MUL", i, 3], 1], "min": 1, "max": 28}
    assert to_json(I // 4) == {"expr": ["IDIV", i, 4], "min": 0, "max": 2}
    assert to_json(less(I, 4)) == {"expr": ["CMPLT", i, 4], "min": 0, "max": 1}


def test_reads_recorded_sizes() -> None:
    bound = {"var": "b", "min": 1, "max": 5, "val": 4}
    record = {"expr": ["ADD", ["MUL", bound, -1], {"var": "e", "min": 6, "max": 10}], "text": "((b*-1)+e)"}
    size = parse_record(record)
    assert render(size) == "-b + e"
    assert (lower_bound(size), upper_bound(size)) == (1, 9)


Meaning = Callable[[dict[str, int]], int]


class Sample:
    """An expression and, independently, what it means."""

    def __init__(self, size: Size, meaning: Meaning) -> None:
        self.size, self.meaning = size, meaning


def leaf(value: int | Variable) -> Sample:
    if isinstance(value, int):
        return Sample(value, lambda _: value)
    return Sample(value, lambda env: env[value.name])


def binary(parts: tuple[Sample, Sample, str]) -> Sample:
    left, right, operation = parts
    functions: dict[str, tuple[Callable[[Size, Size], Size], Callable[[int, int], int]]] = {
        "+": (lambda a, b: a + b, lambda a, b: a + b),
        "-": (lambda a, b: a - b, lambda a, b: a - b),
        "*": (lambda a, b: a * b, lambda a, b: a * b),
        "<": (less, lambda a, b: int(a < b)),
        "max": (maximum, max),
        "min": (minimum, min),
    }
    symbolic, plain = functions[operation]
    return Sample(symbolic(left.size, right.size), lambda env: plain(left.meaning(env), right.meaning(env)))


def division(parts: tuple[Sample, int | Variable, int, str]) -> Sample:
    left, divisor, extra, operation = parts
    right = leaf(divisor)
    if isinstance(divisor, Variable):
        right = Sample(divisor + extra, lambda env: env[divisor.name] + extra)
    if operation == "//":
        return Sample(left.size // right.size, lambda env: left.meaning(env) // right.meaning(env))
    return Sample(left.size % right.size, lambda env: left.meaning(env) % right.meaning(env))


LEAVES = st.one_of(st.sampled_from([I, J, K, BIT, N]), st.integers(-9, 9)).map(leaf)
DIVISORS = st.one_of(st.sampled_from([1, 2, 3, 4, 6, 8, 12, -2, -3]), st.just(N))
SAMPLES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner, st.sampled_from("++-*<")).map(binary),
        st.tuples(inner, inner, st.sampled_from(["max", "min"])).map(binary),
        st.tuples(inner, DIVISORS, st.integers(0, 2), st.sampled_from(["//", "%"])).map(division),
        st.tuples(inner, st.integers(-6, 6).map(leaf), st.just("*")).map(binary),
    ),
    max_leaves=12,
)
VALUES = st.fixed_dictionaries({v.name: st.integers(v.min, v.max) for v in (I, J, K, BIT, N)})


@given(SAMPLES, st.lists(VALUES, min_size=1, max_size=8))
@settings(max_examples=400, deadline=None)
def test_simplification_keeps_the_value_and_the_bounds(sample: Sample, values: list[dict[str, int]]) -> None:
    for env in values:
        value = sample.meaning(env)
        assert evaluate(sample.size, env) == value
        assert lower_bound(sample.size) <= value <= upper_bound(sample.size)
        assert eval(render(sample.size), dict(env)) == value


@given(SAMPLES)
@settings(max_examples=150, deadline=None)
def test_json_and_substitution_give_the_same_expression_back(sample: Sample) -> None:
    assert from_json(to_json(sample.size)) == sample.size
    other = {v: Variable(v.name + "'", v.min, v.max) for v in (I, J, K, BIT, N)}
    renamed = substitute(sample.size, other)
    assert substitute(renamed, {new: old for old, new in other.items()}) == sample.size


@given(SAMPLES, SAMPLES, VALUES)
@settings(max_examples=150, deadline=None)
def test_equal_and_less_are_right_where_they_decide(a: Sample, b: Sample, env: dict[str, int]) -> None:
    left, right = a.meaning(env), b.meaning(env)
    assert equal(a.size, b.size) in (None, left == right)
    assert evaluate(less(a.size, b.size), env) == (left < right)


def test_a_variable_shows_its_bounds_and_value_by_itself_and_its_name_in_a_size() -> None:
    bound = N.bind(5)
    assert repr(bound) == "Variable('n', min=1, max=8, value=5)"
    assert repr(N) == "Variable('n', min=1, max=8)"
    assert eval(repr(bound)) == bound and eval(repr(N)) == N
    assert (str(bound), repr(bound + 1), sizes_text((bound, 3))) == ("n", "n + 1", "[n, 3]")
