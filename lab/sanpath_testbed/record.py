"""A recording of a scenario in simulated time: the collectors ask the simulated devices, and nobody waits.

What `sanpath run` does against the served lab happens here on the simulation's own clock: every source is polled on
its grid, the load generator prints its status once a second, and what the collectors and the load's reader make of
the answers is written by the recording's writer. No formula and no mapping is written twice.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sanpath import __version__, registry
from sanpath.config import Config, load_config
from sanpath.errors import CollectorError
from sanpath.model import Event, Poll, Rows, SourceEntity, SourceLink
from sanpath.plugin import Collector, Item, LoadReader, SourceConfig
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Declaration, Ending, Header
from sanpath.recording.writing.writer import Writer
from sanpath_lab.fio_document import document, render
from sanpath_lab.load_model import LoadRun
from sanpath_lab.load_status import DiskStatus, disk_status, load_status
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulated_array_state import SimulatedArrayState
from sanpath_lab.simulation import Simulation
from sanpath_lab.site_config import site_config, vcenter_source, write_config, write_secret
from sanpath_lab.switch_mib import switch_objects
from sanpath_testbed.defects import LOAD, Defect, Defects, as_tested
from sanpath_testbed.direct import DirectContext

if TYPE_CHECKING:
    from sanpath_lab.vcenter_service import VcenterService

EPOCH_SECONDS = 1_800_000_000
"""The wall clock when a simulation begins: any will do, and the same one gives the same recording."""
STATUS_SECONDS = 1.0
BEFORE_SECONDS = 3.0
"""How long the sources are polled before the load, and"""
AFTER_SECONDS = 3.0
"""after it."""
_JITTER_SECONDS = 0.02
"""Polls are late by up to this: those of a real recorder are never exact."""
_ADDRESS = ("127.0.0.1", 161)
_PASSWORD = "none"  # noqa: S105  of a vCenter that is asked inside the process


class SimulatedClock:
    """`plugin.Clock` of a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        return round((self._simulation.epoch_seconds + self._simulation.now) * 1e6)


class _Source:
    """One source: its collector, the context it asks in, and where it is on its grid."""

    def __init__(self, config: SourceConfig, context: DirectContext) -> None:
        self.config, self.context = config, context
        self.name = config.name
        self._made = registry.collector_class(registry.spec(config.collector))
        self._collector: Collector[SourceConfig] = self._made(config)
        self._open = False
        self.asked_at = 0.0
        # Spread over the interval by their names, as the recorder does.
        self.due = (zlib.crc32(self.name.encode()) % 250) / 1000 * config.every_seconds

    async def items(self) -> list[Item]:
        """One poll; the first logs in and takes the inventory."""
        found: list[Item] = []
        if not self._open:
            await self._collector.open(self.context)
            found += [item async for item in self._collector.inventory(self.context)]
            self._open = True
        return found + [item async for item in self._collector.poll(self.context)]


