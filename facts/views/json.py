"""One view as JSON: {shape, strides, offset, mask}, sizes as `facts/integers/json.py` has them."""

from __future__ import annotations

from typing import Any

from schedulog.errors import GraphError
from schedulog.facts.symbolic import from_json, to_json
from schedulog.facts.views.single import Mask, Shape, View


def view_to_json(view: View) -> dict[str, Any]:
    """The view as a JSON object; the mask is null or a list of [begin, end]."""
    return {
        "shape": [to_json(s) for s in view.shape],
        "strides": [to_json(s) for s in view.strides],
        "offset": to_json(view.offset),
        "mask": None if view.mask is None else [[to_json(b), to_json(e)] for b, e in view.mask],
    }


def view_from_json(obj: Any) -> View:
    """The view, exactly as written. Raises GraphError SL222 for anything that is none."""
    if not isinstance(obj, dict) or not {"shape", "strides", "offset", "mask"} <= obj.keys():
        raise _malformed(obj, "a view has shape, strides, offset and mask")
    shape, strides, mask = _sizes(obj["shape"]), _sizes(obj["strides"]), _mask(obj["mask"])
    if len(strides) != len(shape) or (mask is not None and len(mask) != len(shape)):
        raise _malformed(obj, "shape, strides and mask need one entry for each axis")
    return View(shape, strides, from_json(obj["offset"]), mask)


def _mask(obj: Any) -> Mask | None:
    if obj is None:
        return None
    if not isinstance(obj, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in obj):
        raise _malformed(obj, "a mask is null or a list of [begin, end]")
    return tuple((from_json(begin), from_json(end)) for begin, end in obj)


def _sizes(obj: Any) -> Shape:
    if not isinstance(obj, list):
        raise _malformed(obj, "expected a list of sizes")
    return tuple(from_json(s) for s in obj)


def _malformed(obj: object, reason: str) -> GraphError:
    return GraphError("SL222", f"{str(obj)[:80]} is not a view", reason=reason)
