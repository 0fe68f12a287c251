"""Files as memory: what is read, what is not, and what is refused."""

from __future__ import annotations

import math
import os
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedulog import Tensor, open_file
from schedulog.errors import DeviceError
from schedulog.facts import build
from schedulog.facts.buffer import Buffer
from schedulog.facts.dtype import bool_, float32, int32, named, uint8
from schedulog.facts.file_buffer import open_file_buffer
from schedulog.facts.graph import graph_of
from schedulog.facts.node import Node
from schedulog.facts.ops import Op
from schedulog.facts.simplify import simplify
from schedulog.facts.view import View, ViewStack
from schedulog.run import schedule
from schedulog.runtimes import file_span
from schedulog.runtimes.evaluate import reference, reference_memory
from schedulog.runtimes.file_span import FileSpan
from schedulog.runtimes.strided import show, store

Array = NDArray[Any]


class Read:
    """The byte ranges read from files."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    @property
    def bytes(self) -> int:
        return sum(end - begin for begin, end in self.ranges)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    seen, real = Read(), file_span.transfer_in

    def counted(file: FileIO, at: int, target: memoryview) -> None:
        seen.ranges.append((at, at + len(target)))
        real(file, at, target)

    monkeypatch.setattr(file_span, "transfer_in", counted)
    return seen


def numbers(folder: Path, count: int = 1000) -> Path:
    path = folder / "numbers"
    np.arange(count, dtype=np.float32).tofile(path)
    return path


def refused(code: str, call: Any) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        call()
    assert caught.value.code == code
    return caught.value


def test_nothing_is_read_until_a_copy_and_then_only_what_it_needs(tmp_path: Path, read: Read) -> None:
    x = open_file(numbers(tmp_path), np.float32, (10, 100))
    rows = x[3:5]
    bits = rows.contiguous().bitcast(np.int32)
    assert (bits.shape, bits.dtype.name, bits.device) == ((2, 100), "int32", f"disk:{tmp_path}/numbers")
    assert bits.realize() is bits and read.bytes == 0
    copied = bits.to("numpy")
    wanted = np.arange(300, 500, dtype=np.float32).reshape(2, 100)
    assert copied.numpy().view(np.float32).tolist() == wanted.tolist()
    assert read.ranges == [(1200, 2000)]


@pytest.mark.parametrize(
    ("key", "ranges"),
    [
        ((slice(2, 4), slice(5, 7)), [(4 * at, 4 * at + 8) for at in (205, 305)]),
        ((slice(None), 0), [(400 * row, 400 * row + 4) for row in range(10)]),
        ((9, slice(None, None, -1)), [(3600, 4000)]),
        ((0, slice(0, 6, 2)), [(0, 4), (8, 12), (16, 20)]),
    ],
)
def test_a_view_is_read_in_runs(tmp_path: Path, read: Read, key: Any, ranges: list[tuple[int, int]]) -> None:
    x = open_file(numbers(tmp_path), np.float32, (10, 100))
    wanted = np.arange(1000, dtype=np.float32).reshape(10, 100)[key]
    assert x[key].numpy().tolist() == wanted.tolist()
    assert read.ranges == ranges


def test_what_is_repeated_or_padded_is_read_once(tmp_path: Path, read: Read) -> None:
    x = open_file(numbers(tmp_path), np.float32, (1000,))
    assert x[:2].broadcast_to(50, 2).numpy().tolist() == [[0, 1]] * 50
    assert x[:2].pad([(3, 3)]).numpy().tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
    assert read.bytes == 16


def spans(folder: Path, dtype: str = "float32", count: int = 60) -> tuple[FileSpan, Array]:
    values = np.arange(count).astype(named(dtype).to_numpy())
    path = folder / f"{dtype}-{count}"
    path.write_bytes(values.tobytes())
    return FileSpan(str(path), 0, count, named(dtype)), values


@st.composite
def stacks(draw: st.DrawFn, size: int = 60) -> ViewStack:
    """A stack of movements over `size` elements."""
    look = ViewStack.of_shape((size,))
    for _ in range(draw(st.integers(0, 5))):
        shape = [int(s) for s in look.shape if isinstance(s, int)]
        match draw(st.sampled_from(["reshape", "permute", "flip", "shrink", "pad", "expand"])):
            case "reshape":
                total = math.prod(shape)
                first = draw(st.sampled_from([d for d in range(1, total + 1) if total % d == 0] or [0]))
                look = look.reshape((first, total // first) if first else (0,))
            case "permute":
                look = look.permute(draw(st.permutations(range(len(shape)))))
            case "flip":
                look = look.flip([draw(st.booleans()) for _ in shape])
            case "shrink":
                bounds = [sorted((draw(st.integers(0, n)), draw(st.integers(0, n)))) for n in shape]
                look = look.shrink([(b, e) for b, e in bounds])
            case "pad":
                look = look.pad([(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in shape])
            case _:
                look = look.reshape((1, *shape)).expand((draw(st.integers(1, 3)), *shape))
        if look.size > 5000:
            break
    return look


@given(look=stacks())
@settings(max_examples=150, deadline=None)
def test_a_file_is_seen_through_any_views(tmp_path_factory: pytest.TempPathFactory, look: ViewStack) -> None:
    span, values = spans(tmp_path_factory.getbasetemp())
    found = span.read(look, {})
    wanted = show(look, values, {})
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


@given(look=stacks())
@settings(max_examples=100, deadline=None)
def test_no_element_is_read_that_is_not_shown(
    tmp_path_factory: pytest.TempPathFactory, look: ViewStack
) -> None:
    span, values = spans(tmp_path_factory.getbasetemp())
    shown = set(show(look, values + 1, {}).reshape(-1).tolist()) - {0}
    with pytest.MonkeyPatch.context() as patch:
        seen: list[int] = []
        real = file_span.transfer_in

        def counted(file: FileIO, at: int, target: memoryview) -> None:
            seen.extend(range(at // 4, (at + len(target)) // 4))
            real(file, at, target)

        patch.setattr(file_span, "transfer_in", counted)
        span.read(look, {})
    assert sorted(seen) == sorted(int(x) - 1 for x in shown)


@given(look=stacks())
@settings(max_examples=100, deadline=None)
def test_a_file_is_written_through_views(tmp_path_factory: pytest.TempPathFactory, look: ViewStack) -> None:
    if look.size != len(set(show(look, np.arange(60) + 1, {}).reshape(-1).tolist()) - {0}):
        return  # an element shown twice has no one value
    span, values = spans(tmp_path_factory.mktemp("written"), "int64")
    new = -1 - np.arange(look.size).reshape([int(s) for s in look.shape if isinstance(s, int)])
    span.write(look, new, {})
    store(look, values, new, {})
    assert np.fromfile(span.path, np.int64).tolist() == values.tolist()


def test_what_is_written_goes_out_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not element by element: that took five seconds and a gigabyte for 80 MB."""
    span, _ = spans(tmp_path)
    written: list[tuple[int, int]] = []
    real = file_span.transfer_out

    def counted(file: FileIO, at: int, source: memoryview) -> None:
        written.append((at, at + len(source)))
        real(file, at, source)

    monkeypatch.setattr(file_span, "transfer_out", counted)
    monkeypatch.setattr(file_span, "elements", None)
    look = ViewStack.of_shape((60,)).reshape((5, 12)).shrink([(1, 3), (0, 12)]).permute((1, 0))
    span.write(look, np.zeros((12, 2), np.float32), {})
    assert written == [(48, 144)]
    span.write(ViewStack.of_shape((60,)).flip([True]), np.arange(60, dtype=np.float32), {})
    assert np.fromfile(span.path, np.float32).tolist() == list(range(59, -1, -1))


