"""A block device that answers nothing: a path is gone, or the storage behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.inputs import _loaded_us
from sanpath.facts.load.tested_devices import devices_under_test
from sanpath.facts.samples.stalled_devices import DeviceStall, with_stalled_ios
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.time.placement import PlacedInTime
from sanpath.model import DIRECTIONS, Column, Entity, Event, Link, Table
from sanpath.topology.topology import Topology
from sanpath_collectors.fio.tables import LOAD as FIO_LOAD
from tests.scenarios.test_without_a_generator import LUN
from tests.support.recording import RecordingBuilder

BUSY = replace(LUN, columns=(*LUN.columns, Column("busy_seconds_total", 64, 1e-3)))
GAUGE = replace(BUSY, columns=(*BUSY.columns, Column("in_flight", 64, 1.0)))
DEPTH, OPS = 8, 500


def recorded(
    folder: Path,
    answers_until: int,
    answers_again: int,
    outstanding: int = DEPTH,
    devices: Table = GAUGE,
    idle: Sequence[int] = (0,),
) -> Diagnosis:
    """A host whose multipath map does reads, eight at a time, but for some seconds of thirty.

    `devices`: whether the number of outstanding I/Os is read, or only the time with any. `idle`: seconds without any.
    """
    out = RecordingBuilder(folder / "r.sanpath")
    out.source("db1", "linux_host", devices)
    out.entity("db1", "host", "db1", ids={"name": ("db1",)})
    out.entity("db1", "lun", "dm-0", "db1/dm-0", {"device": ("dm-0",)})
    out.link("db1", "attached_to", (("lun", "dm-0"), ("host", "db1")))
    busy = 0
    for second in range(31):
        out.poll("db1", second)
        silent = max(0, min(second, answers_again) - answers_until)
        done = OPS * (second - silent)
        waited = 1000 * DEPTH * (second if second >= answers_again else second - silent)
        counters = {"ops_read_total": done, "bytes_read_total": 4096 * done, "latency_seconds_read_total": waited}
        writes = {name.replace("read", "write"): 0 for name in counters}
        gauge = {"in_flight": 0 if second in idle else outstanding} if devices == GAUGE else {}
        sample = {**counters, **writes, **gauge, "busy_seconds_total": busy}
        out.samples("db1", devices, second, {"dm-0": sample})
        busy += 0 if second in idle else 1000 * min(1, outstanding)
    return diagnose(out.write())


@pytest.mark.parametrize(("devices", "outstanding"), [(GAUGE, "8 I/Os"), (BUSY, "I/Os are")])
def test_a_device_that_answers_nothing_is_the_headline_if_nothing_else_is_known(
    tmp_path: Path, devices: Table, outstanding: str
) -> None:
    found = recorded(tmp_path, 0, 31, devices=devices)
    seconds = 29
    assert found.summary.verdict == "Device db1/dm-0 answers no I/O"
    assert (
        found.summary.consequence
        == f"{outstanding} outstanding, none completed in {seconds} s: nothing can be judged"
    )
    assert found.summary.action == "Find out why the device does not answer"


@pytest.mark.parametrize(("until", "again"), [(10, 22), (10, 31)])
@pytest.mark.parametrize("devices", [GAUGE, BUSY])
def test_a_device_that_answered_nothing_for_a_while_is_on_the_first_screen(
    tmp_path: Path, until: int, again: int, devices: Table
) -> None:
    found = recorded(tmp_path, until, again, devices=devices)
    length = min(again, 30) - until
    words = f"Device db1/dm-0 completed no I/O for {length} s, with some outstanding all the time."
    assert words in (found.summary.consequence or "")
    (hit,) = [f for f in found.findings if f.rule == "device-answers-nothing" and f.outcome == "hit"]
    assert hit.evidence["unanswered_seconds"] == pytest.approx(length)


@pytest.mark.parametrize(("again", "outstanding"), [(13, DEPTH), (22, 0)], ids=["a short time", "an idle device"])
@pytest.mark.parametrize("devices", [GAUGE, BUSY])
def test_neither_a_short_time_nor_an_idle_device_is_without_an_answer(
    tmp_path: Path, again: int, outstanding: int, devices: Table
) -> None:
    found = recorded(tmp_path, 10, again, outstanding, devices)
    assert "device-answers-nothing" not in {f.rule for f in found.findings if f.outcome == "hit"}


def test_an_idle_device_beside_the_tested_one_is_none_of_the_tests(tmp_path: Path) -> None:
    """fio names the device that it tests; another one of its host answers nothing."""
    out = RecordingBuilder(tmp_path / "r.sanpath")
    out.source("db1", "linux_host", GAUGE)
    out.entity("db1", "host", "db1", ids={"name": ("db1",)})
    for device in ("sda", "sdb"):
        out.entity("db1", "lun", device, f"db1/{device}", {"device": (device,)})
        out.link("db1", "attached_to", (("lun", device), ("host", "db1")))
    out.source("fio", "fio", FIO_LOAD)
    out.entity("fio", "load", "fio", "fio")
    out.configure_link("load:fio runs_on host:db1")
    out.configure_link("load:fio targets lun:db1/sda")
    idle = {f"{what}_{d}_total": 0 for what in ("ops", "bytes", "latency_seconds") for d in DIRECTIONS}
    for second in range(31):
        out.poll("db1", second)
        waiting = {**idle, "in_flight": min(second, 2), "busy_seconds_total": 1000 * second}
        answering = {**idle, "in_flight": 0, "busy_seconds_total": 0}
        out.samples("db1", GAUGE, second, {"sda": answering, "sdb": waiting})
    found = diagnose(out.write())
    assert "device-answers-nothing" not in {f.rule for f in found.findings if f.outcome == "hit"}
    assert "answers no I/O" not in found.summary.verdict


@pytest.mark.parametrize("devices", [GAUGE, BUSY])
def test_a_number_that_never_falls_may_be_a_kernels_that_lost_count(tmp_path: Path, devices: Table) -> None:
    """A device of nobody's test has had the same I/Os outstanding since it was last used, and completes none."""
    found = recorded(tmp_path, 0, 31, devices=devices, idle=())
    assert "device-answers-nothing" not in {f.rule for f in found.findings if f.outcome == "hit"}
    assert "answers no I/O" not in found.summary.verdict


