"""`schedulog run`: schedule a graph, show its kernels, run them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedulog.cli.inputs import check_given, pairs, random_inputs, read_array
from schedulog.cli.output import print_json, print_table, working
from schedulog.cli.source import Bindings, Constants, Dims, Shapes, bindings, read_graph_file, tell_assumed
from schedulog.errors import SchedulogError, shown
from schedulog.scheduler.given import check_known
from schedulog.scheduler.units import size_text

if TYPE_CHECKING:
    import numpy as np

    from schedulog.run import Run
    from schedulog.scheduler.kernels import Kernel

GraphPath = Annotated[str, typer.Argument(help="A graph: .onnx, .json, or a record .jsonl[.gz]#LINE.")]
Rules = Annotated[
    list[str] | None,
    typer.Option("--rules", help="A rule pack, file or folder (classic if left out); repeatable."),
]
Options = Annotated[list[str] | None, typer.Option("--set", help="A switch for the rules: FUSE_ARANGE=1.")]
Engine = Annotated[str, typer.Option("--engine", help="sqlite, pydatalog or clingo.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass
class _Request:
    """What was asked for, and the seconds of each stage."""

    device: str | None
    inputs: dict[str, Any]
    random: int | None
    save: str | None
    append: bool
    label: str
    refusals: bool = True
    seconds: dict[str, float] = field(default_factory=dict)
    assumed: Mapping[str, int] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse what cannot be saved before the work is done. Raises BadParameter, and DatabaseError as `Run.save`."""
        if self.save is None:
            for option in [
                name
                for name, given in (
                    ("--append", self.append),
                    ("--label", self.label),
                    ("--no-refusals", not self.refusals),
                )
                if given
            ]:
                raise typer.BadParameter(
                    "it says how a run is saved: give --save RUN.db too", param_hint=option
                )
            return
        from schedulog.scheduler.record.run_file import check_destination

        check_destination(self.save, append=self.append)

    @contextmanager
    def stage(self, name: str, text: str) -> Iterator[None]:
        begin = time.perf_counter()
        with working(text):
            yield
        self.seconds[name] = time.perf_counter() - begin


def run_command(
    graph: GraphPath,
    rules: Rules = None,
    engine: Engine = "sqlite",
    device: Annotated[str | None, typer.Option(help="Where to run; see `schedulog devices`.")] = None,
    input: Annotated[list[str] | None, typer.Option(help="An input: NAME=FILE.npy; repeatable.")] = None,
    random: Annotated[
        int | None, typer.Option(metavar="SEED", min=0, help="Random values for other inputs.")
    ] = None,
    dim: Dims = None,
    shape: Shapes = None,
    const: Constants = None,
    set_: Options = None,
    save: Annotated[str | None, typer.Option(metavar="RUN.db", help="Save what was decided.")] = None,
    append: Annotated[bool, typer.Option(help="With --save: keep the runs in the file.")] = False,
    label: Annotated[str, typer.Option(help="With --save: a name for the run.")] = "",
    refusals: Annotated[
        bool, typer.Option("--refusals/--no-refusals", help="With --save: say why each value is not fused.")
    ] = True,
    execute: Annotated[bool, typer.Option("--execute/--no-execute", help="Run the kernels.")] = True,
    as_json: AsJson = False,
) -> None:
    """Schedule a graph by rules, show its kernels, and run them."""
    options, given = pairs(set_ or (), "--set", int), bindings(dim, shape, const)
    request = _Request(
        device, pairs(input or (), "--input", read_array), random, save, append, label, refusals
    )
    request.check()
    run = scheduled(request, graph, given, (tuple(rules or ("classic",)), engine, options))
    if not as_json:
        tell_assumed(request.assumed)
        _show_kernels(run)
    outputs: dict[str, Any] | None = None
    try:
        outputs = _execute(run, request) if execute else None
    except SchedulogError:
        _save(run, request)
        raise
    _save(run, request)
    if as_json:
        print_json(_record(run, request, outputs))
    else:
        _show_results(run, request, outputs)


def scheduled(
    request: _Request, path: str, given: Bindings, policy: tuple[tuple[str, ...], str, dict[str, int]]
) -> Run:
    """Load and schedule; `policy` is rules, engine and options."""
    rules, engine, options = policy
    with request.stage("load", f"reading {path}"):
        graph = read_graph_file(path, given)
    request.assumed = graph.assumed
    with request.stage("schedule", f"scheduling {len(graph.nodes)} nodes"):
        from schedulog.run import schedule_with, scheduler_of

        scheduler = scheduler_of(rules, engine)
        check_known(scheduler.switches, options, "--set")
        return schedule_with(
            scheduler, graph, (rules, ()), {"verify": 1} | options, refusals=request.refusals
        )


