"""The main job on a real model: schedule, compile, run, check the answer, and ask why. Run it with `make demo`.

The model is basic-pitch (its wheel carries nmp.onnx, 0.23 MB): it hears which piano keys sound. Three synthesized tones
go in, three piano keys must come out.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from schedulog import Run, load, schedule
from schedulog.cli.output import print_table
from schedulog.runtimes import default_device, default_note
from schedulog.scheduler.record.queries import ask, named_queries
from schedulog.scheduler.units import size_text

TONES = {261.63: 39, 440.0: 48, 880.0: 60}
"""Frequency in Hz -> piano key, counted from 0 at A0."""
RATE = 22050
NOTES = "StatefulPartitionedCall:1"
QUESTIONS = ("who-realizes", "missed", "recomputed")


def main() -> int:
    seconds: dict[str, float] = {}
    with stage(seconds, "read the model"):
        graph = load(model_file())
    with stage(seconds, "schedule by rules"):
        run = schedule(graph)
    device = default_device()
    with stage(seconds, f"generate and compile for {device}"):
        run.load(device)
    show_kernels(run)
    if default_note() is not None:
        print(f"\n{default_note()}")
    print()
    with stage(seconds, "run, three times"):
        keys = {frequency: heard_key(run, frequency) for frequency in TONES}
    print_table(
        ("tone", "piano key heard", "expected"), [(f"{f} Hz", keys[f], key) for f, key in TONES.items()]
    )
    show_questions(run)
    print()
    print_table(("stage", "ms"), [(name, round(1e3 * s, 1)) for name, s in seconds.items()])
    if keys != TONES:
        print("the answer is wrong", file=sys.stderr)
        return 1
    return 0


@contextmanager
def stage(seconds: dict[str, float], name: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - begin


def model_file() -> Path:
    """nmp.onnx inside the installed basic-pitch; the package itself is not imported, its dependencies are not needed."""
    found = importlib.util.find_spec("basic_pitch")
    if found is None or found.origin is None:
        raise SystemExit("basic-pitch is not installed: pip install --no-deps basic-pitch==0.4.0")
    return Path(found.origin).parent / "saved_models" / "icassp_2022" / "nmp.onnx"


def heard_key(run: Run, frequency: float) -> int:
    """The loudest piano key in the model's answer to a pure tone."""
    ((name, shape),) = run.graph.input_shapes.items()
    tone = np.sin(2 * np.pi * frequency * np.arange(shape[1]) / RATE).astype(np.float32)
    notes = run.execute({name: tone.reshape(shape)})[NOTES]
    return int(notes[0].mean(axis=0).argmax())


def show_kernels(run: Run) -> None:
    print(
        f"{len(run.graph.nodes)} nodes, {len(run.kernels)} kernels, decided by {len(run.program.rules)} rules\n"
    )
    rows = [
        (
            kernel.name,
            len(kernel.members),
            f"{kernel.value.dtype}[{','.join(map(str, kernel.value.shape))}]",
            size_text(kernel.bytes_read),
            size_text(kernel.bytes_written),
            ", ".join(kernel.rules),
        )
        for kernel in run.kernels
    ]
    print_table(("kernel", "members", "value", "read", "written", "formed by"), rows)


def show_questions(run: Run) -> None:
    """Ask three of the named queries, and show the first rows of each answer."""
    for name in QUESTIONS:
        answer = ask(run.database, name)
        print(f"\nsql> {name}    {named_queries()[name].title}")
        print_table(answer.columns, answer.rows[:5])


if __name__ == "__main__":
    sys.exit(main())