@pytest.mark.parametrize(
    ("last", "latency_seconds"),
    [(0.0, 8 * 10 / 5000), (8 * 5.0, 8 * 10 / 5000)],
    ids=["they are still outstanding", "they were completed in the last second"],
)
def test_a_device_has_the_time_of_its_unanswered_ios_once(last: float, latency_seconds: float) -> None:
    """Ten seconds with eight I/Os outstanding: 1,000 a second complete in the first five, none in the next four."""
    ops = [1000.0] * 5 + [0.0] * 5
    waits = [8.0] * 5 + [0.0] * 4 + [last]
    ends = [1_000_000 * second for second in range(1, 11)]
    times = [DeviceStall("db1", "lun:db1/dm-0", 5_000_000, 10_000_000, 8.0)]
    sample = StepSamples("fio", "/dev/dm-0", "", seconds=[1.0] * 10, ended_us=ends)
    sample.rates |= {"ops_read_total": ops, "latency_seconds_read_total": waits}
    known_as = {("db1", "lun", "dm-0"): "lun:db1/dm-0", ("fio", "lun", "/dev/dm-0"): "lun:db1/dm-0"}
    (found,) = with_stalled_ios([sample], times, known_as)
    rates = [found.rate(f"{what}_read_total") or 0.0 for what in ("latency_seconds", "ops")]
    assert rates[0] / rates[1] == pytest.approx(latency_seconds)


def test_what_is_above_a_device_below_the_tested_one_is_somebody_elses() -> None:
    """The tested volume lv1 and lv2 of others are both on sda; lv2 is on sdb as well."""
    topology = Topology(known_as={("db1", "lun", name): f"lun:db1/{name}" for name in ("lv1", "lv2", "sda", "sdb")})
    for entity in ("load:fio", *topology.known_as.values()):
        topology.entities[entity] = Entity(entity, entity.partition(":")[0], entity, {}, {}, ())
    topology.add_link(Link("targets", "load:fio", "lun:db1/lv1", ()))
    for part, whole in (("sda", "lv1"), ("sda", "lv2"), ("sdb", "lv2")):
        topology.add_link(Link("member_of", f"lun:db1/{part}", f"lun:db1/{whole}", ()))
    assert {own_id for _, _, own_id in devices_under_test(topology)} == {"lv1", "sda"}


@pytest.mark.parametrize(
    ("marks", "until"),
    [
        ([(2, "load-started"), (8, "load-ended")], 8),
        ([(1, "load-started"), (2, "load-started"), (8, "load-ended")], inf),
        ([(2, "step-begin")], inf),
    ],
    ids=["it has ended", "another one has not", "its end is not known"],
)
def test_a_load_runs_until_all_have_ended(marks: Sequence[tuple[int, str]], until: float) -> None:
    events = [("fio", Event(seen, name)) for seen, name in marks]
    assert _loaded_us(PlacedInTime(events, {}, None))[1] == until
