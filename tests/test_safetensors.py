"""Safetensors files: whole ones are read lazily, damaged ones refused, and the reference package agrees on both."""

from __future__ import annotations

import json
import os
from io import FileIO
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from schedulog import Tensor, load_safetensors, save_safetensors
from schedulog.errors import DeviceError, GraphError, SchedulogError
from schedulog.facts.safetensors import LONGEST_HEADER, read_header
from schedulog.runtimes import file_span

Array = NDArray[Any]
KINDS = [
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
    ml_dtypes.bfloat16,
]  # fmt: skip


def sample(seed: int = 0) -> dict[str, Array]:
    """A tensor of every dtype, a scalar, and one without elements."""
    random = np.random.default_rng(seed)
    found = {f"t{i}": random.integers(0, 2, (3, i + 1)).astype(kind) for i, kind in enumerate(KINDS)}
    return found | {
        "scalar": np.array(2.5, np.float32),
        "none": np.zeros((2, 0), np.int16),
        "ключ": np.ones(1),
    }


def raw(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    """A file with this header, as JSON unless it is bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def refusal(path: Path) -> SchedulogError:
    """The error with which the file is refused."""
    with pytest.raises(SchedulogError) as caught:
        load_safetensors(path)
    return caught.value


def entry(begin: int, end: int, dtype: str = "U8", shape: Any = None) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [end - begin] if shape is None else shape, "data_offsets": [begin, end]}


def same(found: Array, wanted: Array) -> bool:
    return (found.dtype, found.shape) == (wanted.dtype, wanted.shape) and found.tobytes() == wanted.tobytes()


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "all.safetensors"
    save_safetensors(path, sample(), {"made": "here"})
    loaded = load_safetensors(path)
    assert set(loaded) == set(sample())
    for name, wanted in sample().items():
        assert same(loaded[name].numpy(), wanted), name
    assert dict(read_header(path).metadata) == {"made": "here"}
    assert all(e.begin % e.dtype.itemsize == 0 for e in read_header(path).entries), "data is aligned"


def test_lazy_and_computed_tensors_are_saved(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    save_safetensors(path, {"sum": x + 1, "turned": x.T, "number": Tensor(3)})
    loaded = load_safetensors(path)
    assert loaded["sum"].tolist() == [[2, 3], [4, 5]] and loaded["turned"].tolist() == [[1, 3], [2, 4]]
    assert loaded["number"].item() == 3 and loaded["number"].shape == ()


def test_only_the_bytes_of_a_copied_tensor_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.safetensors"
    save_safetensors(path, {"a": np.arange(1000, dtype=np.int32), "b": np.ones(50, np.float64)})
    count: list[int] = []
    real = file_span.transfer_in

    def counted(file: FileIO, at: int, target: memoryview) -> None:
        count.append(len(target))
        real(file, at, target)

    monkeypatch.setattr(file_span, "transfer_in", counted)
    loaded = load_safetensors(path)
    part = loaded["a"][10:20].to("numpy") * 2
    assert count == []
    assert part.tolist() == list(range(20, 40, 2)) and count == [40]
    assert loaded["b"].numpy().sum() == 50 and count == [40, 400]


def test_a_file_is_replaced_whole_and_its_old_tensors_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_safetensors(path, {"a": np.zeros(4)})
    old = load_safetensors(path)
    save_safetensors(path, {"a": old["a"].to("numpy") + 1, "kept": old["a"]})
    with pytest.raises(DeviceError) as caught:
        old["a"].numpy()
    assert caught.value.code == "SL543"
    new = load_safetensors(path)
    assert new["a"].tolist() == [1, 1, 1, 1] and new["kept"].tolist() == [0, 0, 0, 0]


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_safetensors(path, {"a": np.zeros(4)})
    with pytest.raises(GraphError) as caught:
        save_safetensors(path, {"__metadata__": np.ones(4)})
    assert caught.value.code == "SL279"
    with pytest.raises(GraphError) as caught:
        save_safetensors(tmp_path / "none" / "x", {"a": np.ones(4)})
    assert (caught.value.code, caught.value.reason) == ("SL279", "No such file or directory")
    with pytest.raises(GraphError) as caught:
        save_safetensors(path, {"\ud800": np.ones(4)})
    assert caught.value.code == "SL279"
    assert os.listdir(tmp_path) == ["x.safetensors"] and load_safetensors(path)["a"].tolist() == [0] * 4


BAD: list[tuple[str, Any, bytes, int | None, str, str]] = [
    ("huge length", {}, b"", 1 << 62, "SL270", "a header of 4,611,686,018,427,387,904 bytes"),
    ("length past the file", {}, b"", 90, "SL270", "a header of 90 bytes in a file of 10"),
    ("length past the limit", {}, b"", LONGEST_HEADER + 1, "SL270", "a header of 100,000,001 bytes"),
    ("no JSON", b"{\"a\": ", b"", None, "SL272", "the header is not JSON"),
    ("no UTF-8", b"{\"\xff\": 1}", b"", None, "SL272", "the header is not JSON"),
    ("half a character", b"{\"\\ud800\": {}}", b"", None, "SL272", "the header is not JSON"),
    ("deep JSON", b"[" * 200_000, b"", None, "SL272", "the header is not JSON"),
    ("a list", [], b"", None, "SL272", "the header is no JSON object"),
    ("a number for a tensor", {"a": 1}, b"", None, "SL273", "`a` is no object"),
    ("no offsets", {"a": {"dtype": "U8", "shape": []}}, b"", None, "SL273", "`data_offsets` is no list of sizes"),
    ("three offsets", {"a": entry(0, 1) | {"data_offsets": [0, 1, 2]}}, b"1", None, "SL273",
     "`data_offsets` are a begin and an end"),
    ("a negative size", {"a": entry(0, 1, shape=[-1])}, b"1", None, "SL273", "`shape` is no list of sizes"),
    ("a bool for a size", {"a": entry(0, 1, shape=[True])}, b"1", None, "SL273", "`shape` is no list of sizes"),
    ("no dtype", {"a": {"shape": [1], "data_offsets": [0, 1]}}, b"1", None, "SL273", "`dtype` is missing or no name"),
    ("metadata of numbers", {"__metadata__": {"a": 1}}, b"", None, "SL273", "`__metadata__` is no object of strings"),
    ("many axes", {"a": entry(0, 1, shape=[1] * 65)}, b"1", None, "SL227", "a shape of 65 axes"),
    ("an eight-bit float", {"a": entry(0, 1, "F8_E4M3")}, b"1", None, "SL274", "dtype F8_E4M3 is not supported"),
    ("an unknown dtype", {"a": entry(0, 1, "U3")}, b"1", None, "SL274", "dtype U3 is not supported"),
    ("too few bytes", {"a": entry(0, 7, "F32", [2])}, b"1234567", None, "SL275", "7 bytes for float32[2], which has 8"),
    ("end before begin", {"a": entry(4, 0, shape=[4])}, b"1234", None, "SL275", "-4 bytes for uint8[4], which has 4"),
    ("an overflowing shape", {"a": entry(0, 1, shape=[1 << 40, 1 << 40])}, b"1", None, "SL275",
     f"1 bytes for uint8[{1 << 40}, {1 << 40}], which has {1 << 80}"),
    ("outside the file", {"a": entry(0, 5)}, b"1234", None, "SL276", "bytes 0 to 5 of 4"),
    ("overlapping", {"a": entry(0, 3), "b": entry(2, 5)}, b"12345", None, "SL277", "tensor b overlaps the one before"),
    ("a hole", {"a": entry(0, 2), "b": entry(3, 5)}, b"12345", None, "SL277", "tensor b leaves 1 bytes unused"),
    ("not from the start", {"a": entry(1, 2)}, b"12", None, "SL277", "tensor a leaves 1 bytes unused"),
    ("bytes behind", {"a": entry(0, 2)}, b"123", None, "SL277", "1 bytes behind the last tensor"),
    ("twice", b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
     b"1", None, "SL278", "`a` stands twice in the header"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "data", "length", "code", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD]
)
def test_damaged_files_are_refused(
    tmp_path: Path, header: Any, data: bytes, length: int | None, code: str, message: str
) -> None:
    error = refusal(raw(tmp_path / "bad", header, data, length))
    assert (error.code, error.message) == (code, message)
    assert str(error.where).startswith(str(tmp_path / "bad"))


def test_files_too_short_for_a_length(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"1234567")
    assert (refusal(tmp_path / "short").code, refusal(tmp_path).code) == ("SL271", "SL541")
    assert refusal(tmp_path / "none").code == "SL541"


@given(st.binary(max_size=120), st.integers(0, 1))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_a_file_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, framed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes((len(data).to_bytes(8, "little") if framed else b"") + data)
    try:
        read_header(path)
    except SchedulogError as error:
        assert error.code.startswith("SL27")


@given(st.integers(0, 400), st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_a_changed_byte_gives_a_file_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, at: int, value: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "changed"
    save_safetensors(path, {"a": np.arange(6, dtype=np.float32), "b": np.ones((2, 2), np.int8)})
    whole = bytearray(path.read_bytes())
    whole[at % len(whole)] = value
    path.write_bytes(whole)
    try:
        found = {name: t.numpy() for name, t in load_safetensors(path).items()}
    except SchedulogError as error:
        assert error.code.startswith(("SL27", "SL54"))
    else:
        assert sum(a.nbytes for a in found.values()) == 28


def test_every_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut"
    save_safetensors(path, {"a": np.arange(3, dtype=np.int16)})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert refusal(path).code in ("SL270", "SL271", "SL276")


@pytest.mark.parametrize("metadata", [None, {"format": "np"}])
def test_the_reference_package_reads_what_is_saved(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    reference = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "ours"
    save_safetensors(path, sample(1), metadata)
    found = reference.load_file(path)
    assert {
        name: same(np.asarray(found[name]), wanted) for name, wanted in sample(1).items()
    } == dict.fromkeys(sample(1), True)


def test_what_the_reference_package_saves_is_read(tmp_path: Path) -> None:
    reference = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "theirs"
    reference.save_file(sample(2), path, {"format": "np"})
    found = load_safetensors(path)
    assert {name: same(found[name].numpy(), wanted) for name, wanted in sample(2).items()} == dict.fromkeys(
        sample(2), True
    )


OURS = ("an eight-bit float", "twice", "many axes")
"""What only schedulog refuses: it has no such dtype, takes neither of two tensors with one name for the right one, and gives
values as numpy's arrays."""


@pytest.mark.parametrize("case", [b for b in BAD if b[0] not in OURS], ids=lambda b: str(b[0]))
def test_the_reference_package_refuses_the_same(tmp_path: Path, case: Any) -> None:
    safetensors = pytest.importorskip("safetensors")
    path = raw(tmp_path / "bad", *case[1:4])
    with pytest.raises(safetensors.SafetensorError), safetensors.safe_open(path, "np"):
        pass
