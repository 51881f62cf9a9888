"""docs/cli.md: every command with its arguments and options, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from sanpath.cli import app
from sanpath.docgen.markdown import GENERATED, table


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    sections = [GENERATED, "# Command line\n", *_command(typer.main.get_command(app), "sanpath")]
    return {"docs/cli.md": "\n".join(sections)}


def _command(command: Any, name: str) -> Iterator[str]:
    """One command, or a group and everything below it. `Any`: typer keeps its copy of click private."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield f"## {name}\n"
        yield f"{command.help}\n"
        rows = [_parameter(p) for p in command.params if p.name != "help"]
        if rows:
            yield table(("argument or option", "default", "meaning"), rows)
        return
    for word, child in inner.items():
        yield from _command(child, f"{name} {word}")


def _parameter(parameter: Any) -> tuple[str, str, str]:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`", "", getattr(parameter, "help", None) or ""
    declared = getattr(parameter, "type_descriptor", None) or parameter.type  # typer 0.29 and newer; older ones
    choices = getattr(declared, "choices", None)
    kind = f" {'|'.join(str(getattr(c, 'value', c)) for c in choices)}" if choices else ""
    default = parameter.default
    shown = "" if default in (None, "") else f"`{getattr(default, 'value', default)}`"
    # What turns a switch off, or does the opposite, is declared apart.
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return f"`{names}{kind}`", shown, parameter.help or ""