def test_overlapping_windows_are_read_by_element(tmp_path: Path) -> None:
    span, _ = spans(tmp_path)
    sliding = ViewStack((View.create((4, 3), (1, 1)),))
    assert span.read(sliding, {}).tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]


def test_a_view_that_leaves_the_file_is_refused(tmp_path: Path) -> None:
    span, _ = spans(tmp_path)
    refused("SL521", lambda: span.read(ViewStack((View.create((4,), (20,)),)), {}))
    refused("SL521", lambda: span.window(200, 11, float32))


def on_disk(path: Path, dtype: Any, count: int) -> Node:
    return build.buffer(open_file_buffer(path, dtype, count))


def test_windows_of_windows_are_kernels_for_which_nothing_runs(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(64)))
    part = build.contiguous(build.shrink(on_disk(path, uint8, 64), [(8, 40)]))
    ints = build.bitcast(part, int32)
    inner = build.contiguous(build.shrink(ints, [(2, 4)]))
    run = schedule([build.copy(inner, "numpy")])
    assert [kernel.kind for kernel in run.kernels] == ["view", "view", "view", "copy"]
    wanted = np.frombuffer(bytes(range(16, 24)), np.int32)
    times: list[float] = []
    assert run.execute({}, "numpy", times)["out0"].tolist() == wanted.tolist()
    assert read.ranges == [(16, 24)] and len(times) == 4
    assert reference(run.graph, {})["out0"].tolist() == wanted.tolist()


