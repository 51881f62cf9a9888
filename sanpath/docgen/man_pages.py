"""`python -m sanpath.docgen.man_pages FOLDER`: a manual page for each command, from the commands themselves.

The pages use the man macros (groff_man(7)). click-man cannot write them: typer has its own copy of click.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from sanpath import __version__
from sanpath.cli import app

_CONTROL_LINE = re.compile(r"^(?=[.'])", re.MULTILINE)


def pages() -> dict[str, str]:
    """File name → content, for sanpath(1) and every command."""
    command: Any = typer.main.get_command(app)
    leaves = dict(_leaves(command, "sanpath"))
    contents = {f"{_page(name)}.1": _leaf(name, leaf) for name, leaf in leaves.items()}
    entries = "".join(f".TP\n.BR {roff(_page(name))} (1)\n{_summary(leaf)}\n" for name, leaf in leaves.items())
    synopsis = r"\fBsanpath\fR \fICOMMAND\fR [\fIARGUMENT\fR ...]"
    overview = _head("sanpath", str(command.help), synopsis)
    return {"sanpath.1": f"{overview}.SH COMMANDS\n{entries}", **contents}


def roff(text: str) -> str:
    """Escape a text: backslashes, hyphens that are typed as such, and lines that look like a request."""
    return _CONTROL_LINE.sub(r"\\&", text.replace("\\", r"\e").replace("-", r"\-"))


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command that is no group. `Any`: typer keeps its copy of click private."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word, child in inner.items():
        yield from _leaves(child, f"{name} {word}")


def _page(name: str) -> str:
    return name.replace(" ", "-")


def _summary(command: Any) -> str:
    return roff(str(command.short_help or command.help or "").partition("\n")[0])


def _head(name: str, summary: str, synopsis: str) -> str:
    title = f'.TH "{_page(name).upper()}" 1 "" "sanpath {__version__}" "sanpath"\n'
    return f"{title}.SH NAME\n{roff(_page(name))} \\- {roff(summary)}\n.SH SYNOPSIS\n{synopsis}\n"


def _leaf(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    words = [rf"\fB{roff(name)}\fR", *(["[\\fIOPTION\\fR ...]"] if options else [])]
    words += [rf"\fI{roff(argument.metavar or argument.name.upper())}\fR" for argument in arguments]
    sections = _head(name, str(command.short_help or command.help).rstrip("."), " ".join(words))
    sections += f".SH DESCRIPTION\n{roff(str(command.help))}\n"
    if arguments:
        sections += ".SH ARGUMENTS\n" + "".join(_argument(argument) for argument in arguments)
    if options:
        sections += ".SH OPTIONS\n" + "".join(_option(option) for option in options)
    return f"{sections}.SH SEE ALSO\n.BR sanpath (1)\n"


def _argument(argument: Any) -> str:
    return f".TP\n.I {roff(argument.metavar or argument.name.upper())}\n{roff(argument.help or '')}\n"


def _option(option: Any) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    declared = getattr(option, "type_descriptor", None) or option.type  # typer 0.29 and newer; older ones
    choices = "|".join(str(getattr(choice, "value", choice)) for choice in getattr(declared, "choices", None) or ())
    value = "" if option.is_flag else choices or option.metavar or str(getattr(declared, "name", "value")).upper()
    shown = rf"\fB{roff(names)}\fR" + (rf" \fI{roff(value)}\fR" if value else "")
    default = getattr(option.default, "value", option.default)
    no_default = option.is_flag or default in (None, "")
    help_text = str(option.help or "") + ("" if no_default else f" Default: {default}.")
    return f".TP\n{shown}\n{roff(help_text.strip())}\n"


def write(folder: Path) -> None:
    """Write every page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pages().items():
        (folder / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
