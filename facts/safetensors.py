"""The header of a .safetensors file: written, and read with every claim in it checked before a byte of data is trusted.

The format: 8 bytes, the length of the header (little endian); the header, JSON that maps each name to `dtype`, `shape` and
`data_offsets` = [begin, end) in the rest of the file; the tensors' bytes without gaps.
https://huggingface.co/docs/safetensors/index#format
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO, Final

from schedulog.errors import GraphError
from schedulog.facts import dtype as dtypes
from schedulog.facts.dtype import DType
from schedulog.facts.file_buffer import checked_status, unopened
from schedulog.facts.views.single import check_axes

LONGEST_HEADER: Final = 100_000_000
"""Bytes of header that readers of the format accept."""

_PREFIX: Final = 8
_METADATA: Final = "__metadata__"
_DTYPES: Final[Mapping[str, DType]] = MappingProxyType(
    {
        "BOOL": dtypes.bool_,
        "U8": dtypes.uint8,
        "I8": dtypes.int8,
        "U16": dtypes.uint16,
        "I16": dtypes.int16,
        "U32": dtypes.uint32,
        "I32": dtypes.int32,
        "U64": dtypes.uint64,
        "I64": dtypes.int64,
        "F16": dtypes.float16,
        "BF16": dtypes.bfloat16,
        "F32": dtypes.float32,
        "F64": dtypes.float64,
    }
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor: its bytes are [begin, end) of the file."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says it holds, in the order of the data. `file_size` is in bytes."""

    entries: tuple[Entry, ...]
    metadata: Mapping[str, str]
    file_size: int


def read_header(path: str | os.PathLike[str]) -> Header:
    """The header of the file at `path`, every claim checked against the file's size; data is not read.

    Raises DeviceError SL541 for a file that cannot be opened. Raises GraphError: SL270 a length that cannot be, SL271 a
    file that ends too early, SL272 a header that is no JSON object, SL273 a field that is missing or wrong, SL274 an
    unknown dtype, SL275 offsets that do not fit dtype and shape, SL276 offsets outside the file, SL277 tensors that
    overlap or leave a gap, SL278 a name twice; SL227 a shape of too many axes.
    """
    where = os.path.abspath(os.fspath(path))
    size = checked_status(where).st_size
    try:
        with open(where, "rb") as file:
            text = _header_text(file, size, where)
    except OSError as error:
        raise unopened(where, error.strerror or str(error)) from error
    fields = _parsed(text, where)
    metadata = _metadata(fields.pop(_METADATA, {}), where)
    start = _PREFIX + len(text)
    entries = [_entry(name, field, start, size, where) for name, field in fields.items()]
    entries.sort(key=lambda entry: (entry.begin, entry.end))
    _check_gapless(entries, start, size, where)
    return Header(tuple(entries), metadata, size)


def _header_text(file: BinaryIO, size: int, where: str) -> bytes:
    prefix = file.read(_PREFIX)
    if len(prefix) < _PREFIX:
        raise GraphError("SL271", f"{len(prefix)} bytes, too few for a safetensors file", where=where)
    length = int.from_bytes(prefix, "little")
    if length > LONGEST_HEADER:
        raise GraphError("SL270", f"a header of {length:,} bytes", where=where,
                         reason=f"no header has more than {LONGEST_HEADER:,}", help="it may be another kind of file")  # fmt: skip
    if length > size - _PREFIX:
        raise GraphError("SL270", f"a header of {length:,} bytes in a file of {size:,}", where=where,
                         help="the file is cut off, or of another kind")  # fmt: skip
    text = file.read(length)
    if len(text) < length:
        raise GraphError("SL271", f"the header ends after {len(text)} of {length} bytes", where=where)
    return text


