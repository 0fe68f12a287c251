"""Steps of random graphs that overwrite memory, look into it or take a value elsewhere."""

from __future__ import annotations

import math

from schedulog.trials.draft import Draft
from schedulog.trials.draw_values import flip, reduce, unary
from schedulog.trials.value import Value, fits, known, pairs_text, same, shape_text


def window(draft: Draft, _: Value) -> None:
    """The first bytes of some memory itself, not of a content."""
    memory = draft.loads[0]
    size = math.prod(known(memory.shape))
    made = draft.like(memory, shape=(draft.random.randint(1, size),))
    draft.add("buffer_view", (memory.name, f"{made.dtype}{shape_text(made.shape)}"), made)


def copy(draft: Draft, v: Value) -> None:
    if draft.random.random() < 0.4:
        device = "A" if v.device == "B" else "B"
        draft.add("copy", (v.name,), draft.like(v, exact=v.exact, device=device), f"device={device}")


def assign(draft: Draft, v: Value) -> None:
    """A whole buffer is overwritten; what it holds then is a new value, the old one may still be read."""
    open_ = [b for b, w in draft.newest.items() if b not in draft.closed and same(w, v) and w.name != v.name]
    if open_:
        _overwrite(draft, draft.random.choice(open_), v)


def _overwrite(draft: Draft, name: str, v: Value) -> None:
    made = draft.like(v, exact=v.exact, memory=True)
    draft.newest[name] = draft.add("assign", (draft.newest[name].name, v.name), made)


def assign_moved(draft: Draft, _: Value) -> None:
    """A buffer is overwritten with its own content in another order, or with what a sum of it gives."""
    name = draft.random.choice(list(draft.newest))
    content = draft.newest[name]
    if name in draft.closed or not content.plain:
        return
    if draft.random.random() < 0.6:
        flip(draft, content)
    else:
        reduce(draft, content)
        if draft.values[-1].shape != content.shape and fits(draft.values[-1].shape, content.shape):
            draft.expand(draft.values[-1], content.shape)
    unary(draft, draft.values[-1])
    if same(draft.values[-1], content):
        _overwrite(draft, name, draft.values[-1])


def assign_window(draft: Draft, v: Value) -> None:
    """A part of a buffer is overwritten. Nothing else is written there afterwards: that would have no order."""
    open_ = [
        b
        for b, w in draft.newest.items()
        if b not in draft.closed and (w.dtype, w.device) == (v.dtype, v.device)
    ]
    for name in open_:
        target = draft.newest[name]
        begins = tuple((0, s) for s in known(v.shape))
        inside = len(target.shape) == len(v.shape) and all(
            s <= t for s, t in zip(known(v.shape), known(target.shape), strict=True)
        )
        if inside and target.shape != v.shape:
            part = draft.add(
                "shrink", (target.name,), draft.like(v, exact=target.exact), f"to={pairs_text(begins)}"
            )
            draft.add("assign", (part.name, v.name), draft.like(v, exact=v.exact))
            draft.closed.add(name)
            return
