"""`schedulog new`: the file of a new rule, with a test that fails until the rule says what is wanted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from schedulog.cli.new_pack import new_pack
from schedulog.errors import UsageError
from schedulog.rules import USER_RULES
from schedulog.scheduler.language.spelling import SPELLINGS, translate

_TEMPLATES: Final = {
    "realize": """% {file}: which values are stored besides?
%
% Say here what is decided and why, and draw an example.
%
%     x --> sum(stored) --> neg
%
% Reads model.dl. Decides realize.

%! id: {pack}/{name}    %! kind: realize    %! status: experimental
%! title: Say in one line what is stored
%! why: "{{N}} is stored, because ..."
realize(N) :- is_reduce(N).
%? test "say what the test shows"   graph: x=load f32[8,8]; s=sum x axis=1; n=neg s; out n
%?   set realize == {{n}}.   kernels == 2.   result ~ numpy.
""",
    "forbid": """% {file}: which assigns are refused?
%
% Say here what is refused and why, and draw an example.
%
%     x --> neg --> assign to x --> sin        sin reads the new content
%
% Reads model.dl and order.dl. Decides refused.

%! id: {pack}/{name}    %! kind: forbid    %! status: experimental
%! title: Say in one line what is refused
%! why: "{{K}} may not overwrite {{B}}, because ..."
refused(K, B) :- writes(K, B, _), requested(K).
%? test "say what the test shows"   graph: x=load f32[8]; e=neg x; a=assign x e; f=sin a; out f
%?   set refused == {{(a, x)}}.   result ~ numpy.
""",
    "check": """% {file}: what should not be in a graph or its schedule?
%
% Say here what is looked for and why, and draw an example.
%
%     x --> exp --> exp --> exp        a long row
%
% Reads model.dl. Decides {relation}.

.decl {relation}(n: node)
% Say in one sentence what holds of n.
%! id: {pack}/{name}    %! kind: check    %! status: experimental
%! title: Say in one line what is found
{relation}(N) :- op(N, "EXP"), edge(M, N, _), op(M, "EXP").
%? test "say what the test shows"   graph: x=load f32[8]; e=exp x; f=exp e; out f
%?   set {relation} == {{e}}.   kernels == 1.
""",
    "helper": """% {file}: which question does the relation answer?
%
% Say here what it is for, and draw an example.
%
%     x --> exp --> neg        exp has one reader
%
% Reads model.dl. Decides {relation}.

.decl {relation}(n: node, user: node)
% Say in one sentence what holds of n and user.
%! id: {pack}/{name}    %! kind: helper    %! status: experimental
%! title: Say in one line what it means
{relation}(N, U) :- edge(N, U, _), computed(N).
%? test "say what the test shows"   graph: x=load f32[8]; e=exp x; f=neg e; out f
%?   set {relation} == {{(x, e)}}.
""",
}
_CORE: Final = {
    "fuse": "what is not stored is fused; a policy says what is stored: schedulog new realize",
    "order": "core orders kernels by what they read and overwrite; a policy may refuse: schedulog new forbid",
}


def new_command(
    kind: Annotated[str, typer.Argument(help="realize, forbid, check, helper or pack.")],
    name: Annotated[
        str, typer.Argument(help="What the rule is about: small letters and dashes.")
    ] = "my-rule",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"{USER_RULES}/NAME.dl (or .pydl) if left out."),
    ] = None,
    spelling: Annotated[
        str, typer.Option("--spelling", help="datalog, or pydatalog for a file of pyDatalog's operators.")
    ] = "datalog",
) -> None:
    """Write the file of a new rule, or the folder of a pack, with one test that fails."""
    if kind not in (*_TEMPLATES, "pack"):
        help = _CORE.get(kind) or f"kinds: {', '.join((*_TEMPLATES, 'pack'))}"
        raise UsageError("SL700", f"there is no new `{kind}` rule", help=help)
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise typer.BadParameter(
            f"`{name}` is not made of small letters, digits and dashes", param_hint="NAME"
        )
    if kind == "pack":
        if spelling != "datalog":
            raise typer.BadParameter("the files of a new pack are Datalog", param_hint="--spelling")
        new_pack(name, output)
        return
    if spelling not in SPELLINGS:
        raise typer.BadParameter(f"`{spelling}` is none of {', '.join(SPELLINGS)}", param_hint="--spelling")
    relation = name.replace("-", "_")
    path = Path(output) if output else Path(USER_RULES) / f"{relation}{SPELLINGS[spelling]}"
    text = _TEMPLATES[kind].format(file=path.name, pack="my", name=name, relation=relation)
    text = translate(text, "new.dl", spelling)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        if path.exists():
            raise UsageError(
                "SL709", f"{path} exists already", help="give another name, or -o FILE"
            ) from None
        reason = problem.strerror or str(problem)
        raise UsageError(
            "SL709", f"cannot write {path}", reason=reason, help="give another place: -o FILE"
        ) from None
    typer.echo(f"{path}: its test fails until the rule says what you want\n  schedulog test {path}")