def test_a_requested_window_is_read_when_it_is_fetched(tmp_path: Path, read: Read) -> None:
    path = numbers(tmp_path)
    window = build.contiguous(build.shrink(on_disk(path, float32, 1000), [(10, 12)]))
    assert schedule(window).execute({}, "numpy")["out0"].tolist() == [10, 11]
    assert read.ranges == [(40, 48)]


def test_a_window_with_gaps_is_refused(tmp_path: Path) -> None:
    x = build.reshape(on_disk(numbers(tmp_path), float32, 1000), (10, 100))
    window = build.contiguous(build.shrink(x, [(0, 10), (0, 5)]))
    run = schedule(build.copy(window, "numpy"))
    error = refused("SL522", lambda: run.load("numpy"))
    assert error.message == "a window into memory that is not in one piece"


def test_nothing_is_computed_on_disk(tmp_path: Path) -> None:
    x = open_file(numbers(tmp_path), np.float32)
    error = refused("SL540", lambda: (x + 1).numpy())
    assert "copy it to a device first" in error.help and str(error.where).endswith("add")
    assert (x.to("numpy") + 1)[:2].tolist() == [1, 2]
    error = refused("SL540", lambda: schedule(build.alu(Op.NEG, build.array(np.zeros(2)))).load("disk"))
    assert error.help == "run it on a device that computes, as c or numpy; `schedulog devices` lists them"
    for made in ((x * 2).contiguous(), (x * 2).bitcast(np.int32)):
        error = refused("SL540", lambda y=made: y.numpy())
        assert "(MUL) cannot run on disk" in error.message


def test_what_is_made_of_constants_is_in_no_file() -> None:
    meant = build.expand(build.const(1.0, float32, (1,), "disk:/nowhere"), (4,))
    assert build.bitcast(build.alu(Op.EXP, meant), int32).op is Op.BITCAST
    stored = build.alu(Op.EXP, build.contiguous(meant))
    graph = simplify(graph_of([build.alu(Op.ADD, stored, build.array(np.ones(4, np.float32)))])).graph
    assert Op.BUFFER_VIEW not in {n.op for n in graph.nodes}
    assert np.allclose(schedule(graph).execute({}, "numpy")["out0"], np.e + 1)


