"""Records a scenario in simulated time: collectors poll the simulated devices, and no real time passes between polls.

It does what `sanpath run` does against the served lab, on the simulation's own clock. Every source is polled at its
interval, and the load generator prints its status once a second. Collectors, the reader of the load and the writer of
recordings are those of sanpath, so no formula or mapping is written twice.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sanpath import __version__, registry
from sanpath.config import Config, load_config
from sanpath.errors import CollectorError
from sanpath.model import Event, Poll, Rows, Scalar, SourceEntity, SourceLink
from sanpath.plugin import Collector, Item, LoadReader, SourceConfig
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Declaration, Ending, Header
from sanpath.recording.writing.writer import Writer
from sanpath.sweep.progress import PROBE_PAUSE
from sanpath_lab.fio.document import document, render
from sanpath_lab.fio.load_status import DiskStatus, disk_status, load_status
from sanpath_lab.flasharray.simulated_array_state import SimulatedArrayState
from sanpath_lab.physics.load_model import LoadRun
from sanpath_lab.scenario import Load, Scenario
from sanpath_lab.simulation import Simulation
from sanpath_lab.site_config import site_config, vcenter_source, write_config, write_secret
from sanpath_lab.switch.switch_mib import switch_objects
from sanpath_testbed.defects import LOAD, Defect, Defects, as_tested
from sanpath_testbed.direct import DirectContext

if TYPE_CHECKING:
    from sanpath_lab.vcenter.service import VcenterService

EPOCH_SECONDS = 1_800_000_000
"""Wall clock at the start of a simulation. A fixed one makes recordings reproducible."""
STATUS_SECONDS = 1.0
BEFORE_SECONDS = 3.0
"""How long the sources are polled before the load starts."""
AFTER_SECONDS = 3.0
"""How long the sources are polled after the load has ended."""
_JITTER_SECONDS = 0.02
"""Largest delay of a poll: the polls of a real recorder are never exact either."""
_ADDRESS = ("127.0.0.1", 161)
_PASSWORD = "none"  # noqa: S105  of a vCenter inside this process


class SimulatedClock:
    """`plugin.Clock` of a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def now_us(self) -> int:
        """Return microseconds since the epoch."""
        return round((self._simulation.epoch_seconds + self._simulation.now) * 1e6)


class _Source:
    """A source with its collector and context.

    `due`: simulated second of the next poll. `last_poll_at`: simulated second of the last one.
    """

    def __init__(self, config: SourceConfig, context: DirectContext) -> None:
        self.config, self.context = config, context
        self.name = config.name
        self._collector_class = registry.collector_class(registry.spec(config.collector))
        self._collector: Collector[SourceConfig] = self._collector_class(config)
        self._open = False
        self.last_poll_at = 0.0
        # Names spread the polls over the interval, as in the recorder.
        self.due = (zlib.crc32(self.name.encode()) % 250) / 1000 * config.every_seconds

    async def items(self) -> list[Item]:
        """Poll once. The first poll also logs in and reads the inventory."""
        items: list[Item] = []
        if not self._open:
            await self._collector.open(self.context)
            items += [item async for item in self._collector.inventory(self.context)]
            self._open = True
        return items + [item async for item in self._collector.poll(self.context)]