def _parsed(text: bytes, where: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise GraphError("SL278", f"`{twice}` stands twice in the header", where=where)
        return found

    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
        _check_text(found)
    except (ValueError, RecursionError) as error:
        raise GraphError("SL272", "the header is not JSON", where=where, reason=str(error)) from error
    if not isinstance(found, dict):
        raise GraphError("SL272", "the header is no JSON object", where=where)
    return found


def _check_text(header: Any) -> None:
    """Raises UnicodeEncodeError for a name with half a character, which `\\ud800` in JSON can make."""
    for name in header if isinstance(header, dict) else ():
        name.encode("utf-8")


def _metadata(found: Any, where: str) -> Mapping[str, str]:
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise GraphError("SL273", f"`{_METADATA}` is no object of strings", where=where)
    return MappingProxyType(found)


def _entry(name: str, field: Any, start: int, size: int, where: str) -> Entry:
    place = f"{where}, tensor {name}"
    if not isinstance(field, dict):
        raise GraphError("SL273", f"`{name}` is no object", where=place)
    kind, shape = _dtype(field.get("dtype"), place), _numbers(field.get("shape"), "shape", place)
    offsets = _numbers(field.get("data_offsets"), "data_offsets", place)
    if len(offsets) != 2:
        raise GraphError("SL273", "`data_offsets` are a begin and an end", where=place)
    check_axes(shape, place)
    begin, end = offsets
    wanted = math.prod(shape) * kind.itemsize
    if end - begin != wanted:
        raise GraphError(
            "SL275", f"{end - begin} bytes for {kind}{list(shape)}, which has {wanted}", where=place
        )
    if start + end > size:
        raise GraphError("SL276", f"bytes {begin} to {end} of {size - start}", where=place,
                         help="the file is cut off, or its header is wrong")  # fmt: skip
    return Entry(name, kind, shape, start + begin, start + end)


def _dtype(name: Any, place: str) -> DType:
    if not isinstance(name, str) or not name:
        raise GraphError("SL273", "`dtype` is missing or no name", where=place)
    if name not in _DTYPES:
        raise GraphError("SL274", f"dtype {name} is not supported", where=place,
                         help=f"known: {', '.join(_DTYPES)}")  # fmt: skip
    return _DTYPES[name]


def _numbers(found: Any, key: str, place: str) -> tuple[int, ...]:
    whole = isinstance(found, list) and all(type(n) is int and 0 <= n < 1 << 63 for n in found)
    if not whole:
        raise GraphError(
            "SL273", f"`{key}` is no list of sizes", where=place, reason=f"it is {str(found)[:80]}"
        )
    return tuple(found)


def _check_gapless(entries: Sequence[Entry], start: int, size: int, where: str) -> None:
    at = start
    for entry in entries:
        if entry.begin != at:
            what = (
                "overlaps the one before" if entry.begin < at else f"leaves {entry.begin - at} bytes unused"
            )
            raise GraphError("SL277", f"tensor {entry.name} {what}", where=where)
        at = entry.end
    if at != size:
        raise GraphError("SL277", f"{size - at} bytes behind the last tensor", where=where)


def header_bytes(
    tensors: Mapping[str, tuple[DType, tuple[int, ...]]], metadata: Mapping[str, str], where: str
) -> tuple[bytes, list[str]]:
    """The header of a file with these tensors, its length in front, and the order of their data: widest first, so that
    all are aligned.

    Raises GraphError: SL274 a dtype the format does not have, SL279 a name or metadata it cannot hold.
    """
    spelled = {kind: name for name, kind in _DTYPES.items()}
    texts = [*metadata.items(), *((name, "") for name in tensors)]
    if _METADATA in tensors or not all(isinstance(text, str) for pair in texts for text in pair):
        raise GraphError("SL279", "names and metadata are strings", where=where,
                         reason=f"and `{_METADATA}` names no tensor")  # fmt: skip
    fields: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    order = sorted(tensors, key=lambda name: (-tensors[name][0].itemsize, name))
    at = 0
    for name in order:
        kind, shape = tensors[name]
        if kind not in spelled:
            raise GraphError("SL274", f"dtype {kind} of `{name}` has no name in the format", where=where)
        end = at + math.prod(shape) * kind.itemsize
        fields[name] = {"dtype": spelled[kind], "shape": list(shape), "data_offsets": [at, end]}
        at = end
    return _padded(fields, where), order


def _padded(fields: Mapping[str, Any], where: str) -> bytes:
    try:
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise GraphError("SL279", "a name that is no Unicode text", where=where) from error
    text += b" " * (-len(text) % _PREFIX)
    if len(text) > LONGEST_HEADER:
        raise GraphError("SL279", f"a header of {len(text):,} bytes", where=where)
    return len(text).to_bytes(_PREFIX, "little") + text


def unwritable(path: str, reason: str) -> GraphError:
    """The error for a file that cannot be written."""
    return GraphError("SL279", f"cannot write {path}", where=path, reason=reason)
