"""Rules about views: what a look at a look, at all of a node, at a constant or at nothing is."""

from __future__ import annotations

from schedulog.facts.node import Node, node
from schedulog.facts.ops import Op
from schedulog.facts.simplify.constants import filled
from schedulog.facts.simplify.rule import rule
from schedulog.facts.symbolic import surely_equal
from schedulog.facts.view import View, ViewStack


@rule(Op.VIEW, beside=Op.VIEW)
def view_of_view(n: Node) -> Node | None:
    """A view of a view is one composed view of the base."""
    source = n.src[0]
    if source.op is not Op.VIEW:
        return None
    return node(Op.VIEW, (source.src[0],), source.arg.then(n.arg), None, n.label)


@rule(Op.VIEW)
def whole_view(n: Node) -> Node | None:
    """A contiguous view in its source's shape is the source."""
    source = n.src[0]
    return source if n.shape == source.shape and n.arg.contiguous else None


@rule(Op.VIEW, beside=Op.CONST)
def view_of_constant(n: Node) -> Node | None:
    """A view of a constant that shows no zeros of its own is the constant in the view's shape."""
    source = n.src[0]
    if source.op is not Op.CONST or _merged(n.arg).masked:
        return None
    return filled(n, source.arg.value)


def _merged(look: ViewStack) -> ViewStack:
    """The same look in as few views as can express it: a mask below may hide nothing of what is shown in the end."""
    return look if not look.masked else ViewStack(look.views[:1]).then(ViewStack(look.views[1:]))


@rule(Op.VIEW, beside=Op.CONST)
def still_view_of_constant(n: Node) -> Node | None:
    """A masked view of a constant shows its one element wherever it shows something."""
    inner = n.arg.views[0]
    still = inner.offset == 0 and all(s == 0 for s in inner.strides)
    if n.src[0].op is not Op.CONST or still:
        return None
    plain = View.create(inner.shape, (0,) * len(inner.shape), 0, inner.mask)
    return node(Op.VIEW, n.src, ViewStack((plain, *n.arg.views[1:])).simplify(), None, n.label)


@rule(Op.VIEW)
def hidden_view(n: Node) -> Node | None:
    """A view through a mask that hides all is zero."""
    if not n.arg.masked:
        return None
    masks = (inner.mask for inner in n.arg.views if inner.mask is not None)
    hides = any(surely_equal(begin, end) for mask in masks for begin, end in mask)
    return filled(n, 0) if hides else None
