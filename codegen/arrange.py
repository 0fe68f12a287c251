"""From placed values to the loop form: statements in order, and lanes grouped into as few loops as possible."""

from __future__ import annotations

from schedulog.codegen.choose import Choice
from schedulog.codegen.loops import Accumulate, Block, Define, Lanes, Loop, LoopKind, Reduce, Statement, Store
from schedulog.codegen.place import Level, cheap
from schedulog.codegen.values import Computation, Constant, Reduction, Value


def arrange(computation: Computation, choice: Choice) -> Block:
    """The whole kernel as loops and statements."""
    return _Arrangement(computation, choice).level(choice.placement.root)


class _Arrangement:
    def __init__(self, computation: Computation, choice: Choice) -> None:
        self.computation = computation
        self.choice = choice
        self.placement = choice.placement
        self.emitted: set[Value] = set()
        outputs = (self.placement.root, *self.placement.outputs)
        self.next_output = dict(zip(outputs, self.placement.outputs, strict=False))

    def level(self, level: Level, accumulate: Reduction | None = None) -> Block:
        """What a level holds: values that are the same for all lanes, then those that differ, then what is inside."""
        block = Block()
        for value in level.values:
            if not self.wide(value):
                self.define(value, block)
        wide = [value for value in level.values if self.wide(value)]
        lanes = Lanes()
        for value in wide:
            if isinstance(value, Reduction):
                self.define_needed(value, level, lanes)
                lanes = self.flush(lanes, block)
                self.define(value, block)
        for value in wide:
            if value not in self.emitted:
                self.define(value, lanes)
        self.finish(level, accumulate, block, lanes)
        return block

    def wide(self, value: Value) -> bool:
        """Whether a value differs within a tile, from lane to lane or from row to row."""
        depends = self.placement.depends[value]
        return self.choice.lane is not None and (self.choice.lane in depends or self.choice.rows in depends)

    def define(self, value: Value, block: Block) -> None:
        if value in self.emitted:
            return
        self.emitted.add(value)
        if isinstance(value, Constant) or (self.wide(value) and cheap(value)):
            return
        block.statements.append(self.reduce(value) if isinstance(value, Reduction) else Define(value))

    def define_needed(self, reduction: Reduction, level: Level, lanes: Lanes) -> None:
        """The values of this level that the reduction's loops read, and no others: the rest can share one last loop."""
        seen: set[Value] = set()
        stack: list[Value] = [reduction.body]
        while stack:
            value = stack.pop()
            if value not in seen and value not in self.emitted:
                seen.add(value)
                stack.extend(value.sources)
        for value in level.values:
            if value in seen and not isinstance(value, Reduction):
                self.define(value, lanes)

    def flush(self, lanes: Lanes, block: Block) -> Lanes:
        if lanes.statements:
            block.statements.append(lanes)
        return Lanes()

    def finish(self, level: Level, accumulate: Reduction | None, block: Block, lanes: Lanes) -> None:
        last: Statement | None = Accumulate(accumulate) if accumulate is not None else None
        if level is self.placement.innermost:
            last = Store(self.computation)
        if last is not None:
            wide = self.choice.lane is not None and (accumulate is None or self.wide(accumulate))
            (lanes if wide else block).statements.append(last)
        self.flush(lanes, block)
        inner = self.next_output.get(level)
        if inner is not None:
            block.statements.append(self.output_loop(inner))

    def output_loop(self, level: Level) -> Loop:
        assert level.variable is not None
        shared = level.variable == self.choice.parallel
        kind: LoopKind = "parallel" if shared else "plain"
        width = 1
        if level.variable == self.choice.lane:
            kind, width = "parallel tile" if shared else "tile", self.choice.width
        elif level.variable == self.choice.rows:
            kind, width = "parallel rows" if shared else "rows", self.choice.height
        return Loop(level.variable, self.computation.extents[level.variable], self.level(level), kind, width)

    def reduce(self, reduction: Reduction) -> Reduce:
        chain = self.placement.chain[reduction]
        partials = self.choice.partials.get(reduction, 0)
        if not chain:
            return Reduce(reduction, Block([Accumulate(reduction)]), self.wide(reduction), 0)
        body: Block | None = None
        for level in reversed(chain):
            assert level.variable is not None
            inner = self.level(level, reduction if body is None else None)
            if body is not None:
                inner.statements.append(body.statements[0])
            split = partials > 0 and body is None
            extent = self.computation.extents[level.variable]
            kind: LoopKind = "split" if split else "plain"
            body = Block([Loop(level.variable, extent, inner, kind, partials if split else 1)])
        assert body is not None
        return Reduce(reduction, body, self.wide(reduction), partials)
