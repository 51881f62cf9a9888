"""Checks a request before the recorder process starts, and finds its sources, hosts and load command."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

from sanpath import registry
from sanpath.config import DEFAULT_NAME, Config
from sanpath.errors import UsageError
from sanpath.extras import SSH
from sanpath.plugin import SshTarget
from sanpath.recorder.loads.loads import Reader, load_name
from sanpath.recorder.loads.processes import load_processes
from sanpath.recorder.other_recorders import refuse_duplicate_sources, refuse_second_load
from sanpath.recorder.request import RunRequest
from sanpath.recording.format import layout
from sanpath.recording.format.recorder_starts import starts
from sanpath.recording.storage.store import store_at
from sanpath.sweep import commands
from sanpath.sweep.matrix import steps
from sanpath.sweep.plan import LOCAL


def check_request(request: RunRequest, config: Config) -> None:
    """Check everything that can be checked before contacting a device. Raises UsageError."""
    if request.writer and not re.fullmatch(r"[A-Za-z0-9_.-]{1,63}", request.writer):
        raise UsageError("--writer: a name has up to 63 letters, digits, _, . and -")
    sources = select_sources(config, request.only_sources).sources
    for source in sources:
        registry.require_installed(source)
    hosts = load_hosts(request, config)
    if any(target is not None for target in hosts.values()):
        SSH.require("--on")
    argv = first_command(request)
    if argv and (reader := reader_of(request)) is not None:
        wrapped = reader[1].wrap(argv)
        if hosts and wrapped.output_file:
            raise UsageError(
                f"{argv[0]} writes to {wrapped.output_file}, which is not read on other hosts: leave it out"
            )
    if argv and (not hosts or LOCAL in hosts) and shutil.which(argv[0]) is None:
        raise UsageError(f"{argv[0]}: there is no such command, or it may not be executed")
    if not request.has_load and not config.sources:
        raise UsageError("nothing to record: `sanpath init` asks for sources; or name a load command after --")
    if (manifest := layout.check(request.folder, request.plan)) is not None:
        loads = [load_name(reader_of(request), host) for host in request.hosts or (None,)] if request.has_load else []
        earlier_starts = starts(store_at(request.folder), set())
        if request.has_load:
            refuse_second_load(earlier_starts, request.folder, request.plan, load_processes(manifest.run_id))
        refuse_duplicate_sources(earlier_starts, request.recorder, [*(source.name for source in sources), *loads])


def select_sources(config: Config, only: tuple[str, ...]) -> Config:
    """Return the configuration with only the named sources; all if `only` is empty. Raises UsageError."""
    names = [source.name for source in config.sources]
    for name in only:
        if name not in names:
            raise UsageError(f"--only-sources: no source is called {name!r}; there are: {', '.join(names) or 'none'}")
    if not only:
        return config
    return replace(config, sources=tuple(source for source in config.sources if source.name in only))


def load_hosts(request: RunRequest, config: Config) -> dict[str, SshTarget | None]:
    """Return the login of each host that runs the load, by name; None: this machine.

    Raises UsageError for an unknown host.
    """
    for name in request.hosts:
        if name != LOCAL and name not in config.hosts:
            accepted = ", ".join((LOCAL, *config.hosts))
            raise UsageError(
                f"no host is called {name!r} under hosts in {config.path or DEFAULT_NAME}; there are: {accepted}"
            )
    return {name: config.hosts.get(name) for name in request.hosts}


def reader_of(request: RunRequest) -> Reader:
    """Return the collector that reads the output of the load. None: there is none, or no load."""
    command = first_command(request)
    named = request.sweep.plan.engine if request.sweep else request.load_reader
    return registry.load_reader(command, named) if command else None


def first_command(request: RunRequest) -> tuple[str, ...]:
    """Return the load command, for a sweep that of its first step; empty: no load."""
    return commands.command(request.sweep.plan, steps(request.sweep.plan)[0]) if request.sweep else request.load
