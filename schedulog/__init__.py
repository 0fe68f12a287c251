"""A scheduler for tensor graphs whose decisions are Datalog rules.

    import schedulog
    run = schedulog.schedule(schedulog.load("model.onnx"))
    outputs = run.execute({"input": array})
    run.save("run.db")

Names are loaded when they are first used: importing the package does nothing.
"""

from __future__ import annotations

from importlib import import_module

# Type checkers take it for true. The module typing is not imported: until the command line hears Ctrl-C, time counts.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from schedulog.capturing import capture
    from schedulog.difference import Diff, diff
    from schedulog.errors import SchedulogError
    from schedulog.facts.graph import Graph
    from schedulog.facts.symbolic import Variable
    from schedulog.graph_file import load
    from schedulog.rule_book import Rules, load_rules
    from schedulog.rule_function import datalog_rules
    from schedulog.run import Run, schedule
    from schedulog.tensor import Tensor
    from schedulog.tensor_files import load_safetensors, open_file, save_safetensors

    __version__: str

__all__ = [
    "Diff",
    "Graph",
    "Rules",
    "Run",
    "SchedulogError",
    "Tensor",
    "Variable",
    "__version__",
    "capture",
    "datalog_rules",
    "diff",
    "load",
    "load_rules",
    "load_safetensors",
    "open_file",
    "save_safetensors",
    "schedule",
]

_HOMES = {
    "Diff": "schedulog.difference",
    "Graph": "schedulog.facts.graph",
    "Rules": "schedulog.rule_book",
    "Run": "schedulog.run",
    "SchedulogError": "schedulog.errors",
    "Tensor": "schedulog.tensor",
    "Variable": "schedulog.facts.symbolic",
    "capture": "schedulog.capturing",
    "diff": "schedulog.difference",
    "datalog_rules": "schedulog.rule_function",
    "load": "schedulog.graph_file",
    "load_rules": "schedulog.rule_book",
    "load_safetensors": "schedulog.tensor_files",
    "open_file": "schedulog.tensor_files",
    "save_safetensors": "schedulog.tensor_files",
    "schedule": "schedulog.run",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("schedulog")
        except PackageNotFoundError:
            return "0+unknown"
    if name not in _HOMES:
        raise AttributeError(f"module 'schedulog' has no attribute {name!r}")
    # No module here may have the name of a public function: importing it would put the module in the function's place.
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
