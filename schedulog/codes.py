"""The stable error codes and what each is about. A code is never used again for something else."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # Rule text and rule sets.
        "SL100": "a rule text that does not parse",
        "SL101": "an unknown relation",
        "SL102": "a relation with the wrong number of arguments",
        "SL103": "a term of the wrong type",
        "SL104": "an unknown function, or a wrong call of one",
        "SL105": "a name that is declared twice, differently",
        "SL106": "a bare name where a quoted string or a variable must stand",
        "SL107": "a rule file that cannot be read",
        "SL108": "an unknown or absent rule pack",
        "SL109": "two rules with one id",
        "SL110": "a variable that nothing binds",
        "SL111": "an expression, `_` or an aggregate in a place where it cannot stand",
        "SL112": "an aggregate over a relation that depends on it",
        "SL113": "an input relation that a rule derives",
        "SL114": "a condition on a relation that nothing derives",
        "SL115": "conditions that no values meet",
        "SL116": "the spelling of another language",
        "SL117": "an integer that does not fit into 64 bits",
        "SL118": "a rule header or test that is not well formed",
        "SL119": "an unknown rule id",
        # Evaluation of rules.
        "SL120": "atoms that are neither true nor false",
        "SL130": "a function of the rules that fails",
        "SL131": "integer arithmetic without a right result",
        "SL140": "an evaluation that reached a limit",
        "SL141": "a question that pyDatalog did not answer",
        "SL142": "a program on which clingo gives no verdict",
        "SL150": "a variable that is used once",
        "SL151": "a relation that is declared and never used",
        "SL160": "a rule test that is not well formed",
        "SL161": "no rule test is selected",
        "SL162": "an unknown name in a rule test",
        # Graph operations and graph files.
        "SL215": "an axis or index that does not exist",
        "SL216": "a number that does not fit its dtype",
        "SL217": "an integer to a negative integer power",
        "SL218": "an index that is not basic indexing",
        "SL219": "data that is no array, or no single number",
        "SL230": "a graph file that is not JSON or not a graph",
        "SL231": "a node whose source is not defined before it",
        "SL232": "a field of a graph file that is missing, unknown or wrong",
        "SL233": "a graph file of a later version",
        # The short notation for graphs.
        "SL250": "a statement that is not well formed",
        "SL251": "an unknown operation",
        "SL252": "an unknown name",
        "SL253": "a name that is taken",
        "SL254": "a wrong operand or option of an operation",
        "SL255": "a graph of which nothing is wanted",
        # Safetensors files.
        "SL270": "a safetensors header of an impossible length",
        "SL271": "a safetensors file that ends too early",
        "SL272": "a safetensors header that is not a JSON object",
        "SL273": "a field of a safetensors header that is missing or wrong",
        "SL274": "a dtype that is not supported in safetensors files",
        "SL275": "offsets that do not fit a tensor's dtype and shape",
        "SL276": "a tensor outside its safetensors file",
        "SL277": "tensors that overlap or leave a gap",
        "SL278": "a tensor's name twice",
        "SL279": "a safetensors file that cannot be written",
        # Devices, files and what moves between them.
        "SL500": "an unknown device",
        "SL501": "a device that cannot run here",
        "SL522": "a window into memory that is not in one piece",
        "SL540": "a computation on disk",
        "SL541": "a file that cannot be opened, read or written",
        "SL542": "a file that is too short",
        "SL543": "a file that was changed after it was opened",
        "SL544": "a byte that is no bool",
        "SL545": "one file as two buffers, one of them written",
        "SL546": "a copy to a file that exists",
        "SL547": "a kernel with memory of two devices",
        "SL548": "a part of a schedule over several devices",
        "SL549": "a tensor in a file that would be written in place",
        # Evaluation and inputs.
        "SL520": "an operation that has no meaning for its dtype",
        "SL521": "a view that leaves its memory",
        "SL530": "memory whose contents are not given",
        "SL531": "an input of the wrong shape or dtype",
        "SL532": "an input the graph does not have",
        # Verification of each stage.
        "SL320": "a graph that is not valid",
        "SL321": "a simplified graph that does not stand for the original",
        "SL322": "decisions that make no schedule",
        "SL323": "kernels that would not give what was requested",
        # Loading and saving.
        "SL121": "saved rules that are not those of the run",
        "SL260": "a graph file that cannot be read",
        "SL261": "a file of an unknown kind",
        "SL262": "a line that a record does not have",
        "SL263": "a record that is not one",
        "SL264": "a choice that this kind of graph file does not have",
        "SL533": "an input file that cannot be read",
        # Scheduling and symbolic sizes.
        "SL310": "a kernel that needs both the old and the new content of a buffer",
        "SL311": "kernels that wait for each other",
        "SL312": "a variable with two values in one call",
        "SL313": "an assign that reads its own target out of order",
        "SL314": "a kernel that sees values through too many views",
        "SL511": "a variable without a value, or outside its bounds",
        "SL512": "a value of a variable for which a view would leave its memory",
        # Run databases.
        "SL601": "a database that does not exist",
        "SL602": "a file that is no whole database of runs",
        "SL603": "a database of another version",
        "SL604": "a database that cannot be written",
        "SL605": "a query that cannot be answered",
        "SL606": "a run that the database does not hold",
        "SL607": "runs whose relations differ too much for one database",
        "SL608": "a query that would change something",
        "SL609": "a query parameter without a value",
        "SL610": "a captured call of a later version",
        "SL611": "a captured call that is damaged",
        "SL612": "a process that ended while it replayed calls",
        # The command line, public functions, and questions.
        "SL700": "a command line that is not understood",
        "SL701": "a function of the rules that is not given",
        "SL702": "rows that do not fit their relation",
        "SL703": "an unknown engine",
        "SL704": "something that cannot be scheduled",
        "SL705": "an engine whose package is not installed or too old",
        "SL706": "a switch that no rule asks about",
        "SL707": "an evaluator outside its thread",
        "SL708": "mutants of rules whose tests fail",
        "SL710": "a question that cannot be read",
        "SL711": "a question about an unknown relation",
        "SL712": "a question with the wrong number of arguments",
        "SL713": "a question about something that is not there",
        "SL714": "a question about a fact that does not hold",
        "SL715": "a question that means several facts",
        "SL900": "a bug in schedulog",
    }
)


def title(code: str) -> str:
    """The one-line title of an error code. Raises KeyError for a code that does not exist."""
    return TITLES[code]
