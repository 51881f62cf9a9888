"""Which part of an array limits: its controllers, its media, or the QoS limit of a volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.compute import compute
from sanpath.model import Column, Scalar, Table
from sanpath.verdict.places.set_limits import configured_limits
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, NAA, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

IOPS = 3333.0
LIMIT = 200e6
"""Bytes a second: 64 KiB reads at 3,052 IOPS, 202.8 MB/s counted, 11.9 % of the 1,700 of a 16GFC link."""


class LimitedSan(San):
    """Its array tells the QoS limits of the volume and of the host."""

    limits: Mapping[str, Scalar]
    of_host: Mapping[str, Scalar]
    more_links: Sequence[str] = ()

    def _array(self, out: RecordingBuilder, last: float) -> None:
        super()._array(out, last)
        for link in self.more_links:
            out.configure_link(link)
        out.entity("fa1", "volume", "vol01", ids={"naa": (NAA,)}, attributes=self.limits)
        out.entity("fa1", "host", "esx7", ids={"wwpn": (HOST_PORT.wwpn,)}, attributes=self.of_host)


def loaded(folder: Path, steps: Sequence[tuple[int, float, float, float]]) -> Diagnosis:
    """8 KiB reads; a step is I/Os in flight, IOPS, service and queue time of the array in seconds."""
    san = San(folder)
    san.ports = [fast(port) for port in san.ports]
    for n, ops, service, queue in steps:
        flow, counted = Flow(ops, n / ops), ops * (4 * 2076 + 52)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=flow,
            ports={port.name: (counted, NOTHING) for port in san.ports},
            disk={"read": flow},
            array={"read": AtArray(service, san=2e-5, queue=queue)},
        )
    return judged(san.write())


def capped(
    folder: Path,
    limits: Mapping[str, Scalar],
    ops: float = LIMIT / (64 * KIB),
    of_host: Mapping[str, Scalar] = MappingProxyType({}),
    as_queue: bool = False,
) -> Diagnosis:
    """64 KiB reads that wait for a QoS limit: 16 / 3,052 = 5.24 ms, 64 / 3,052 = 21.0 ms, 0.39 of them not for it.

    `as_queue`: the array counts that wait as its own queue."""
    san = LimitedSan(folder)
    san.limits, san.of_host = limits, of_host
    san.ports = [fast(port) for port in san.ports]
    for n in (16, 64):
        flow = Flow(ops, n / ops)
        san.step(
            f"q{n}",
            n,
            read=flow,
            ports={port.name: (ops * 32 * 2076, NOTHING) for port in san.ports},
            disk={"read": flow},
            array={
                "read": AtArray(0.00035, san=4e-5, queue=n / ops - 0.00039)
                if as_queue
                else AtArray(0.00035, san=4e-5, qos=n / ops - 0.00039)
            },
        )
    return judged(san.write())


def test_waiting_for_an_array_that_serves_as_fast_as_ever_is_waiting_for_its_controllers(tmp_path: Path) -> None:
    """64 / 3,333 = 19.2 ms, 18.5 of them waiting to be served for 0.64, which is what 2 in flight took."""
    steps = ((2, 2900.0, 6.4e-4, 3e-5), (16, IOPS, 6.4e-4, 4.1e-3), (64, IOPS, 6.4e-4, 1.85e-2))
    verdict = loaded(tmp_path, steps).verdict
    (bottleneck,) = verdict.bottlenecks
    assert (verdict.kind, bottleneck.entity, bottleneck.layer) == ("bottleneck", "array:fa1", "array_front")
    assert "I/Os wait 18.5 ms in the array to be served for 0.64 ms" in bottleneck.because
    assert "the array serves an I/O as fast as at the other loads" in bottleneck.because


@pytest.mark.parametrize(
    ("service", "queue"),
    [
        pytest.param(1.9e-2, 1e-4, id="service alone has grown"),
        pytest.param(5e-3, 1.4e-2, id="service has grown as well as the queue"),
        pytest.param(9e-3, 1e-2, id="they are about as long"),
    ],
)
def test_an_array_that_serves_more_slowly_than_before_is_limited_behind_its_controllers(
    tmp_path: Path, service: float, queue: float
) -> None:
    """64 / 3,333 = 19.2 ms, of which more than the 0.64 of a small load are service."""
    steps = ((2, 2900.0, 6.4e-4, 0.0), (16, IOPS, 6.4e-4, 4.1e-3), (64, IOPS, service, queue))
    verdict = loaded(tmp_path, steps).verdict
    (bottleneck,) = verdict.bottlenecks
    assert (verdict.kind, verdict.from_step) == ("bottleneck", "q64")
    assert (bottleneck.entity, bottleneck.layer) == ("array:fa1", "array_back")


@pytest.mark.parametrize(
    ("limits", "reported"),
    [
        ({"qos_bytes_per_second": LIMIT}, "200.0 MB/s"),
        ({"qos_bytes_per_second": 10 * LIMIT, "qos_ops_per_second": 3050.0}, "3,050 IOPS"),
    ],
)
def test_the_volume_that_stands_at_its_limit_is_named_with_it(
    tmp_path: Path, limits: Mapping[str, Scalar], reported: str
) -> None:
    found = capped(tmp_path, limits)
    (cap,) = found.verdict.bottlenecks
    assert (found.verdict.kind, cap.entity, cap.kind) == ("configured_cap", "volume:fa1/vol01", "volume")
    assert cap.layer == "array_front"
    assert f"in volume:fa1/vol01 because its QoS limit of {reported} is reached there" in found.verdict.headline
    assert found.summary.verdict == f"QoS limit of volume fa1 vol01 is reached ({reported})"
    causes = {f.rule for f in found.findings if f.outcome == "hit" and f.role == "cause"}
    assert "configured-cap" in causes
    assert not any(c.entity.startswith(("array:", "volume:")) for c in found.cleared)


@pytest.mark.parametrize(
    ("of_volume", "of_host", "reported"),
    [
        ({"volume_group": "vg3", "group_qos_bytes_per_second": LIMIT}, {}, "200.0 MB/s of its volume group vg3"),
        ({}, {"qos_ops_per_second": 3050.0}, "3,050 IOPS of the host esx7"),
    ],
)
def test_a_limit_of_the_group_or_of_the_host_is_named(
    tmp_path: Path, of_volume: Mapping[str, Scalar], of_host: Mapping[str, Scalar], reported: str
) -> None:
    found = capped(tmp_path, of_volume, of_host=of_host)
    (cap,) = found.verdict.bottlenecks
    assert (found.verdict.kind, cap.entity) == ("configured_cap", "volume:fa1/vol01")
    assert f"in volume:fa1/vol01 because the QoS limit of {reported} is reached there" in found.verdict.headline
    assert found.summary.verdict == "QoS limit of volume fa1 vol01 is reached: 200.0 MB/s, 3,052 IOPS"


@pytest.mark.parametrize(("machine", "is_limited"), [("vm:sqlvm1", True), ("host:esx8", False)])
def test_loads_on_one_host_share_its_limit(tmp_path: Path, machine: str, is_limited: bool) -> None:
    san = LimitedSan(tmp_path)
    san.limits, san.of_host = {}, {"qos_ops_per_second": 3050.0}
    san.more_links = (f"load:second runs_on {machine}",)
    flow = Flow(3050.0, 16 / 3050)
    san.step("q16", 16, read=flow, disk={"read": flow}, array={"read": AtArray(0.00035)})
    facts = compute(san.write())
    load = next(load for load in facts.loads if load.step == "q16" and load.direction == "read")
    limits = list(configured_limits(facts, replace(load, roots=(*load.roots, "load:second"))))
    assert [limit.words for limit in limits] == ["the QoS limit of 3,050 IOPS of the host esx7"] * is_limited


@pytest.mark.parametrize("limits", [{}, {"qos_bytes_per_second": 2 * LIMIT}], ids=["not told", "far above"])
def test_a_wait_for_a_limit_that_is_not_the_volumes_is_a_wait_in_the_array(
    tmp_path: Path, limits: Mapping[str, Scalar]
) -> None:
    """Its group or its host may have one."""
    (cap,) = capped(tmp_path, limits).verdict.bottlenecks
    assert (cap.entity, cap.layer) == ("array:fa1", "array_front")


def test_a_limit_that_the_array_counts_as_its_queue_is_named_all_the_same(tmp_path: Path) -> None:
    """Throughput stands at the limit to the per mille, however many I/Os are in flight."""
    found = capped(tmp_path, {"qos_bytes_per_second": LIMIT}, as_queue=True)
    (cap,) = found.verdict.bottlenecks
    assert (found.verdict.kind, cap.entity) == ("configured_cap", "volume:fa1/vol01")


@pytest.mark.parametrize(("limit", "suspected"), [(3700.0, True), (30_000.0, False)])
def test_a_limit_that_may_be_reached_in_bursts_is_a_suspect(tmp_path: Path, limit: float, suspected: bool) -> None:
    """Six I/Os bring 3,000 IOPS, and the array takes longer with each more; it does not tell why. A limit of 3,700 is
    used to 81 %, as the mean of bursts that reach it; one of 30,000 holds nothing back."""
    san = LimitedSan(tmp_path)
    san.limits, san.of_host = {"qos_ops_per_second": limit}, {}
    san.ports = [fast(HOST_PORT)]
    for n, ops in ((2, 1800.0), (3, 2400.0), (6, 3000.0)):
        flow = Flow(ops, n / ops)
        in_array = {"read": AtArray(n / ops - 2e-4, queue=None)}
        san.step(
            f"q{n}", n, read=flow, disk={"read": flow}, ports={HOST_PORT.name: (ops * 66432, NOTHING)}, array=in_array
        )
    suspects = judged(san.write()).verdict.suspects
    assert any(s.verdict == "configured_cap" and s.probability > 0.05 for s in suspects) == suspected


@pytest.mark.parametrize("as_queue", [False, True])
@pytest.mark.parametrize("room", [1.01, 1.08, 1.5])
def test_a_limit_with_room_hides_no_limit_that_is_reached(tmp_path: Path, room: float, as_queue: bool) -> None:
    """Knowing more limits changes no verdict, however close they are."""
    of_volume = {"qos_bytes_per_second": LIMIT, "qos_ops_per_second": room * LIMIT / (64 * KIB)}
    of_host = {"qos_bytes_per_second": room * LIMIT}
    (cap,) = capped(tmp_path / "both", of_volume, of_host=of_host, as_queue=as_queue).verdict.bottlenecks
    (alone,) = capped(tmp_path / "one", {"qos_bytes_per_second": LIMIT}, as_queue=as_queue).verdict.bottlenecks
    assert (cap.entity, cap.kind, cap.because) == (alone.entity, alone.kind, alone.because)


def test_a_queue_of_the_array_below_a_limit_is_the_arrays_own(tmp_path: Path) -> None:
    found = capped(tmp_path, {"qos_bytes_per_second": 1.3 * LIMIT}, as_queue=True)
    (bottleneck,) = found.verdict.bottlenecks
    assert (found.verdict.kind, bottleneck.entity) == ("bottleneck", "array:fa1")


class WatchedSan(San):
    """`busy`: how busy the array reports a part of it to be, whatever its load. `at_first`: the same in the mean of
    the first 10 s, of which the load runs in the second half; such means are all that it reports. None: it reports
    every second."""

    busy: Mapping[str, float]
    at_first: Mapping[str, float] | None = None

    def _configuration(self, out: RecordingBuilder) -> None:
        super()._configuration(out)
        table = Table("controller", tuple(Column(metric) for metric in self.busy))
        out.source("stats", "prometheus", table)
        out.entity("stats", "controller", "1")
        out.link("stats", "member_of", (("controller", "1"), ("array", "fa1")))
        seconds = 1 if self.at_first is None else 10
        for end in range(0 if self.at_first is None else seconds, int(self.steps[-1].end), seconds):
            busy = self.busy if self.at_first is None or end > seconds else self.at_first
            out.samples("stats", table, end, {"1": dict(busy)}, covers=None if self.at_first is None else seconds)


@pytest.mark.parametrize("metric", ["media_busy_ratio", "cpu_busy_ratio"])
def test_a_part_of_the_array_that_is_as_busy_with_few_ios_does_not_limit(tmp_path: Path, metric: str) -> None:
    """Drives that are called busy while a request is inside are so with 8 I/Os and with 32, which bring four times as
    many. The guest's disk has 32 slots; below it each I/O takes 0.5 ms."""
    san = WatchedSan(tmp_path, ports=[fast(port, 32) for port in San(tmp_path / "other").ports])
    san.busy = {metric: 1.0}
    for n, ops in ((8, 16_000.0), (64, 64_000.0), (128, 64_000.0), (512, 64_000.0)):
        counted = {port.name: (ops * (4 * 2076 + 52), NOTHING) for port in san.ports}
        below = {"read": Flow(ops, 0.0005)}
        array = {"read": AtArray(0.0004, san=0.00005)}
        san.step(f"q{n}", n, block=8 * KIB, read=Flow(ops, n / ops), ports=counted, disk=below, array=array)
    verdict = judged(san.write()).verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == ["lun:sqlvm1/sda"]


