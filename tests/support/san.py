"""A synthetic test of a storage network: steps with numbers worked out by hand go in, a recording comes out.

One virtual machine sqlvm1 on the host esx7, one switch sw1, one array fa1 with the volume vol01. What the load, the
ports and the array read in a step is stated, never modelled: a model that shares its formulas with the judge would
prove nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Literal

from sanpath.model import DIRECTIONS, Column, Scalar
from sanpath.recording.reading.recording import Recording
from sanpath_collectors.fio.tables import LOAD as FIO_LOAD
from sanpath_collectors.fio.tables import LUN
from sanpath_collectors.flasharray.tables import PATH
from sanpath_collectors.flasharray_rest1.tables import ARRAY, VOLUME
from sanpath_collectors.snmp_switch.tables import SWITCH_PORT
from tests.support.recording import Number, RecordingBuilder

KIB = 1024
NAA = "naa.624a93706c1b16ce1c034d1c00013918"
SECOND_NAA = "naa.624a93706c1b16ce1c034d1c00013919"
GAP_SECONDS = 4.0
CREDIT_TICK_SECONDS = 2.5e-6
"""What switches count time without credit in."""
STALL = Column("credit_stall_seconds_tx_total", 64, CREDIT_TICK_SECONDS)
PORTS = replace(SWITCH_PORT, columns=(*(c for c in SWITCH_PORT.columns if c.metric != STALL.metric), STALL))
LOAD = replace(FIO_LOAD, columns=(*FIO_LOAD.columns, Column("latency_seconds_metadata_total", 64, 1e-9)))


@dataclass(frozen=True, slots=True)
class Flow:
    """One direction of I/O: operations a second and their mean latency in seconds."""

    ops: float
    latency: float


@dataclass(frozen=True, slots=True)
class AtArray:
    """What the array says of one direction, in seconds. `ops` and `size` (bytes a second) None: those of the load;
    `others`: operations a second of other volumes, of the same size. `response`: from arrival to completion, of an
    array that does not tell its own part."""

    service: float | None
    san: float | None = None
    queue: float | None = 0.0
    qos: float | None = None
    ops: float | None = None
    size: float | None = None
    others: float = 0.0
    response: float | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """A switch port and what hangs on it. Speeds in Gb/s as people say them; `capable`: of the device, `switch`: of
    the port. `host`: "" for the array's ports, another name than esx7 for a neighbour. `on`: its switch."""

    name: str
    device: str
    wwpn: str
    speed: float | None = 4
    capable: float | None = 8
    host: str = "esx7"
    switch: float | None = None
    on: str = "sw1"


HOST_PORT = Port("fc1/7", "vmhba2", "21000024ff000001")
ARRAY_PORT = Port("fc1/1", "CT0.FC0", "524a937000000001", host="")


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    begin: float
    end: float
    in_flight: float
    block: float
    flows: Mapping[str, Flow]
    ports: Mapping[str, tuple[float, float]]
    disk: Mapping[str, Flow]
    array: Mapping[str, AtArray]
    cpu: float | None
    rate_limited: bool
    pairs: Mapping[str, float]
    stalls: Mapping[str, float]
    counted: Mapping[str, Mapping[str, float]]


