"""`schedulog explain`: the page of an error code."""

from __future__ import annotations

from typing import Annotated

import typer

from schedulog.cli.output import print_json, print_table


def explain_command(
    code: Annotated[str | None, typer.Argument(help="A code: SL110. All codes if left out.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain an error code: what it means, an example, and the way out."""
    from schedulog.codes import TITLES
    from schedulog.pages import page

    if code is not None:
        wanted = code.upper()
        if wanted not in TITLES:
            raise typer.BadParameter(f"there is no error code `{code}`", param_hint="CODE")
        text = page(wanted)
        if as_json:
            print_json({"code": wanted, "title": TITLES[wanted], "page": text})
        else:
            typer.echo(text, nl=False)
    elif as_json:
        print_json(dict(sorted(TITLES.items())))
    else:
        print_table(("code", "what it is about"), sorted(TITLES.items()))