def test_a_copy_to_disk_makes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new"
    x = (Tensor([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32).T + 1).to(f"disk:{path}")
    assert np.fromfile(path, np.float32).tolist() == [2, 4, 3, 5]
    assert (x.shape, x.device, x.tolist()) == ((2, 2), f"disk:{path}", [[2, 4], [3, 5]])
    assert os.listdir(tmp_path) == ["new"]
    error = refused("SL546", lambda: Tensor([1.0]).to(f"disk:{path}"))
    assert (error.message, error.help) == (
        f"{path} is there already",
        "give another name, or remove the file",
    )
    assert path.stat().st_size == 16


@pytest.mark.parametrize(
    "value", [np.float32(3), np.zeros((0, 3)), np.ones(4), np.arange(6).reshape(2, 3)], ids=str
)
def test_constants_and_nothing_are_written_too(value: Any, tmp_path: Path) -> None:
    for i, x in enumerate(
        [Tensor(value), Tensor(value).broadcast_to(2, *value.shape), Tensor(value) * 0 + 1]
    ):
        wanted = x.numpy()
        found = x.to(f"disk:{tmp_path}/{i}")
        assert (tmp_path / str(i)).read_bytes() == wanted.tobytes()
        assert (found.shape, found.tolist()) == (wanted.shape, wanted.tolist())


def test_a_file_is_not_cloned_onto_itself(tmp_path: Path) -> None:
    error = refused("SL546", open_file(numbers(tmp_path), np.float32)[2:].clone)
    assert error.reason == "a clone is on the same device, and that is this file"


def test_a_copy_to_a_folder_that_is_not_there(tmp_path: Path) -> None:
    refused("SL541", lambda: Tensor([1.0]).to(f"disk:{tmp_path}/none/x"))


def test_an_assign_writes_its_window_of_the_file(tmp_path: Path) -> None:
    path = numbers(tmp_path, 6)
    file = on_disk(path, float32, 6)
    new = build.array(np.array([7, 8], np.float32), "", "numpy")
    run = schedule(build.assign(build.shrink(file, [(2, 4)]), new))
    assert reference_memory(run.graph, {})[file.arg].tolist() == [0, 1, 7, 8, 4, 5]
    assert run.execute({}, "numpy")["out0"].tolist() == [7, 8]
    assert np.fromfile(path, np.float32).tolist() == [0, 1, 7, 8, 4, 5]
    assert schedule(build.copy(file, "numpy")).execute({}, "numpy")["out0"].tolist() == [0, 1, 7, 8, 4, 5]


@pytest.mark.parametrize(("dtype", "begin"), [(int32, 2), (uint8, 8), (float32, 2)], ids=str)
def test_an_assign_to_a_window_writes_the_file(dtype: Any, begin: int, tmp_path: Path) -> None:
    path = numbers(tmp_path, 6)
    file = on_disk(path, float32, 6)
    part = build.bitcast(build.contiguous(build.shrink(file, [(1, 5)])), dtype)
    count = part.size // 4
    window = build.shrink(part, [(count, 3 * count)])
    new = build.array(np.full(2 * count, 1, dtype.to_numpy()), "", "numpy")
    wanted = np.arange(6, dtype=np.float32)
    wanted.view(dtype.to_numpy())[begin : begin + 2 * count] = 1
    run = schedule([build.assign(window, new), build.copy(file, "numpy")])
    assert reference_memory(run.graph, {})[file.arg].tolist() == wanted.tolist()
    assert run.execute({}, "numpy")["out1"].tolist() == list(range(6)), "what it was when the graph was made"
    assert np.fromfile(path, np.float32).tolist() == wanted.tolist()


def test_one_file_by_two_names_is_one_file(tmp_path: Path) -> None:
    path, other, link = numbers(tmp_path, 4), tmp_path / "other", tmp_path / "link"
    os.link(path, other)
    link.symlink_to(path)
    new = build.array(np.zeros(4, np.float32), "", "numpy")
    for name in (other, link, tmp_path / "." / "numbers"):
        both = [build.copy(on_disk(name, float32, 4), "numpy"), build.assign(on_disk(path, float32, 4), new)]
        error = refused("SL545", lambda both=both: schedule(both).load("numpy"))
        assert error.message == f"{path} is changed, and used as other memory too"
    assert np.fromfile(path, np.float32).tolist() == [0, 1, 2, 3]


def test_one_file_as_two_buffers_may_be_read_but_not_written(tmp_path: Path) -> None:
    path = numbers(tmp_path, 4)
    one, two = on_disk(path, float32, 4), on_disk(path, int32, 4)
    both = [build.copy(one, "numpy"), build.copy(two, "numpy")]
    assert schedule(both).execute({}, "numpy")["out0"].tolist() == [0, 1, 2, 3]
    new = build.array(np.zeros(4, np.float32), "", "numpy")
    refused("SL545", lambda: schedule([build.assign(one, new), both[1]]).load("numpy"))
    made = Buffer(4, float32, f"disk:{path}")
    refused("SL545", lambda: schedule([build.copy(new, made.device), both[0]]).load("numpy"))


def test_tensors_in_files_are_not_written_in_place(tmp_path: Path) -> None:
    x = open_file(numbers(tmp_path), np.float32)

    def write() -> None:
        x[0] = 1

    refused("SL549", write)
    refused("SL549", lambda: x.assign(0))
    refused("SL549", lambda: Tensor([1.0], device="disk:/tmp/x"))


def test_an_input_in_a_file_cannot_be_given(tmp_path: Path) -> None:
    from schedulog.facts.graph import graph_of

    file = on_disk(numbers(tmp_path, 4), float32, 4)
    graph = graph_of([build.copy(file, "numpy")], inputs={"x": file.arg})
    error = refused("SL531", lambda: schedule(graph).execute({"x": np.zeros(4, np.float32)}, "numpy"))
    assert error.message == "input `x` lies in a file and cannot be given"
    assert schedule(graph).execute({}, "numpy")["out0"].tolist() == [0, 1, 2, 3]


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    assert refused("SL541", lambda: open_file(tmp_path / "none")).reason == "No such file or directory"
    assert refused("SL541", lambda: open_file(tmp_path)).reason == "it is a directory"
    os.mkfifo(tmp_path / "pipe")
    assert refused("SL541", lambda: open_file(tmp_path / "pipe")).reason == "it is no regular file"
    assert refused("SL541", lambda: Tensor([1.0]).to("disk")).message == "cannot open a file without a path"
    assert refused("SL541", lambda: Tensor([1.0]).to("disk:")).reason == "`disk:` names no file"
    refused("SL541", lambda: open_file("a\0b"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_must_not_be_read(tmp_path: Path) -> None:
    path = numbers(tmp_path)
    path.chmod(0)
    assert refused("SL541", lambda: open_file(path)).reason == "permission denied"


def test_files_that_are_too_short(tmp_path: Path) -> None:
    path = numbers(tmp_path, 10)
    error = refused("SL542", lambda: open_file(path, np.float32, (11,)))
    assert error.message == f"{path} has 40 bytes, not 44"
    refused("SL542", lambda: open_file(path, "float64", (6,)))
    path.write_bytes(b"123")
    refused("SL542", lambda: open_file(path, np.float32))


def test_a_file_that_shrinks_or_changes_after_it_was_opened(tmp_path: Path) -> None:
    path = numbers(tmp_path)
    x = open_file(path, np.float32)
    with open(path, "r+b") as file:
        file.truncate(100)
    error = refused("SL542", x.numpy)
    assert error.message == f"{path} has 100 bytes, not 4000"
    other = tmp_path / "other"
    numbers(tmp_path).rename(other)
    x = open_file(other, np.float32)
    np.arange(1000, dtype=np.float32)[::-1].tofile(tmp_path / "third")
    (tmp_path / "third").replace(other)
    assert refused("SL543", x.numpy).message == f"{other} was changed after it was opened"
    other.unlink()
    refused("SL541", x.numpy)


def test_a_file_that_ends_while_it_is_read(tmp_path: Path) -> None:
    path = numbers(tmp_path, 10)
    with FileIO(str(path)) as file:
        refused("SL542", lambda: file_span.transfer_in(file, 36, memoryview(bytearray(8))))


def test_bytes_that_are_no_bools(tmp_path: Path) -> None:
    path = tmp_path / "bools"
    path.write_bytes(b"\0\1\2")
    x = open_file(path, np.bool_)
    assert x[:2].tolist() == [False, True]
    refused("SL544", x.numpy)
    assert build.bitcast(on_disk(path, uint8, 3), bool_).op is Op.BUFFER_VIEW


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert open_file(path, np.float32).numpy().shape == (0,)