@pytest.mark.parametrize(
    ("at_first", "limit"),
    [(1.0, "lun:sqlvm1/sda"), (0.5, "array:fa1")],
    ids=["they are full without it", "they are not"],
)
def test_a_mean_that_spans_the_begin_of_the_load_tells_whether_it_fills_the_controllers(
    tmp_path: Path, at_first: float, limit: str
) -> None:
    """Full controllers, and 32 of 32 slots of the guest's disk in use, in a single step: 32 / 64,000 = 0.5 ms below
    them. The load runs in 5 of the 10 s of the first mean."""
    san = WatchedSan(tmp_path, ports=[fast(port, 32) for port in San(tmp_path / "other").ports])
    san.busy, san.at_first = {"cpu_busy_ratio": 1.0}, {"cpu_busy_ratio": at_first}
    ops = 64_000.0
    counted = {port.name: (ops * (4 * 2076 + 52), NOTHING) for port in san.ports}
    array, below = {"read": AtArray(0.0004, san=0.00005)}, {"read": Flow(ops, 0.0005)}
    flow = Flow(ops, 128 / ops)
    san.step("q128", 128, block=8 * KIB, read=flow, ports=counted, disk=below, array=array, seconds=60)
    assert judged(san.write()).verdict.suspects[0].entity == limit


