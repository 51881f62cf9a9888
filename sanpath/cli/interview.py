"""The questions of `sanpath init`: each source is tried as soon as it is told, and says what is still missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import yaml

from sanpath import registry
from sanpath.cli import secrets
from sanpath.cli.source_blocks import source_blocks
from sanpath.config import HostConfig, source_from_keys
from sanpath.config_keys import SECRET, ConfigKey, keys_of
from sanpath.errors import ConfigError, UsageError
from sanpath.plugin import Spec
from sanpath.recorder.check import SourcedInventory, check_all
from sanpath.topology.gaps import missing_switches
from sanpath.topology.identity import Topology, resolve
from sanpath.views.words import printable

_HEAD = (
    "# Written by sanpath init. Every key: sanpath collectors show NAME; an example of all: sanpath init --example\n"
)
_GAPS = 6
"""Most missing ports that are listed at once."""
_FIXED = ("name", "collector")


class Interview:
    """One conversation; `into` is the file that it is for, paths in it are relative to that."""

    def __init__(self, into: Path) -> None:
        self._into = into
        self._sources: list[dict[str, Any]] = []
        self._seen: SourcedInventory = []
        self._specs = [s for s in map(registry.spec, registry.names()) if s.config is not None]

    def hold(self) -> str:
        """Ask until there is no more to tell. Returns the configuration. Raises UsageError when nothing was told."""
        typer.echo("Every source that is told is tried at once. Enter alone takes what is in [brackets].")
        while (spec := self._which()) is not None:
            self._source(spec)
        if not self._sources:
            raise UsageError("no source was told, so nothing is written; `sanpath init --example` writes an example")
        found: dict[str, Any] = {"sources": self._sources}
        if links := self._load():
            found["topology"] = {"links": links}
        if hosts := dict(self._hosts()):
            found["hosts"] = hosts
        return _HEAD + yaml.safe_dump(found, sort_keys=False, allow_unicode=True)

    def _list(self) -> None:
        for number, spec in enumerate(self._specs, start=1):
            typer.echo(f"{number:>3} {spec.name}: {spec.title}")

    def _which(self) -> Spec | None:
        if not self._sources:
            self._list()
        names = [spec.name for spec in self._specs]
        prompt = "Add which source (number or name; ?: the list; Enter: no more)"
        while (said := typer.prompt(prompt, "", show_default=False).strip()) != "":
            if said in names:
                return self._specs[names.index(said)]
            if said.isdecimal() and 0 < int(said) <= len(names):
                return self._specs[int(said) - 1]
            if said == "?":
                self._list()
            else:
                typer.echo(f"  there is no {said}")
        return None

    def _source(self, spec: Spec) -> None:
        """Ask for one source and try it, until it answers, or is kept or dropped as it is."""
        body: dict[str, Any] = {"name": self._name(spec), "collector": spec.name}
        while True:
            self._ask(spec, body)
            answers = self._tried(body)
            if answers or (what := _after_failure()) == "keep":
                self._sources.append(body)
                break
            if what == "drop":
                break
        for line in missing_switches(self._topology())[:_GAPS]:
            typer.echo(f"  still missing: {printable(line)}")

    def _name(self, spec: Spec) -> str:
        taken = [source["name"] for source in self._sources]
        number = 1
        while f"{spec.name}{number}" in taken:
            number += 1
        while (name := typer.prompt("  name", f"{spec.name}{number}")) in taken:
            typer.echo(f"  {name} is another source already")
        return str(name)

    def _ask(self, spec: Spec, body: dict[str, Any]) -> None:
        """The keys that are required or have an example, then whichever else is named."""
        assert spec.config is not None  # noqa: S101 - only such are offered
        keys = {key.name: key for key in keys_of(spec.config) if key.name not in _FIXED}
        for key in keys.values():
            if key.required or key.example:
                self._answer(body, key)
        others = ", ".join(name for name in keys if name not in body)
        while (said := typer.prompt(f"  another key ({others}; Enter: none)", "", show_default=False).strip()) != "":
            name, equals, value = said.partition("=")
            if name.strip() not in keys:
                typer.echo(f"  {spec.name} has no key {name.strip()}")
            elif equals and keys[name.strip()].type != SECRET:
                body[name.strip()] = _value(keys[name.strip()], value)
            else:
                self._answer(body, keys[name.strip()])

    def _answer(self, body: dict[str, Any], key: ConfigKey) -> None:
        typer.echo(f"  # {key.meaning}")
        before = body.get(key.name)
        if key.type == SECRET:
            if before is None or typer.confirm(f"  another {key.name} than before?", default=True):
                body[key.name] = secrets.reference(body["name"], key.name)
            return
        optional = "" if key.required else f", such as {key.example}; Enter: none"
        default = None if key.required and before is None else str(before or "")
        said = typer.prompt(f"  {key.name}{optional}", default, show_default=bool(before))
        if said:
            body[key.name] = _value(key, said)
        else:
            body.pop(key.name, None)

    def _tried(self, body: dict[str, Any]) -> bool:
        """Log in, take stock and poll once; what it says is kept, of a second try that only."""
        self._seen = [item for item in self._seen if item[0] != body["name"]]
        typer.echo("  trying it ...")
        try:
            checks = asyncio.run(check_all([source_from_keys(body, self._into)], self._seen))
        except ConfigError as error:
            typer.echo(f"  {error.key}: {error}")
            return False
        typer.echo(source_blocks(checks), nl=False)
        return checks[0].answers

    def _topology(self) -> Topology:
        return resolve(self._seen)

    def _load(self) -> list[str]:
        """Which machine the load runs on, where sources know some."""
        topology = self._topology()
        machines = [e.id for kind in ("vm", "host") for e in topology.of_kind(kind)]
        if not machines:
            return []
        typer.echo("")
        for number, machine in enumerate(machines, start=1):
            typer.echo(f"{number:>3} {printable(machine)}")
        said = typer.prompt(
            "The load runs on (number; Enter: where sanpath starts it)", "", show_default=False
        ).strip()
        if not said.isdecimal() or not 0 < int(said) <= len(machines):
            return []
        load = typer.prompt("What makes the load", "fio")
        return [f"load:{load} runs_on {machines[int(said) - 1]}"]

    def _hosts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Machines that are read over SSH can run a load as well: `sanpath run --on NAME`."""
        for source in self._sources:
            schema = registry.spec(source["collector"]).config
            if (
                schema is not None
                and source.get("address")
                and HostConfig.model_fields.keys() <= schema.model_fields.keys()
            ):
                yield source["name"], {key: source[key] for key in HostConfig.model_fields if key in source}


def _value(key: ConfigKey, said: str) -> object:
    """What was typed, as YAML would read it in the file; a text stays as it is."""
    if key.type in ("text", "path"):
        return said.strip()
    try:
        return yaml.safe_load(said)
    except yaml.YAMLError:
        return said


def _after_failure() -> str:
    said = ""
    while said not in ("again", "keep", "drop"):
        said = typer.prompt("  again, keep it as it is, or drop it", "again")
    return said
