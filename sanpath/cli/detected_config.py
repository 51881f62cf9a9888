"""`sanpath init --yes`: a configuration from what this machine shows, without questions."""

from __future__ import annotations

import asyncio
import platform
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
import yaml

from sanpath.cli.secrets import store_in_file
from sanpath.config import secret_from_reference
from sanpath.errors import UsageError
from sanpath.masking import printable
from sanpath.plugin import SecretStr
from sanpath.recorder.discovery import Agent, Surroundings, find_agents, read_local_surroundings
from sanpath.units import first_of

_HEAD = "# Written by sanpath init --yes. Every key of every source: sanpath init --example --into example.yaml\n"
_SNMP_PORT = 161
_PUBLIC = "public"
_MAX_LISTED = 6
"""Maximum addresses in a line."""


def detected_config(hosts: Sequence[str], community: str, new_secrets: list[str]) -> str:
    """Return the configuration, and print what was found and what was not.

    `hosts`: HOST or HOST:PORT of switches to contact once. `community`: a reference to the SNMP community; "":
    public. `new_secrets`: references to the secrets that it stores are added. Raises UsageError: there is nothing to
    write, or a host or reference is malformed.
    """
    secret = secret_from_reference(community, "--community") if community else SecretStr(_PUBLIC)
    named = [_host_and_port(host) for host in hosts]
    local = asyncio.run(read_local_surroundings())
    _print_surroundings(local)
    announced = [(neighbour.address, _SNMP_PORT) for neighbour in local.neighbours if neighbour.address]
    candidates = list(dict.fromkeys([*named, *announced]))
    sources: list[dict[str, Any]] = []
    if Path("/proc/diskstats").exists():
        sources.append({"name": platform.node() or "this-host", "collector": "linux_host"})
    agents = asyncio.run(find_agents(candidates, secret))
    for (host, port), agent in zip(candidates, agents, strict=True):
        if agent is None:
            described = community or "the community 'public'"
            typer.echo(f"SNMP: {host}:{port} does not answer {described}; name another with --community env:NAME")
            continue
        typer.echo(f"SNMP: {host}:{port} is {printable(agent.name)}: {printable(agent.description)}")
        sources.append(_switch(agent, community, {source["name"] for source in sources}, new_secrets))
    if not sources:
        raise UsageError("found nothing that sanpath can read, so nothing was written; name switches with --host")
    typer.echo("Arrays and hypervisors are not looked for: sanpath init --example has their keys")
    return _HEAD + yaml.safe_dump({"sources": sources}, sort_keys=False, allow_unicode=True)


def _print_surroundings(local: Surroundings) -> None:
    fio = shutil.which("fio")
    typer.echo(f"fio: {fio or 'not installed here'}")
    typer.echo(f"multipath: {_address_list(local.multipath) or 'no devices'}")
    for neighbour in local.neighbours:
        address = neighbour.address or "no IPv4 address announced"
        typer.echo(f"LLDP: {printable(f'{neighbour.interface} is cabled to {neighbour.name} ({address})')}")
    if local.arp:
        typer.echo(f"ARP: {_address_list(local.arp)} (not tried; if one is a switch: --host ADDRESS)")


def _address_list(names: Sequence[str]) -> str:
    return printable(first_of(names, _MAX_LISTED))


def _host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    if not host or not (port or str(_SNMP_PORT)).isdecimal():
        raise UsageError(f"--host {text}: give HOST or HOST:PORT, as 192.0.2.10 or sw1.example.net:161")
    return host, int(port or _SNMP_PORT)


def _switch(agent: Agent, community: str, taken: set[str], new_secrets: list[str]) -> dict[str, Any]:
    """The keys of a source. Its name is that of the device, its address where that is no plain word or is taken."""
    name = agent.name.partition(".")[0]
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,63}", name) or name in taken:
        name = f"{agent.host}-{agent.port}" if agent.host in taken else agent.host
    source: dict[str, Any] = {"name": name, "collector": "snmp_switch", "host": agent.host}
    if agent.port != _SNMP_PORT:
        source["port"] = agent.port
    source["community"] = community or store_in_file(name, "community", _PUBLIC, new_secrets)
    return source