@dataclass(slots=True)
class San:
    """Steps are added in the order they run, GAP_SECONDS apart; `write` gives the recording.

    `leave_out`: any of switch, array, array_samples, disk, lun, load, steps (all marks), last_end (as if killed).
    `switch_cache`: how often the switch refreshes its counters, seconds; `others_every`: how often load and array are
    asked. `unanswered`: switch or array → from when to when it gives no answer. `clock`: source → its clock minus the
    recorder's, seconds. `imported`: source → by how many seconds a file of it was placed too late; it was never
    asked for and dates nothing itself. `counts_bytes`: whether the load does. `inter_switch_link`: sw1 and sw2, port
    fc1/31 each; it is read where a step names the bytes of "sw1/fc1/31".
    `written_bytes`: what hosts have written on each volume, None: not counted.
    `about`: attributes of every job of the load, `cache_bytes` and `memory_bytes` those of the array and the machine,
    `array_media` what the array keeps data on.
    `device_slots`: I/Os that the device behind the volume takes at once, None: not reported.
    `guest_queue_depth`: slots of the machine's disk, None: not reported. `second_lun`: it has another one, idle, of
    the same array. `twin`: another host's volume of that array does just what the load's does.
    `p99_times`: the 99th percentile of the load's latency over its mean. `flushes_in_flight`, `metadata_in_flight`:
    flushes, and operations on files such as open, that it waits for. `slowest_seconds`: its longest I/O,
    None: not reported. `drift`: by which share of it the load's latency rises from the beginning of a step to its
    end, evenly. `make`: of the switches. `zones`: initiator and target port by their WWPNs; sw1 reports them.
    `lun_paths`: initiator and target port of each path of the machine's LUN.
    `array_hosts`: volume → the array's name of the host that it presents it to, first that of the test. The load then
    runs on db1, whose adapters and LUNs no source reports. `one_step`: the steps are periods of the first one, which
    follow each other without a gap.
    """

    folder: Path
    ports: Sequence[Port] = (HOST_PORT, ARRAY_PORT)
    technology: Literal["fibre_channel", "ethernet"] = "fibre_channel"
    leave_out: Set[str] = frozenset()
    switch_every: float = 1.0
    switch_cache: float | None = None
    others_every: float = 1.0
    unanswered: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    clock: Mapping[str, float] = field(default_factory=dict)
    imported: Mapping[str, float] = field(default_factory=dict)
    counts_bytes: bool = True
    inter_switch_link: bool = False
    isl_speed: float = 8
    written_bytes: int | None = None
    about: Mapping[str, Scalar] = field(default_factory=dict)
    cache_bytes: float | None = None
    array_media: str | None = None
    memory_bytes: float | None = None
    device_slots: int | None = None
    guest_queue_depth: int | None = 32
    second_lun: bool = False
    twin: bool = False
    p99_times: float = 2.0
    slowest_seconds: float | None = None
    flushes_in_flight: float = 0.0
    metadata_in_flight: float = 0.0
    drift: float = 0.0
    make: str | None = "cisco"
    zones: Sequence[tuple[str, str]] = ()
    lun_paths: Sequence[tuple[str, str]] = ()
    array_hosts: Mapping[str, str] = field(default_factory=dict)
    one_step: bool = False
    steps: list[_Step] = field(default_factory=list)
    _delay: Mapping[str, float] = field(default_factory=dict)

    def step(
        self,
        name: str,
        in_flight: float,
        *,
        read: Flow | None = None,
        write: Flow | None = None,
        ports: Mapping[str, tuple[float, float]] | None = None,
        disk: Mapping[str, Flow] | None = None,
        array: Mapping[str, AtArray] | None = None,
        block: float = 64 * KIB,
        seconds: float = 12.0,
        cpu: float | None = 0.2,
        rate_limited: bool = False,
        pairs: Mapping[str, float] | None = None,
        stalls: Mapping[str, float] | None = None,
        counted: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        """One load step. `ports`: switch port → bytes a second it counts (read, write); `disk`: the guest's block
        device; `pairs`: "INITIATOR>TARGET" → I/Os by the array's count; `stalls`: "switch/port" → share of
        the time it sends nothing for want of transmit credit; `cpu`: share of a core that the load uses, None: not
        read; `counted`: "switch/port" → metric of the switch → how many it counts over the step."""
        flows = {d: f for d, f in (("read", read), ("write", write)) if f is not None}
        gap = 0.0 if self.one_step else GAP_SECONDS
        begin = self.steps[-1].end + gap if self.steps else 5.0
        more = (ports or {}, disk or {}, array or {}, cpu, rate_limited, pairs or {}, stalls or {}, counted or {})
        self.steps.append(_Step(name, begin, begin + seconds, in_flight, block, flows, *more))

    def write(
        self,
        ended: bool = True,
        delay: Mapping[str, float] | None = None,
        compared: Mapping[str, tuple[float, float]] | None = None,
    ) -> Recording:
        """Write everything down, as three collectors and the configuration would have. `delay`: source → seconds from
        the end of an average to its being told; `compared`: source → offset of its clock and its uncertainty, as its
        collector found them."""
        self._delay = delay or {}
        out = RecordingBuilder(self.folder, imported=self.imported)
        out.source("fio", "fio", LOAD, LUN, every=self.others_every)
        last = (self.steps[-1].end if self.steps else 30.0) + (0.0 if "last_end" in self.leave_out else 2.0)
        self._configuration(out)
        if "load" not in self.leave_out:
            self._load(out, last)
        if "switch" not in self.leave_out:
            for name in sorted({port.on for port in self.ports}):
                self._switch(out, name, last)
            for initiator, target in self.zones:
                out.link("sw1", "zoned_with", (("wwpn", initiator), ("wwpn", target)), "zone z")
            if self.inter_switch_link:
                out.configure_link("switch_port:sw1/fc1/31 cabled_to switch_port:sw2/fc1/31")
        if "array" not in self.leave_out:
            out.source("fa1", "flasharray", ARRAY, VOLUME, PATH, every=self.others_every)
            self._array(out, last)
        for source, (offset, within) in (compared or {}).items():
            out.event(source, 1.0, "clock", offset_seconds=offset, uncertainty_seconds=within)
        return out.write(ended)

    def _configuration(self, out: RecordingBuilder) -> None:
        if self.array_hosts:
            out.entity("fio", "host", "db1", ids={"name": ("db1",)})
            out.link("fio", "runs_on", (("load", "fio"), ("host", "db1")), "this machine")
            return
        out.configure_link("load:fio runs_on vm:sqlvm1")
        out.configure_link("vm:sqlvm1 runs_on host:esx7")
        out.entity("config", "vm", "sqlvm1", attributes={"memory_bytes": self.memory_bytes})
        disk = {"queue_depth": self.guest_queue_depth}
        out.entity("config", "host", "esx7", attributes={"os": "VMware ESXi"})
        if "lun" not in self.leave_out:
            out.entity("config", "lun", "sqlvm1/sda", ids={"naa": (NAA,)}, attributes=disk)
            out.configure_link("lun:sqlvm1/sda attached_to vm:sqlvm1")
        if self.second_lun:
            out.entity("config", "lun", "sqlvm1/sdb", ids={"naa": (SECOND_NAA,)}, attributes=disk)
            out.configure_link("lun:sqlvm1/sdb attached_to vm:sqlvm1")
        for port in self.ports:
            if port.host:
                name = f"{port.host}/{port.device}"
                out.entity("config", "hba", name, ids={"wwpn": (port.wwpn,)}, attributes=_capable(port.capable))
                out.configure_link(f"hba:{name} attached_to host:{port.host}")
        for hba, target in self.lun_paths:
            out.entity("config", "path", f"{hba}-{target}")
            for end in (
                "member_of lun:sqlvm1/sda",
                f"attached_to hba:esx7/{hba}",
                f"targets array_port:fa1/{target}",
            ):
                out.configure_link(f"path:{hba}-{target} {end}")

    def _load(self, out: RecordingBuilder, last: float) -> None:
        out.entity("fio", "load", "fio", ids={"name": ("fio",)})
        if "disk" not in self.leave_out:
            out.entity("fio", "lun", "sda", ids={"device": ("sda",)})
            out.link("fio", "targets", (("load", "fio"), ("lun", "sda")), "fio disk_util")
        shift = self.clock.get("fio", 0.0)
        marked = [replace(self.steps[0], end=self.steps[-1].end)] if self.one_step else self.steps
        for number, step in enumerate(marked):
            job = f"fio/{step.name}"
            result: dict[str, Scalar] = {"block_bytes": step.block}
            if step.in_flight:  # A load that does not report how many it keeps reports no rate either.
                result |= {"rate_limited": step.rate_limited}
            result |= self.about
            out.entity("fio", "load", job, ids={"name": (job,)}, attributes=result)
            out.link("fio", "member_of", (("load", job), ("load", "fio")), "fio job")
            if "steps" not in self.leave_out:
                mark: dict[str, Scalar] = {"step": step.name, "group": number, "loads": job}
                mark |= {"offered": step.in_flight, "block_bytes": step.block, "rate_limited": step.rate_limited}
                out.event("fio", step.begin, "step-begin", **mark)
                if step is not marked[-1] or "last_end" not in self.leave_out:
                    out.event("fio", step.end, "step-end", **mark)
        for at in _every(self.others_every, 0.0, last):
            out.poll("fio", at)
            begun = {i: s for i, s in enumerate(self.steps) if s.begin <= at}
            jobs = {f"fio/{s.name}": self._job(s, at) for s in begun.values()}
            if self.one_step and jobs:
                jobs = {f"fio/{self.steps[0].name}": _summed(list(jobs.values()))}
            if jobs:
                out.samples("fio", LOAD, at, jobs, device_at=at + shift)
            if "disk" not in self.leave_out:
                out.samples("fio", LUN, at, {"sda": self._disk(at)}, device_at=at + shift)

    def _job(self, step: _Step, at: float) -> dict[str, Number]:
        values: dict[str, Number] = {
            "in_flight_configured": step.in_flight,
            "cpu_ratio": None if step.cpu is None else 100 * step.cpu,
            "latency_seconds_flush_total": round(1e9 * self.flushes_in_flight * (min(at, step.end) - step.begin)),
        }
        if self.metadata_in_flight:
            waited = self.metadata_in_flight * (min(at, step.end) - step.begin)
            values["latency_seconds_metadata_total"] = round(1e9 * waited)
        for direction in DIRECTIONS:
            flow = step.flows.get(direction, Flow(0, 0))
            ops = flow.ops * (min(at, step.end) - step.begin)
            values[f"ops_{direction}_total"] = round(ops)
            if self.counts_bytes:
                values[f"bytes_{direction}_total"] = round(ops * step.block)
            # Of a latency that rises evenly: l(t) = L (1 + drift (t / T - 1/2)), summed up until now.
            passed = (min(at, step.end) - step.begin) / (step.end - step.begin)
            risen = 1 + self.drift * (passed - 1) / 2
            values[f"latency_seconds_{direction}_total"] = round(ops * flow.latency * risen * 1e9)
            values[f"latency_seconds_p99_{direction}"] = self.p99_times * 1e9 * flow.latency if flow.ops else None
            if self.slowest_seconds is not None and flow.ops:
                values[f"latency_seconds_max_{direction}"] = 1e9 * self.slowest_seconds
        return values

    def _disk(self, at: float) -> dict[str, Number]:
        values: dict[str, Number] = {}
        for direction in DIRECTIONS:
            none = Flow(0, 0)
            done = [(s.disk.get(direction, none), s.begin, s.end) for s in self.steps]
            ops = [(flow.latency, flow.ops * _overlap(0, at, a, b)) for flow, a, b in done]
            values[f"ops_{direction}_total"] = round(sum(n for _, n in ops))
            values[f"latency_seconds_{direction}_total"] = round(sum(1e3 * latency * n for latency, n in ops))
        return values

    def _switch(self, out: RecordingBuilder, name: str, last: float) -> None:
        ports = [port for port in self.ports if port.on == name]
        out.source(name, "snmp_switch", PORTS, every=self.switch_every)
        out.entity(name, "switch", name, ids={"name": (name,)}, attributes={"make": self.make})
        for port in ports:
            about = {"technology": self.technology, **_capable(port.switch)}
            out.entity(name, "switch_port", port.name, port.name, {"name": (port.name,)}, about)
            end = ("switch_port", port.name)
            out.link(name, "member_of", (end, ("switch", name)), "ifTable")
            if self.array_hosts and port.host:
                out.entity(name, "hba", port.wwpn, ids={"wwpn": (port.wwpn,)})
            out.link(name, "logged_in", (("wwpn", port.wwpn), end), f'ifAlias "{port.device} {port.wwpn}"')
        if self.inter_switch_link:
            about = {"technology": self.technology}
            out.entity(name, "switch_port", "fc1/31", "fc1/31", {"name": ("fc1/31",)}, about)
            out.link(name, "member_of", (("switch_port", "fc1/31"), ("switch", name)), "ifTable")
            if any(f"{name}/fc1/31" in step.ports for step in self.steps):
                # sw1 is at the hosts: its port of the link takes in what is read, as the array's ports do.
                ports.append(Port("fc1/31", "", "", self.isl_speed, host="" if name == "sw1" else "sw1", on=name))
        for at in self._answered(name, _every(self.switch_every, 0.5, last)):
            out.poll(name, at)
            result = at if self.switch_cache is None else at // self.switch_cache * self.switch_cache
            out.samples(name, PORTS, at, {port.name: self._port(port, result) for port in ports})

    def _port(self, port: Port, at: float) -> dict[str, Number]:
        read, write = (
            sum(
                s.ports.get(f"{port.on}/{port.name}", s.ports.get(port.name, (0.0, 0.0)))[d]
                * _overlap(0, at, s.begin, s.end)
                for s in self.steps
            )
            for d in (0, 1)
        )
        # Data towards the host leaves its port (tx) and comes in at the array's (rx).
        rx, tx = (write, read) if port.host else (read, write)
        bits = next(column.bits or 64 for column in PORTS.columns if column.metric == "bytes_rx_total")
        values: dict[str, Number] = {"bytes_rx_total": round(rx) % 2**bits, "bytes_tx_total": round(tx) % 2**bits}
        values["link_speed_bits_per_second"] = None if port.speed is None else round(1000 * port.speed)
        values |= {"link_up": 1, "errors_rx_total": 0, "errors_tx_total": 0}
        if any(step.stalls for step in self.steps):
            stalled = [
                s.stalls.get(f"{port.on}/{port.name}", 0.0) * _overlap(0, at, s.begin, s.end) for s in self.steps
            ]
            values["credit_stall_seconds_tx_total"] = round(sum(stalled) / CREDIT_TICK_SECONDS)
        for metric in {name for step in self.steps for result in step.counted.values() for name in result}:
            parts = [
                s.counted.get(f"{port.on}/{port.name}", {}).get(metric, 0.0)
                * _overlap(0, at, s.begin, s.end)
                / (s.end - s.begin)
                for s in self.steps
            ]
            values[metric] = round(sum(parts))
        return values

    def _answered(self, name: str, times: Sequence[float]) -> list[float]:
        begin, end = self.unanswered.get(name, (inf, inf))
        return [at for at in times if not begin <= at <= end]

    def _array(self, out: RecordingBuilder, last: float) -> None:
        about_array: dict[str, Scalar] = {"cache_bytes": self.cache_bytes, "media": self.array_media}
        out.entity("fa1", "array", "fa1", ids={"name": ("fa1",)}, attributes=about_array)
        for port in self.ports:
            if not port.host:
                about = {"technology": self.technology, **_capable(port.capable)}
                out.entity("fa1", "array_port", port.device, ids={"wwpn": (port.wwpn,)}, attributes=about)
                out.link("fa1", "member_of", (("array_port", port.device), ("array", "fa1")), "ports")
        volumes = {"vol01": NAA} | ({"vol02": SECOND_NAA} if self.second_lun or self.twin else {})
        for name, naa in volumes.items():
            out.entity("fa1", "volume", name, ids={"naa": (naa,)}, attributes={"device_slots": self.device_slots})
            out.link("fa1", "member_of", (("volume", name), ("array", "fa1")), "volumes")
        for number, (volume, name) in enumerate(self.array_hosts.items()):
            wwpns = tuple(port.wwpn for port in self.ports if port.host and (port.host == "esx7") == (number == 0))
            out.entity("fa1", "host", name, ids={"name": (name,), "wwpn": wwpns})
            out.link("fa1", "presents", (("volume", volume), ("host", name)), "connections")
        shift, wait = self.clock.get("fa1", 0.0), 0.1 + self._delay.get("fa1", 0.0)
        for at in self._answered("fa1", _every(self.others_every, 0.0, last)):
            out.poll("fa1", at + wait)
            step = next((s for s in self.steps if s.begin <= at - 1 and at <= s.end), None)
            if "array_samples" not in self.leave_out:
                values = {"fa1": _performance(step, whole=True)}
                out.samples("fa1", ARRAY, at + wait, values, device_at=at + shift, covers=1.0)
                second = step if self.twin else None
                values = {"vol01": _performance(step, whole=False), "vol02": _performance(second, whole=False)}
                values = {name: {**values[name], "written_bytes": self.written_bytes} for name in volumes}
                out.samples("fa1", VOLUME, at + wait, values, device_at=at + shift, covers=1.0)
            if step is not None and step.pairs:
                counts: dict[str, dict[str, Number]] = {pair: {"ops_count": n} for pair, n in step.pairs.items()}
                out.samples("fa1", PATH, at + wait, counts, device_at=at + shift)


def _performance(step: _Step | None, whole: bool) -> dict[str, Number]:
    values: dict[str, Number] = {}
    for direction in DIRECTIONS:
        reported = step.array.get(direction) if step is not None else None
        flow = step.flows.get(direction, Flow(0, 0)) if step is not None else Flow(0, 0)
        ops = 0.0 if reported is None else flow.ops if reported.ops is None else reported.ops
        size = (
            0.0 if reported is None or step is None else ops * step.block if reported.size is None else reported.size
        )
        busy = 1 + reported.others / ops if reported is not None and whole else 1.0
        values[f"ops_per_second_{direction}"] = ops * busy
        values[f"bytes_per_second_{direction}"] = size * busy
        for name in ("service", "queue", "san", "qos_limit", "response"):
            seconds = getattr(reported, name.removesuffix("_limit"), None) if reported is not None else 0.0
            values[f"{name}_seconds_{direction}"] = None if seconds is None else seconds * 1e6
    return values


def _summed(periods: Sequence[Mapping[str, Number]]) -> dict[str, Number]:
    """The counters of a job over several periods, with the gauges of the last one."""
    last = dict(periods[-1])
    totals = [name for name in last if name.endswith("_total")]
    return last | {name: sum(period[name] or 0 for period in periods) for name in totals}


def _capable(gigabit: float | None) -> dict[str, Scalar]:
    return {} if gigabit is None else {"capable_bits_per_second": gigabit * 1e9}


def _overlap(first: float, last: float, begin: float, end: float) -> float:
    return max(0.0, min(last, end) - max(first, begin))


def _every(period: float, phase: float, last: float) -> list[float]:
    return [phase + period * n for n in range(int((last - phase) / period) + 1)]