class _Recorder:
    """One recording in the making. `defects`: what goes wrong on the way."""

    def __init__(self, scenario: Scenario, folder: Path, defects: Defects) -> None:
        self._scenario, self._defects = scenario, defects
        self._simulation = Simulation(scenario, EPOCH_SECONDS)
        self._clock = SimulatedClock(self._simulation)
        self._random = Random(scenario.seed)  # noqa: S311  lateness, not secrets
        manifest = layout.create(folder)
        self._writer = Writer(folder, "lab.1")
        config = _config(scenario)
        self._sources = [
            _Source(source, self._context(source))
            for source in config.sources
            if source.name not in self._defects.unread
        ]
        reader = registry.load_reader([LOAD])
        assert reader is not None  # noqa: S101 - the collector is built in
        spec, self._reader_class = reader
        declared = [
            (s.name, registry.spec(s.config.collector), self._defects.every(s.name, s.config.every_seconds))
            for s in self._sources
        ]
        declared.append((LOAD, spec, STATUS_SECONDS))
        self._writer.header(
            Header(
                writer=self._writer.name,
                run_id=manifest.run_id,
                tool_version=__version__,
                host="lab",
                started_us=self._clock.now_us(),
                load_command=[LOAD],
                sources=tuple(
                    Declaration(name=name, collector=of.name, every_seconds=every, tables=of.tables)
                    for name, of, every in declared
                ),
            )
        )
        known: tuple[SourceEntity | SourceLink, ...] = (*config.entities, *config.links)
        for item in known:
            self._writer.inventory("config", self._clock.now_us(), item)

    async def run(self) -> None:
        """Poll, start the load, and go on until it has ended."""
        await self._poll_until(BEFORE_SECONDS)
        reader: LoadReader = self._reader_class()
        disks = disk_status(self._simulation)
        load = self._simulation.begin_load()
        began, number = self._simulation.now, 0
        while not load.finished:
            number += 1
            await self._poll_until(began + number * STATUS_SECONDS)
            self._status(reader, load, disks)
        seen = self._clock.now_us()
        self._take_all(LOAD, seen, reader.finish(seen))
        ended = self._simulation.now
        await self._poll_until(ended + AFTER_SECONDS)
        for source in self._sources:
            if source.asked_at < ended:
                await self._poll(source, self._clock.now_us())
        self._writer.end(Ending(ended_us=self._clock.now_us(), load_exit_code=0, recorder_cpu_seconds=0.0))

    def _context(self, source: SourceConfig) -> DirectContext:
        simulation = self._simulation
        switch = next((s for s in self._scenario.switches if s.name == source.name), None)
        if switch is not None:
            return DirectContext(self._clock, tree=switch_objects(simulation, switch))
        if self._scenario.vcenter is not None and source.name == self._scenario.vcenter.name:
            return DirectContext(self._clock, vcenter=_vcenter(simulation))
        state = SimulatedArrayState(self._scenario, simulation.arrays[source.name], lambda: None)
        return DirectContext(self._clock, array=state)

    async def _poll_until(self, moment: float) -> None:
        """Everything that is due up to a moment of simulated time."""
        while self._sources and (source := min(self._sources, key=lambda s: s.due)).due <= moment:
            self._simulation.advance(source.due + self._random.random() * _JITTER_SECONDS)
            due = round((EPOCH_SECONDS + source.due) * 1e6)
            source.due += self._defects.every(source.name, source.config.every_seconds)
            await self._poll(source, due)
        self._simulation.advance(moment)

    async def _poll(self, source: _Source, due: int) -> None:
        now, cost = self._clock.now_us(), source.context.cost
        source.asked_at = self._simulation.now
        if self._defects.loses(source.name, now):
            self._writer.poll(Poll(source.name, due, now, now, "failed", "unreachable", "no answer"))
            return
        cost.requests = cost.bytes_in = 0
        try:
            rows = self._take_all(source.name, now, await source.items())
        except CollectorError as error:
            self._writer.poll(Poll(source.name, due, now, now, "failed", error.failure.value, str(error)))
            return
        self._writer.poll(
            Poll(source.name, due, now, now, "ok", rows=rows, requests=cost.requests, bytes_in=cost.bytes_in)
        )

    def _status(self, reader: LoadReader, load: LoadRun, disks: Sequence[DiskStatus]) -> None:
        status = asdict(load_status(self._simulation, load, disks))
        seen = self._clock.now_us()
        if self._defects.loses(LOAD, seen):
            return
        if not self._defects.disks_read:
            status["disks"] = ()
        status["now_ms"] += round(1000 * self._defects.skew_seconds(LOAD))
        rows = self._take_all(LOAD, seen, reader.feed(render(document(status)).encode(), seen))
        if rows:
            self._writer.poll(Poll(LOAD, seen, seen, seen, "ok", rows=rows))

    def _take_all(self, source: str, seen: int, items: Iterable[Item]) -> int:
        rows = 0
        for item in self._bent(source, items):
            match item:
                case Rows():
                    self._writer.samples(source, item)
                    rows += len(item.entity)
                case SourceEntity() | SourceLink():
                    self._writer.inventory(source, seen, item)
                case Event():
                    self._writer.event(source, item)
        return rows

    def _bent(self, source: str, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            yield from self._defects.bent(source, item)


def record(scenario: Scenario, folder: Path, defect: Defect | Defects | None = None) -> None:
    """Record a scenario into a new folder, in simulated time."""
    if not isinstance(defect, Defects):
        scenario, defect = as_tested(scenario, defect), Defects(as_tested(scenario, defect), defect)
    asyncio.run(_Recorder(scenario, folder, defect).run())


def _vcenter(simulation: Simulation) -> VcenterService:
    # pyVmomi takes a third of a second to load: only a scenario with a vCenter pays for it.
    from sanpath_lab.vcenter_service import VcenterService

    return VcenterService(simulation, _PASSWORD)


def _config(scenario: Scenario) -> Config:
    """The configuration that is written for the served lab, read as a user's would be."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        communities = {
            switch.name: write_secret(folder / "secrets" / f"{switch.name}-community", "none")
            for switch in scenario.fabric_switches
        }
        token = write_secret(folder / "secrets" / "token", "none")
        addresses = dict.fromkeys(communities, _ADDRESS)
        vcenters = []
        if scenario.vcenter is not None:
            password = write_secret(folder / "secrets" / "password", _PASSWORD)
            vcenters = [vcenter_source(scenario.vcenter, ("127.0.0.1", 443), password, "ca.pem")]
        arrays = {array.name: (("127.0.0.1", 443), token) for array in scenario.arrays}
        config = site_config(scenario, addresses, communities, arrays, "ca.pem", vcenters=vcenters)
        (folder / "ca.pem").touch()
        write_config(config, folder / "sanpath.yaml")
        return load_config(folder / "sanpath.yaml")
