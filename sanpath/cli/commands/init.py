"""`sanpath init`: write a configuration from answers to questions, or an example with every key explained."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sanpath.config_keys import ConfigKey
    from sanpath.plugin import SourceConfig, Spec

_HEAD = """\
# What sanpath reads, and what no device reports. Fill it in, then: sanpath check, and sanpath run -- COMMAND
# Delete the sources you do not have. A line such as #port: 161, with no space after the #, is an optional key with
# its default.
# A secret is a reference, never the secret: env:NAME, file:PATH or keyring:SERVICE/USER
# A load command needs no entry here; sanpath reads the output of what stands after --

sources:
"""
_TOPOLOGY = """
# What no source reports: the host that a load runs on, its initiator ports, and their capabilities. Names are
# kind:name, the kinds and relations are in docs/entities.md.
#topology:
  #things:
    #"hba:esx7/vmhba2":
      #wwpn: "21:00:00:24:ff:00:00:01"
      #capable_bits_per_second: 8.0e+9
  #links:
    #- load:fio runs_on host:esx7
    #- hba:esx7/vmhba2 attached_to host:esx7

# Samples are never dropped, unless they get older than this: 90m, 24h, 7d.
#recording:
  #keep: 24h
"""
_COLUMNS = 110


IntoOption = Annotated[Path, typer.Option("--into", help="The file to write; it must not exist.")]
CollectorOption = Annotated[
    list[str] | None, typer.Option("--collector", metavar="NAME", help="Only this collector; may be repeated.")
]
AskOption = Annotated[
    bool | None,
    typer.Option("--ask/--example", help="Ask for the sources and try each one, or write an example to fill in."),
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Ask nothing: write the sources that this machine and --host show.")
]
HostOption = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="HOST[:PORT]", help="With --yes: a switch to read by SNMP; may be repeated."),
]
CommunityOption = Annotated[
    str, typer.Option("--community", metavar="REFERENCE", help="With --yes: env:NAME or file:PATH; default: public.")
]


def init(
    into: IntoOption = Path("sanpath.yaml"),
    collector: CollectorOption = None,
    ask: AskOption = None,
    yes: YesOption = False,
    host: HostOption = None,
    community: CommunityOption = "",
) -> None:
    """Write a sanpath.yaml: ask for the sources, or write an example to fill in. No file is overwritten."""
    import sys

    from sanpath.errors import InterruptedByUserError, UsageError

    if (host or community) and not yes:
        raise UsageError("--host and --community are for init --yes; without it, init asks")
    if into.exists():
        raise UsageError(f"{into} is there already; name another file with --into")
    if not os.access(into.parent, os.W_OK):
        reason = "its folder is read-only" if into.parent.is_dir() else "there is no such folder"
        raise UsageError(f"{into}: cannot be written: {reason}")
    if ask is None:
        ask = not collector and sys.stdin.isatty() and sys.stdout.isatty()
    new_secrets: list[str] = []
    try:
        if yes:
            from sanpath.cli.detected_config import detected_config

            text, next_step = detected_config(host or [], community, new_secrets), "next: sanpath check"
        elif ask:
            from sanpath.cli.interview import Interview

            text, next_step = Interview(into, new_secrets).run(), "next: sanpath check, then sanpath run -- COMMAND"
        else:
            text, next_step = example(collector or []), "fill it in, then run sanpath check"
        _write(text, into)
    except BaseException as error:
        _forget(new_secrets)
        if isinstance(error, KeyboardInterrupt | typer.Abort):
            raise InterruptedByUserError("interrupted; nothing was written") from error
        raise
    typer.echo(f"{into} written; {next_step}")


def _write(text: str, into: Path) -> None:
    """Write a new file as a whole, or nothing."""
    from sanpath.errors import UsageError

    try:
        file = into.open("x", encoding="utf-8")
    except FileExistsError as error:
        raise UsageError(f"{into} is there already; name another file with --into") from error
    except OSError as error:
        raise UsageError(f"{into}: cannot be written: {error.strerror}") from error
    try:
        with file:
            file.write(text)
    except BaseException as error:
        into.unlink()
        if isinstance(error, OSError):
            raise UsageError(f"{into}: cannot be written: {error.strerror}") from error
        raise


def _forget(new_secrets: list[str]) -> None:
    """Remove stored secrets that no file refers to."""
    from sanpath.cli import secrets

    for reference in new_secrets:
        secrets.forget(reference)


def example(names: list[str]) -> str:
    """The example for these collectors, or for all of them. Raises UsageError for an unknown name."""
    from sanpath import registry
    from sanpath.errors import UsageError

    sections = [_HEAD]
    for name in dict.fromkeys(names) or registry.names():
        spec = registry.spec(name)
        if spec.config is not None:
            sections.append("".join(f"{line}\n" for line in _source(spec, spec.config)))
        elif names:
            raise UsageError(f"{name} reads load commands (sanpath run -- …) and needs no configuration")
    return "\n".join(sections) + _TOPOLOGY


def _source(spec: Spec, schema: type[SourceConfig]) -> Iterator[str]:
    from sanpath.config_keys import keys_of

    yield from _comment("  # ", f"{spec.name}: {spec.title}")
    for privilege in spec.rights:
        yield from _comment("  # ", f"Needs: {privilege.name} ({privilege.reason}).")
    yield f"  - name: {spec.name}-1"
    yield f"    collector: {spec.name}"
    keys = [key for key in keys_of(schema) if key.name not in ("name", "collector")]
    for key in sorted(keys, key=_is_optional):
        yield from _comment("    # ", key.meaning)
        yield f"    {'#' if _is_optional(key) else ''}{key.name}: {_value(spec, key)}"


def _is_optional(key: ConfigKey) -> bool:
    return not (key.required or key.example)


def _value(spec: Spec, key: ConfigKey) -> str:
    from sanpath.config_keys import SECRET

    if key.example or key.default:
        return key.example or key.default
    if key.type == SECRET:
        return "env:" + f"{spec.name}_{key.name}".upper()
    return {"number": "1", "whole number": "1", "true or false": "true", "list of text": "[change-me]"}.get(
        key.type, "change-me"
    )


def _comment(prefix: str, text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, _COLUMNS, initial_indent=prefix, subsequent_indent=prefix)
