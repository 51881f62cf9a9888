"""Load tests of arrays of every make, read through their makers' Prometheus exporters: what limits is named.

What load, switch and array report in each step is stated, as in `tests.support.san`. The lab gives the figures of the
array the names of each exporter; they are imported over the API of a Prometheus server, as by a user, and judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnosis.model import Diagnosis
from sanpath.recording.reading.recording import Recording
from sanpath_lab.exporters import EXPORTERS, ArrayFigures, Figures
from tests.collectors.prometheus.stand_in import StandIn, Value
from tests.support.recording import START_US, RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, Flow, San
from tests.support.stories import NOTHING, fast, judged

BLOCK = 8 * KIB
PURE_NAA, NETAPP_NAA = "naa.624a93706c1b16ce1c034d1c00013918", "naa.600a09806c5750476f245455654b4e33"
IDENTIFIED = {"flasharray_openmetrics": PURE_NAA, "ontap_harvest": NETAPP_NAA}
"""Exporters that report the identifier of a volume at hosts. Of the others, sanpath.yaml joins the volume."""
VOLUMES = {"ontap_harvest": "svm_san/sqlvol/vol01"}
_READINGS = 7
"""Readings of an array that differ from each other."""
SPIKE = 600_000e6
"""A latency of a week, in microseconds."""


@dataclass(frozen=True)
class Load:
    """One step. `array`: what the array reports in it; its rates are those of the load unless they are given."""

    in_flight: float
    ops: float
    array: ArrayFigures
    direction: str = "read"


@dataclass
class Site(San):
    """A test whose array a Prometheus server reads. `step_seconds`: length of each step; `scrape_seconds`: time
    between scrapes; `exporter_seconds`: time between the exporter's own readings of the array, 0: with each scrape;
    `spike_at`: number of the scrape in which the array's latencies are those of a week."""

    exporter: str = ""
    array_name: str = "a1"
    step_seconds: float = 60.0
    scrape_seconds: float = 5.0
    exporter_seconds: float = 0.0
    spike_at: int | None = None
    block: int = BLOCK
    host_gigabit: float = 16
    link_gigabit: float = 16
    unread: tuple[str, ...] = ()
    loads: list[Load] = field(default_factory=list)

    def _configuration(self, out: RecordingBuilder) -> None:
        super()._configuration(out)
        naa = {"naa": (IDENTIFIED[self.exporter],)} if self.exporter in IDENTIFIED else {}
        out.entity("config", "lun", "sqlvm1/sda", ids=naa, attributes={"queue_depth": 254})
        if not naa:
            volume = f"{self.array_name}/vol01"
            if self.exporter == "spectrum_virtualize":
                out.entity("config", "volume", volume)
                out.configure_link(f"volume:{volume} member_of array:{self.array_name}")
            out.configure_link(f"lun:sqlvm1/sda backed_by volume:{volume}")

    def diagnosed(self, loads: Sequence[Load]) -> Diagnosis:
        """Record the load, import what the server has of the array, and judge both."""
        self.leave_out = frozenset({"array", *self.unread})
        self.others_every = self.switch_every = max(2.0, self.step_seconds / 60)
        self.ports = [fast(HOST_PORT, self.host_gigabit), fast(ARRAY_PORT, self.link_gigabit)]
        self.loads = list(loads)
        for load in loads:
            counted = load.ops * (self.block / 2048 * 2076 + 52)
            flow = Flow(load.ops, load.in_flight / load.ops)
            flows = {"read": flow} if load.direction == "read" else {"write": flow}
            bytes_counted = (counted, NOTHING) if load.direction == "read" else (NOTHING, counted)
            ports = {port.name: bytes_counted for port in self.ports}
            self.step(
                f"q{load.in_flight:g}",
                load.in_flight,
                read=flows.get("read"),
                write=flows.get("write"),
                block=self.block,
                disk=flows,
                ports=ports,
                seconds=self.step_seconds,
            )
        self.write()
        now = START_US / 1e6 + self.steps[-1].end + 2.0
        with StandIn(self._series(), every=self.scrape_seconds, now=now) as server:
            command = ["import", "prometheus", "--url", server.url, "--into", str(self.folder)]
            done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        self.notes = done.output
        return judged(Recording(self.folder))

    def _series(self) -> list[tuple[Mapping[str, str], Value]]:
        figures = [self._idle(), *map(self._complete, self.loads)]
        names = dict.fromkeys(key for array in figures for key in self._named(array))
        return [(dict(key), self._value(key, figures)) for key in names]

    def _named(self, array: ArrayFigures) -> dict[frozenset[tuple[str, str]], float]:
        return {frozenset(labels.items()): value for labels, value in EXPORTERS[self.exporter](array)}

    def _idle(self) -> ArrayFigures:
        array = self._complete(self.loads[0])
        return replace(array, read=Figures(), write=Figures(), controller_busy_ratio=0.02, media_busy_ratio=0.01)

    def _complete(self, load: Load) -> ArrayFigures:
        read = load.direction == "read"
        side = replace(
            load.array.read if read else load.array.write,
            ops_per_second=load.ops,
            bytes_per_second=load.ops * self.block,
        )
        array = replace(load.array, read=side) if read else replace(load.array, write=side)
        naa = IDENTIFIED.get(self.exporter, "")
        return replace(array, name=self.array_name, naa=naa, wwpn=ARRAY_PORT.wwpn)

    def _value(self, key: frozenset[tuple[str, str]], figures: Sequence[ArrayFigures]) -> Value:
        has_spikes = self.spike_at is not None and "latency" in dict(key)["__name__"]
        stated = [[self._named(_shaken(array, n)).get(key, 0.0) for n in range(_READINGS)] for array in figures]

        def value(at: float) -> float:
            if has_spikes and int(at // self.scrape_seconds) % 40 == self.spike_at:
                return SPIKE
            period = self.exporter_seconds or self.scrape_seconds
            passed = at // period * period - START_US / 1e6
            running = next((n for n, step in enumerate(self.steps, 1) if step.begin <= passed <= step.end), 0)
            return stated[running][int(at // period) % _READINGS]

        return value


def _shaken(array: ArrayFigures, reading: int) -> ArrayFigures:
    """The figures of one reading: no array reports the same digits twice."""
    factor = 1 + 0.002 * (reading / (_READINGS - 1) - 0.5)
    read, write = (
        replace(side, ops_per_second=side.ops_per_second * factor, bytes_per_second=side.bytes_per_second * factor)
        for _, side in array.directions
    )
    return replace(array, read=read, write=write)


def array(
    service: float, queue: float = 0.0, qos: float = 0.0, direction: str = "read", **more: float
) -> ArrayFigures:
    """What the array reports; rates are the load's."""
    figures = Figures(service_seconds=service, queue_seconds=queue, qos_limit_seconds=qos)
    sides = {"read": figures} if direction == "read" else {"write": figures}
    return ArrayFigures("a1", **sides, **more)  # type: ignore[arg-type]


def capped(**limits: float) -> list[Load]:
    """16 and 64 in flight give 24,400 IOPS of 8 KiB, 200 MB/s. All but 0.45 ms is the wait for the limit."""
    return [Load(n, 24_400, array(3.5e-4, qos=n / 24_400 - 4.5e-4, **limits)) for n in (16.0, 64.0)]


def controllers_full(direction: str = "read") -> list[Load]:
    """2, 16 and 64 in flight: 6,000, 20,000 and 20,000 IOPS. The processors are at 30, 97 and 97 %."""
    return [
        Load(
            n, ops, array(2.8e-4, n / ops - 3.3e-4 - 5e-5, direction=direction, controller_busy_ratio=busy), direction
        )
        for n, ops, busy in ((2.0, 5_500.0, 0.3), (16.0, 20_000.0, 0.97), (64.0, 20_000.0, 0.97))
    ]


def media_full() -> list[Load]:
    """The same throughput, but the busiest disks are at 98 %, and service itself takes longer."""
    return [
        Load(n, ops, array(n / ops - 1e-4, media_busy_ratio=busy))
        for n, ops, busy in ((2.0, 5_500.0, 0.28), (16.0, 20_000.0, 0.98), (64.0, 20_000.0, 0.98))
    ]


def write_cache_full() -> list[Load]:
    """Writes: 20,000 IOPS are more than the media take, and the write cache is full."""
    return [
        Load(n, ops, array(n / ops - 1e-4, direction="write", write_cache_used_ratio=used), "write")
        for n, ops, used in ((16.0, 20_000.0, 0.99), (64.0, 20_000.0, 0.99))
    ]


def link_full() -> list[Load]:
    """64 KiB over 4GFC: 6,250 IOPS, 97.7 %. The array takes 0.35 ms, however many are in flight."""
    return [Load(n, 6_250, array(3.5e-4, port_bits_per_second=4e9)) for n in (16.0, 128.0)]


@dataclass(frozen=True)
class Truth:
    """`entity` with `{volume}` for the volume as the exporter names it."""

    kind: str
    entity: str
    layer: str


CAP = Truth("configured_cap", "volume:a1/{volume}", "array_front")
FRONT = Truth("bottleneck", "array:a1", "array_front")
BACK = Truth("bottleneck", "array:a1", "array_back")
LINK = Truth("bottleneck", "link:sw1/fc1/1--a1/CT0.FC0", "array_front")
PORT = Truth("bottleneck", "array_port:a1/CT0.FC0", "array_front")
SWITCH_PORT = Truth("bottleneck", "switch_port:sw1/fc1/1", "fabric")
"""Of Harvest, which reports no WWPN: nobody knows what is at the other end of the switch's port."""
FULL_PORT = {"block": 64 * KIB, "link_gigabit": 4}
SLOW = {"step_seconds": 3000.0, "scrape_seconds": 60.0, "exporter_seconds": 300.0}
"""A site with an exporter of five-minute means."""

CASES: Mapping[str, tuple[str, Callable[[], list[Load]], Truth, Mapping[str, object]]] = {
    "pure-volume-at-its-limit": ("flasharray_openmetrics", lambda: capped(bytes_limit=200e6), CAP, {}),
    "pure-controllers": ("flasharray_openmetrics", controllers_full, FRONT, {}),
    "pure-link": ("flasharray_openmetrics", link_full, LINK, FULL_PORT),
    "pure-target-port-without-a-switch": (
        "flasharray_openmetrics",
        link_full,
        PORT,
        {**FULL_PORT, "unread": ("switch",)},
    ),
    "ontap-policy-of-a-lun-in-bytes": ("ontap_harvest", lambda: capped(bytes_limit=200e6), CAP, {}),
    "ontap-policy-of-a-lun-in-iops": ("ontap_harvest", lambda: capped(ops_limit=24_500), CAP, {}),
    "ontap-node": ("ontap_harvest", controllers_full, FRONT, {}),
    "ontap-disks": ("ontap_harvest", media_full, BACK, {}),
    "ontap-node-read-once-a-minute": (
        "ontap_harvest",
        controllers_full,
        FRONT,
        {"step_seconds": 480.0, "scrape_seconds": 15.0, "exporter_seconds": 60.0},
    ),
    "ontap-node-with-a-latency-of-a-week": ("ontap_harvest", controllers_full, FRONT, {"spike_at": 7}),
    "ontap-link": ("ontap_harvest", link_full, SWITCH_PORT, FULL_PORT),
    "powerstore-appliance": ("pstore_exporter", controllers_full, FRONT, {"step_seconds": 180.0}),
    "powerstore-appliance-five-minutes": ("powerstore_exporter", controllers_full, FRONT, SLOW),
    "powermax-storage-group-at-its-limit": ("powermax_exporter", lambda: capped(), CAP, SLOW),
    "powermax-disks": ("powermax_exporter", media_full, BACK, SLOW),
    "flashsystem-node": ("spectrum_virtualize", controllers_full, FRONT, {}),
    "flashsystem-write-cache": ("spectrum_virtualize", write_cache_full, BACK, {}),
    "alletra-volume": ("hpe_array_exporter", media_full, BACK, SLOW),
}


@pytest.mark.parametrize("name", CASES)
def test_what_limits_is_named(tmp_path: Path, name: str) -> None:
    exporter, loads, truth, settings = CASES[name]
    site = Site(tmp_path / "r.sanpath", exporter=exporter)
    for key, value in settings.items():
        setattr(site, key, value)
    found = site.diagnosed(loads())
    verdict = found.verdict
    named = [(bottleneck.entity, bottleneck.layer) for bottleneck in verdict.bottlenecks]
    entity = truth.entity.format(volume=VOLUMES.get(exporter, "vol01"))
    assert (verdict.kind, named[:1]) == (truth.kind, [(entity, truth.layer)]), verdict.headline
    assert [step.purpose for step in found.plan][:1] in (["limit"], []), "what to do first is about what limits"
    assert found.plan or truth not in (FRONT, BACK)