def _execute(run: Run, request: _Request) -> dict[str, Any]:
    from schedulog.runtimes import computes, default_device, default_note

    graph, inputs = run.graph, request.inputs
    if request.device is None:
        request.device, note = default_device(), default_note()
        if note is not None:
            typer.echo(note, err=True)
    if request.random is not None:
        inputs = random_inputs(graph, request.random, inputs) | inputs
    check_given(graph, inputs)
    with request.stage("compile", f"compiling {len(run.kernels)} kernels"):
        run.load(request.device)
    with request.stage("execute", f"running on {request.device}"):
        outputs = run.execute(inputs, request.device, [])
    return {name: _summary(value) for name, value in outputs.items()} if computes(request.device) else {}


def _summary(value: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Shape and statistics of an output; NaNs are counted and left out of the others."""
    import numpy as np

    numbers = value.astype(np.float64).reshape(-1)
    finite = numbers[~np.isnan(numbers)]
    found: dict[str, Any] = {"dtype": str(value.dtype), "shape": list(value.shape)}
    if finite.size:
        with np.errstate(invalid="ignore"):
            found |= {"min": float(finite.min()), "max": float(finite.max()), "mean": float(finite.mean())}
    return found | {"nan": int(numbers.size - finite.size)}


def _save(run: Run, request: _Request) -> None:
    if request.save is not None:
        with request.stage("save", f"writing {request.save}"):
            run.save(request.save, append=request.append, label=request.label)


def _show_kernels(run: Run) -> None:
    graph = run.graph
    typer.echo(f"{shown(graph.name)}: {len(graph.nodes)} nodes, {len(run.kernels)} kernels")
    columns = ("kernel", "computes", "value", "read", "written", "because of")
    print_table(columns, [_kernel_row(kernel) for kernel in run.kernels])


def _kernel_row(kernel: Kernel) -> tuple[str, ...]:
    value = f"{kernel.value.dtype}{_shape(kernel)}"
    read, written = size_text(kernel.bytes_read), size_text(kernel.bytes_written)
    return kernel.name, _computes(kernel), value, read, written, ", ".join(kernel.rules)


def _shape(kernel: Kernel) -> str:
    from schedulog.facts.symbolic import render

    return f"[{','.join(render(size) for size in kernel.value.shape)}]"


def _computes(kernel: Kernel) -> str:
    """The operations inside, each once with its count, as far as they fit."""
    counts: dict[str, int] = {}
    for n in kernel.members:
        if n.op not in ("VIEW", "CONST", "BIND"):
            counts[n.op.lower()] = counts.get(n.op.lower(), 0) + 1
    names = [name if count == 1 else f"{count} {name}" for name, count in counts.items()]
    shown = names if len(names) <= 5 else [*names[:4], f"{len(names) - 4} more"]
    return ", ".join(shown) or "-"


def _show_results(run: Run, request: _Request, outputs: dict[str, Any] | None) -> None:
    if outputs:
        typer.echo("")
        columns = ("output", "dtype", "shape", "min", "max", "mean", "nan")
        print_table(columns, [_output_row(name, found) for name, found in outputs.items()])
    elif outputs is not None and run.graph.outputs:
        typer.echo(f"\n{request.device} computes nothing, so there are no outputs to show")
    stages = ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in request.seconds.items())
    where = f" on {request.device}" if outputs is not None else ""
    typer.echo(f"\n{stages}{where}")
    if request.save is not None:
        typer.echo(f"saved: {request.save}   (schedulog sql {request.save})")


def _output_row(name: str, found: dict[str, Any]) -> tuple[Any, ...]:
    statistics = (found.get("min"), found.get("max"), found.get("mean"))
    return name, found["dtype"], str(found["shape"]).replace(" ", ""), *statistics, found["nan"]


def _record(run: Run, request: _Request, outputs: dict[str, Any] | None) -> dict[str, Any]:
    graph = run.graph
    return {
        "graph": {
            "name": graph.name,
            "nodes": len(graph.nodes),
            "inputs": list(graph.inputs),
            "assumed": dict(request.assumed),
        },
        "rules_sha": run.program.sha,
        "engine": run.engine,
        "options": dict(run.options),
        "kernels": [_kernel_record(run, kernel) for kernel in run.kernels],
        "device": request.device if outputs is not None else None,
        "outputs": outputs,
        "seconds": request.seconds,
        "saved": request.save,
    }


def _kernel_record(run: Run, kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "kind": kernel.kind,
        "output": run.graph.label(kernel.output),
        "members": [run.graph.label(n) for n in kernel.members],
        "dtype": str(kernel.value.dtype),
        "shape": _shape(kernel),
        "bytes_read": kernel.bytes_read,
        "bytes_written": kernel.bytes_written,
        "rules": list(kernel.rules),
    }