class LabRecorder:
    """Writes one recording, in simulated time. `defects`: defects of the recorded data.

    `begin`, then `run_load` any number of times, then `end`; in between, the recording can be diagnosed.
    """

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
                    Declaration(name=name, collector=spec.name, every_seconds=every, tables=spec.tables)
                    for name, spec, every in declared
                ),
            )
        )
        declared_items: tuple[SourceEntity | SourceLink, ...] = (*config.entities, *config.links)
        for item in declared_items:
            self._writer.inventory(layout.CONFIG, self._clock.now_us(), item)

    @property
    def now_us(self) -> int:
        """The recorder's clock, microseconds since the epoch."""
        return self._clock.now_us()

    async def begin(self, seconds: float = BEFORE_SECONDS) -> None:
        """Poll the SAN without the load under test."""
        await self._poll_until(seconds)
        self._writer.flush()

    async def run_load(
        self,
        load_to_run: Load | None = None,
        marks: Mapping[str, Scalar] | None = None,
        must_stop: Callable[[], bool] | None = None,
    ) -> None:
        """Start a load, and poll on until it has ended. None: the load of the scenario.

        `marks`: details that are added to the marks of its steps. `must_stop`: asked once a second, with everything
        written; once it is true, the load stops. None: it never is.
        """
        reader: LoadReader = self._reader_class()
        disks = disk_status(self._simulation)
        load = self._simulation.begin_load(load_to_run)
        began, number = self._simulation.now, 0
        while not load.finished:
            number += 1
            await self._poll_until(began + number * STATUS_SECONDS)
            self._read_load_status(reader, load, disks, marks or {})
            if must_stop is not None:
                self._writer.flush()
                if must_stop():
                    load.stop()
        now_us = self._clock.now_us()
        self._write_items(LOAD, now_us, map(partial(_marked, marks or {}), reader.finish(now_us)))
        ended = self._simulation.now
        await self._poll_until(ended + AFTER_SECONDS)
        for source in self._sources:
            if source.last_poll_at < ended:
                await self._poll(source, self._clock.now_us())
        self._writer.flush()

    async def pause(self, seconds: float, detail: Mapping[str, Scalar]) -> None:
        """Poll without the load for some seconds, and mark it as a pause of a probe."""
        began_us = self._clock.now_us()
        await self._poll_until(self._simulation.now + seconds)
        now_us = self._clock.now_us()
        self._writer.event(layout.RECORDER, Event(now_us, PROBE_PAUSE, {**detail, "began_us": began_us}))
        self._writer.flush()

    def end(self) -> None:
        """End the recording."""
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
        """Do all polls that are due up to a simulated second, and advance to it."""
        while self._sources and (source := min(self._sources, key=lambda s: s.due)).due <= moment:
            self._simulation.advance(source.due + self._random.random() * _JITTER_SECONDS)
            due_us = round((EPOCH_SECONDS + source.due) * 1e6)
            source.due += self._defects.every(source.name, source.config.every_seconds)
            await self._poll(source, due_us)
        self._simulation.advance(moment)

    async def _poll(self, source: _Source, due_us: int) -> None:
        now_us, cost = self._clock.now_us(), source.context.cost
        source.last_poll_at = self._simulation.now
        if self._defects.loses(source.name, now_us):
            self._writer.poll(Poll(source.name, due_us, now_us, now_us, "failed", "unreachable", "no answer"))
            return
        cost.requests = cost.bytes_in = 0
        try:
            rows = self._write_items(source.name, now_us, await source.items())
        except CollectorError as error:
            self._writer.poll(Poll(source.name, due_us, now_us, now_us, "failed", error.failure.value, str(error)))
            return
        self._writer.poll(
            Poll(source.name, due_us, now_us, now_us, "ok", rows=rows, requests=cost.requests, bytes_in=cost.bytes_in)
        )

    def _read_load_status(
        self, reader: LoadReader, load: LoadRun, disks: Sequence[DiskStatus], marks: Mapping[str, Scalar]
    ) -> None:
        status = asdict(load_status(self._simulation, load, disks))
        now_us = self._clock.now_us()
        if self._defects.loses(LOAD, now_us):
            return
        if not self._defects.disks_read:
            status["disks"] = ()
        status["now_ms"] += round(1000 * self._defects.skew_seconds(LOAD))
        items = reader.feed(render(document(status)).encode(), now_us)
        rows = self._write_items(LOAD, now_us, map(partial(_marked, marks), items))
        if rows:
            self._writer.poll(Poll(LOAD, now_us, now_us, now_us, "ok", rows=rows))

    def _write_items(self, source: str, seen_us: int, items: Iterable[Item]) -> int:
        rows = 0
        for item in self._distorted(source, items):
            match item:
                case Rows():
                    self._writer.samples(source, item)
                    rows += len(item.entity)
                case SourceEntity() | SourceLink():
                    self._writer.inventory(source, seen_us, item)
                case Event():
                    self._writer.event(source, item)
        return rows

    def _distorted(self, source: str, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            yield from self._defects.distorted(source, item)


def record(scenario: Scenario, folder: Path, defect: Defect | Defects | None = None) -> None:
    """Record a scenario into a new folder, in simulated time."""
    if not isinstance(defect, Defects):
        scenario, defect = as_tested(scenario, defect), Defects(as_tested(scenario, defect), defect)

    async def run(recorder: LabRecorder) -> None:
        await recorder.begin()
        await recorder.run_load()
        recorder.end()

    asyncio.run(run(LabRecorder(scenario, folder, defect)))


def _marked(marks: Mapping[str, Scalar], item: Item) -> Item:
    """Return an item of a load; the marks of its steps with further details."""
    if isinstance(item, Event) and "step" in item.detail:
        return replace(item, detail={**item.detail, **marks})
    return item


def _vcenter(simulation: Simulation) -> VcenterService:
    # pyVmomi takes a third of a second to import, so only scenarios with a vCenter import it.
    from sanpath_lab.vcenter.service import VcenterService

    return VcenterService(simulation, _PASSWORD)


def _config(scenario: Scenario) -> Config:
    """Return the configuration of the served lab, written and read as a user's would be."""
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