@pytest.mark.parametrize(("held", "is_part"), [(1.0, False), (0.12, True)])
def test_a_limit_of_one_volume_of_several_holds_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: float, is_part: bool
) -> None:
    """On average an I/O waits 9.2 ms for a limit of IOPS, and 11 ms for the full link of the array. If a tenth of
    them wait for the limit, they do so for 77 ms, and the others for the link alone."""
    monkeypatch.setattr("sanpath.verdict.places.segments.limited_ratio", lambda *_: held)
    monkeypatch.setattr("sanpath.verdict.hypotheses.array_limits.limited_ratio", lambda *_: held)
    san = LimitedSan(tmp_path)
    san.limits, san.of_host = {"qos_ops_per_second": 6300.0}, {}
    san.ports = [fast(HOST_PORT), ARRAY_PORT]
    for n in (64, 128):
        flow, counted = Flow(6300.0, n / 6300.0), (6300.0 * 32 * 2076, NOTHING)
        at_array = AtArray(0.00035, san=n / 6300.0 * 0.53, qos=n / 6300.0 * 0.44)
        san.step(
            f"q{n}",
            n,
            read=flow,
            ports={port.name: counted for port in san.ports},
            disk={"read": flow},
            array={"read": at_array},
        )
    suspects = {suspect.kind: suspect.probability for suspect in judged(san.write()).verdict.suspects}
    assert (suspects["volume"] < 0.9) is is_part
    assert (suspects.get("link", 0.0) > 0.1) is is_part
