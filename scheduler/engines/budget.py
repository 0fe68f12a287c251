"""What one evaluation may use up: rows by the size of what was given, and processor time by component."""

from __future__ import annotations

import time

from schedulog.scheduler.engines.engine import Limits


class Budget:
    """The limits of an evaluation that depend on its graph, and the time its components have used.

    Time is the processor's for this thread, so that a busy machine or a stopped process ends nothing.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.rows = limits.rows
        self.seconds = limits.compute
        self._spent: dict[int, float] = {}
        self._running: int | None = None
        self._begun: float | None = None

    def begin(self, given: int) -> None:
        """Start anew for an evaluation of `given` rows."""
        self.rows = min(self.limits.rows, max(self.limits.least_rows, self.limits.growth * given))
        self.seconds = max(self.limits.compute, self.limits.slowest * given)
        self._spent.clear()
        self._running = None

    def enter(self, component: int) -> None:
        """The time of a component runs.

        Asking the clock takes as long as a small component, so of its first evaluation only what comes after the first look
        counts. Later ones count wholly: there may be very many, each over before anybody looks.
        """
        self._running = component
        self._begun = time.thread_time() if component in self._spent else None

    def leave(self) -> None:
        """It stops, and goes on when the component is evaluated again."""
        if self._running is not None:
            self._spent[self._running] = self._used()
            self._running = None

    def late(self) -> bool:
        """Whether the running component has used up its time."""
        if self._running is None:
            return False
        if self._begun is None:
            self._begun = time.thread_time()
        return self._used() > self.seconds

    def spent(self, component: int) -> bool:
        """Whether a component that does not run has used up its time."""
        return self._spent.get(component, 0.0) > self.seconds

    def _used(self) -> float:
        assert self._running is not None
        now = 0.0 if self._begun is None else time.thread_time() - self._begun
        return self._spent.get(self._running, 0.0) + now
