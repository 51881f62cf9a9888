"""Serves a scenario: the simulation at the pace of the wall clock, and every device's own protocol on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
import shutil
import signal
import ssl
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sanpath_lab.fio.load_control import LoadControl
from sanpath_lab.flasharray.server import FlashArrayServer
from sanpath_lab.flasharray.simulated_array_state import SimulatedArrayState
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation
from sanpath_lab.site_config import site_config, vcenter_source, write_config, write_secret
from sanpath_lab.switch.snmp_agent import SnmpAgent
from sanpath_lab.switch.switch_mib import switch_objects

CONFIGS: Mapping[str, Literal[1, 2]] = {"sanpath.yaml": 2, "sanpath-rest1.yaml": 1}
"""File name of a configuration and the interface over which it reads the array."""
SLICE_SECONDS = 0.02
LOOPBACK = "127.0.0.1"
STDIN = 0


@dataclass(frozen=True, slots=True)
class Lab:
    """A served lab. `load`: command that starts the load.

    `config` reads the array over REST 2. sanpath-rest1.yaml in the same folder reads it over REST 1.
    """

    config: Path
    load: tuple[str, ...]


async def _keep_pace(catch_up: Callable[[], None]) -> None:
    while True:
        catch_up()
        await asyncio.sleep(SLICE_SECONDS)


def _tls(ca_file: Path, address: str) -> ssl.SSLContext:
    """Return the context of servers at an address, and write to `ca_file` which authority to trust.

    The library that makes certificates is left out of the smallest install.
    """
    try:
        from sanpath_lab.certificate import server_context
    except ModuleNotFoundError:
        if shutil.which("openssl") is None:
            raise
        from sanpath_lab.openssl_certificate import server_context
    return server_context(ca_file, address)


async def _serve_vcenter(
    simulation: Simulation,
    catch_up: Callable[[], object],
    tls: ssl.SSLContext,
    ca_file: Path,
    ends: AsyncExitStack,
    address: str,
) -> list[Mapping[str, object]]:
    """Serve the scenario's vCenter until `ends` is closed. Returns its source; empty if there is no vCenter."""
    if (vcenter := simulation.scenario.vcenter) is None:
        return []
    # pyVmomi takes a third of a second to load: only a scenario with a vCenter pays for it.
    from sanpath_lab.vcenter.server import VcenterServer

    password = secrets.token_urlsafe(24)
    server = VcenterServer(simulation, password, catch_up)
    ends.push_async_callback(server.stop)
    await server.start(tls, address)
    reference = write_secret(ca_file.parent / "secrets" / f"{vcenter.name}-password", password)
    return [vcenter_source(vcenter, server.address, reference, ca_file.name)]


@asynccontextmanager
async def running_lab(scenario: Scenario, folder: Path, address: str = LOOPBACK) -> AsyncIterator[Lab]:
    """Start all devices and write the configuration into `folder`. Leaving the context stops them.

    `address`: local address on which they listen. Raises ModuleNotFoundError: what makes certificates or a vCenter is
    not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    simulation = Simulation(scenario, time.time())
    started = time.monotonic()

    def catch_up() -> None:
        simulation.advance(time.monotonic() - started)

    api_token = secrets.token_urlsafe(24)
    communities = {switch.name: secrets.token_urlsafe(12) for switch in scenario.fabric_switches}
    agents = {
        switch.name: SnmpAgent(switch_objects(simulation, switch), communities[switch.name], catch_up, address)
        for switch in scenario.fabric_switches
    }
    arrays = {
        name: FlashArrayServer(SimulatedArrayState(scenario, array, catch_up), api_token)
        for name, array in simulation.arrays.items()
    }
    control = LoadControl(simulation, catch_up)
    ends = AsyncExitStack()
    pace = asyncio.create_task(_keep_pace(catch_up))
    try:
        ca_file = folder / "ca.pem"
        tls = _tls(ca_file, address)
        for array in arrays.values():
            await array.start(tls, address)
        await control.start(address)
        references = {
            name: write_secret(folder / "secrets" / f"{name}-community", community)
            for name, community in communities.items()
        }
        tokens = {name: write_secret(folder / "secrets" / f"{name}-token", api_token) for name in arrays}
        read = {name: (array.address, tokens[name]) for name, array in arrays.items()}
        addresses = {name: agent.address for name, agent in agents.items()}
        vcenters = await _serve_vcenter(simulation, catch_up, tls, ca_file, ends, address)
        for name, rest_version in CONFIGS.items():
            config = site_config(scenario, addresses, references, read, ca_file.name, rest_version, vcenters)
            write_config(config, folder / name)
        host, port = control.address
        load = (sys.executable, "-P", "-m", "sanpath_lab.fio.double", "--lab", f"{host}:{port}")
        yield Lab((folder / "sanpath.yaml").resolve(), load)
    finally:
        pace.cancel()
        with suppress(asyncio.CancelledError):
            await pace
        await control.stop()
        await ends.aclose()
        for array in arrays.values():
            await array.stop()
        for agent in agents.values():
            agent.close()


def _call_at_end_of_input(call: Callable[[], object]) -> None:
    """Watch standard input in a thread: it may be a file or a terminal, which an event loop cannot watch."""

    def read() -> None:
        while os.read(STDIN, 4096):
            pass
        call()

    threading.Thread(target=read, daemon=True).start()


async def serve(scenario: Scenario, folder: Path, address: str = LOOPBACK) -> None:
    """Serve until standard input closes, SIGTERM or SIGINT; prints one JSON line when ready, words on a terminal."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with running_lab(scenario, folder, address) as lab:
        _call_at_end_of_input(lambda: loop.call_soon_threadsafe(ended.set))
        print(_words(scenario, lab, address) if sys.stdout.isatty() else _line(lab), flush=True)
        await ended.wait()


def _line(lab: Lab) -> str:
    return json.dumps({"config": str(lab.config), "load": list(lab.load)})


def _words(scenario: Scenario, lab: Lab, address: str) -> str:
    command = shlex.join(("sanpath", "run", "--config", str(lab.config), "--load", "fio", "--", *lab.load))
    return f"{scenario.name}: {scenario.title}\nServed at {address} until Ctrl-C. In another terminal:\n  {command}"
