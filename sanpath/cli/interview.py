"""The questions of `sanpath init`: each source is tried immediately, and ports that are still missing are listed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import yaml

from sanpath import registry
from sanpath.cli import secrets
from sanpath.cli.check_report import source_blocks
from sanpath.config import HostConfig, source_from_keys
from sanpath.config_keys import SECRET, ConfigKey, keys_of
from sanpath.errors import ConfigError, UsageError
from sanpath.masking import printable
from sanpath.plugin import Spec
from sanpath.recorder.check import SourcedInventory, check_all
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.topology.unread_switches import missing_switches

_HEAD = (
    "# Written by sanpath init. Every key: sanpath collectors show NAME; an example of all: sanpath init --example\n"
)
_MAX_GAPS = 6
"""Maximum missing ports in a list."""
_FIXED = ("name", "collector")


class Interview:
    """One interview. `into`: the file to write; paths in it are relative to its folder. `new_secrets`: references to
    the secrets that it stores are added."""

    def __init__(self, into: Path, new_secrets: list[str]) -> None:
        self._into = into
        self._sources: list[dict[str, Any]] = []
        self._inventory: SourcedInventory = []
        self._new_secrets = new_secrets
        self._specs = [s for s in map(registry.spec, registry.names()) if s.config is not None]

    def run(self) -> str:
        """Ask until the user is done. Returns the configuration. Raises UsageError if no source was named."""
        typer.echo("Each source is tried right away. Press Enter to accept the value in [brackets].")
        while (spec := self._choose_collector()) is not None:
            self._ask_source(spec)
        if not self._sources:
            raise UsageError("no source was named, nothing was written; `sanpath init --example` writes an example")
        configuration: dict[str, Any] = {"sources": self._sources}
        if links := self._ask_load():
            configuration["topology"] = {"links": links}
        if hosts := dict(self._hosts()):
            configuration["hosts"] = hosts
        return _HEAD + yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True)

    def _print_list(self) -> None:
        for number, spec in enumerate(self._specs, start=1):
            typer.echo(f"{number:>3} {spec.name}: {spec.title}")

    def _choose_collector(self) -> Spec | None:
        if not self._sources:
            self._print_list()
        names = [spec.name for spec in self._specs]
        prompt = "Source to add (number or name; ?: list; Enter: done)"
        while (answer := typer.prompt(prompt, "", show_default=False).strip()) != "":
            if answer in names:
                return self._specs[names.index(answer)]
            if answer.isdecimal() and 0 < int(answer) <= len(names):
                return self._specs[int(answer) - 1]
            if answer == "?":
                self._print_list()
            else:
                typer.echo(f"  no collector is called {answer}")
        return None

    def _ask_source(self, spec: Spec) -> None:
        """Ask for a source and try it until it answers, or the user keeps or drops it."""
        settings: dict[str, Any] = {"name": self._ask_name(spec), "collector": spec.name}
        while True:
            self._ask_keys(spec, settings)
            answers = self._try_source(settings)
            if answers or (choice := _ask_after_failure()) == "keep":
                self._sources.append(settings)
                break
            if choice == "drop":
                for value in settings.values():
                    self._forget(value)
                break
        for line in missing_switches(self._topology())[:_MAX_GAPS]:
            typer.echo(f"  still missing: {printable(line)}")

    def _ask_name(self, spec: Spec) -> str:
        taken = [source["name"] for source in self._sources]
        number = 1
        while f"{spec.name}{number}" in taken:
            number += 1
        while (name := typer.prompt("  name", f"{spec.name}{number}")) in taken:
            typer.echo(f"  another source is called {name} already")
        return str(name)

    def _ask_keys(self, spec: Spec, settings: dict[str, Any]) -> None:
        """Ask for the keys that are required or have an example, then for others by name."""
        assert spec.config is not None  # noqa: S101 - only such are offered
        keys = {key.name: key for key in keys_of(spec.config) if key.name not in _FIXED}
        for key in keys.values():
            if key.required or key.example:
                self._ask_key(settings, key)
        optional_keys = ", ".join(name for name in keys if name not in settings)
        while (
            answer := typer.prompt(f"  another key ({optional_keys}; Enter: none)", "", show_default=False).strip()
        ) != "":
            name, equals, value = answer.partition("=")
            if name.strip() not in keys:
                typer.echo(f"  {spec.name} has no key {name.strip()}")
            elif equals and keys[name.strip()].type != SECRET:
                settings[name.strip()] = _value(keys[name.strip()], value)
            else:
                self._ask_key(settings, keys[name.strip()])

    def _ask_key(self, settings: dict[str, Any], key: ConfigKey) -> None:
        typer.echo(f"  # {key.meaning}")
        before = settings.get(key.name)
        if key.type == SECRET:
            if before is None or typer.confirm(f"  change {key.name}?", default=True):
                self._forget(before)
                settings[key.name] = secrets.reference(settings["name"], key.name, self._new_secrets)
            return
        example = f", such as {key.example}" if key.example else ""
        optional = "" if key.required else f"{example}; Enter: {key.default or 'none'}"
        default = None if key.required and before is None else str(before or "")
        answer = typer.prompt(f"  {key.name}{optional}", default, show_default=bool(before))
        if answer:
            settings[key.name] = _value(key, answer)
        else:
            settings.pop(key.name, None)

    def _try_source(self, settings: dict[str, Any]) -> bool:
        """Log in, read the inventory and poll once; a second try replaces the inventory of the first.

        Returns whether the source answers."""
        self._inventory = [item for item in self._inventory if item[0] != settings["name"]]
        typer.echo("  trying it ...")
        try:
            checks = asyncio.run(check_all([source_from_keys(settings, self._into)], self._inventory))
        except UsageError as error:
            typer.echo(f"  {error.key}: {error}" if isinstance(error, ConfigError) else f"  {error}")
            return False
        typer.echo(source_blocks(checks), nl=False)
        return checks[0].answers

    def _forget(self, value: object) -> None:
        """Remove a secret that this interview has stored, and that is not used."""
        if isinstance(value, str) and value in self._new_secrets:
            self._new_secrets.remove(value)
            secrets.forget(value)

    def _topology(self) -> Topology:
        return resolve(self._inventory)

    def _ask_load(self) -> list[str]:
        """Ask for the machine of the load, if sources have reported any. Returns links for the configuration."""
        topology = self._topology()
        machines = [e.id for kind in ("vm", "host") for e in topology.of_kind(kind)]
        if not machines:
            return []
        typer.echo("")
        for number, machine in enumerate(machines, start=1):
            typer.echo(f"{number:>3} {printable(machine)}")
        answer = typer.prompt(
            "The load runs on (number; Enter: the machine where sanpath starts it)", "", show_default=False
        ).strip()
        if not answer.isdecimal() or not 0 < int(answer) <= len(machines):
            return []
        load = typer.prompt("Load generator", "fio")
        return [f"load:{load} runs_on {machines[int(answer) - 1]}"]

    def _hosts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Hosts that are read over SSH, which can also run a load (`sanpath run --on NAME`)."""
        for source in self._sources:
            schema = registry.spec(source["collector"]).config
            if (
                schema is not None
                and source.get("address")
                and HostConfig.model_fields.keys() <= schema.model_fields.keys()
            ):
                yield source["name"], {key: source[key] for key in HostConfig.model_fields if key in source}


def _value(key: ConfigKey, answer: str) -> object:
    """The typed value as YAML would read it in the file; text is not converted."""
    if key.type in ("text", "path"):
        return answer.strip()
    try:
        return yaml.safe_load(answer)
    except yaml.YAMLError:
        return answer


def _ask_after_failure() -> str:
    answer = ""
    while answer not in ("again", "keep", "drop"):
        answer = typer.prompt("  try again, keep it as it is, or drop it (again, keep, drop)", "again")
    return answer
