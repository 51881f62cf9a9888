"""Lines over time: they say in each interval what the step says as a whole, and nothing where nothing was told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.facts.chart_series import Line, Quantity, Series, series
from sanpath.facts.compute import compute
from sanpath.recording.reading.recording import Recording
from sanpath.topology.resolve import resolve
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, published, recorded


def series_of(recording: Recording) -> Series:
    return series(recording, resolve(recording.inventory()))


@pytest.fixture(scope="module")
def story() -> Series:
    return series_of(recorded("published"))


def within(story: Series, line: Line, step: str) -> list[float | None]:
    """The values of a line well inside of a step."""
    _, begin, end = next(s for s in story.steps if s[0] == step)
    return [v for m, v in zip(story.moments, line.values, strict=True) if begin + 2 <= m <= end - 2]


def only(story: Series, quantity: Quantity, entity: str) -> Line:
    found = [line for line in story.lines_of(quantity) if line.entity == entity]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(("step", "latency"), [("t16", 0.00256), ("t128", 0.02048), ("t800", 0.128)])
def test_the_load_is_drawn_as_it_was(story: Series, step: str, latency: float) -> None:
    assert within(story, only(story, "payload", "load"), step) == pytest.approx([409.6e6] * 7, rel=0.01)
    assert within(story, only(story, "load_latency", "load"), step) == pytest.approx([latency] * 7, rel=0.01)


def test_device_and_array_are_drawn_below_it(story: Series) -> None:
    assert within(story, only(story, "device_latency", "lun:sqlvm1/sda"), "t800") == pytest.approx([0.00512] * 7)
    assert within(story, only(story, "array_latency", "array:fa1"), "t800") == pytest.approx([0.00035] * 7)


def test_links_are_drawn_by_the_direction_that_is_busy(story: Series) -> None:
    used = story.lines_of("utilisation")
    assert {line.entity for line in used} == {"link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"}
    assert {line.direction for line in used} == {"read"}
    for line in used:
        assert within(story, line, "t512") == pytest.approx([0.9769] * 7, abs=0.001)


def test_hops_are_in_path_order_with_what_they_use(story: Series) -> None:
    """32 of 32 slots of the guest's queue from 32 outstanding I/Os on, and 97.7 % of both links at every load."""
    recording = recorded("published")
    path = ["load:fio", "vm:sqlvm1", "host:esx7", "link:esx7/vmhba2--sw1/fc1/7", "switch:sw1", "array:fa1"]
    found = series(recording, resolve(recording.inventory()), path=path)
    assert [(hop.entity, hop.measure, hop.direction) for hop in found.hops if hop.is_measured] == [
        ("load:fio", "cpu", None),
        ("lun:sqlvm1/sda", "queue", None),
        ("link:esx7/vmhba2--sw1/fc1/7", "data_rate", "read"),
    ]
    assert "vm:sqlvm1" not in [hop.entity for hop in found.hops], "it has no utilisation of its own"
    for hop in found.hops:
        if hop.is_measured:
            expected = {"cpu": 0.2, "queue": 1.0, "data_rate": 0.9769}[hop.measure]
            line = Line("utilisation", hop.entity, "read", hop.values)
            assert within(found, line, "t800") == pytest.approx([expected] * 7, abs=0.002)
    assert found.lines == story.lines


def test_the_processors_of_a_load_are_those_of_its_busiest_process(tmp_path: Path) -> None:
    """A job of each step reports them, and not the load that the configuration names."""
    san = San(tmp_path)
    for in_flight, cpu in ((1, 0.2), (2, 0.4)):
        san.step(f"q{in_flight}", in_flight, read=Flow(1000.0 * in_flight, 0.001), cpu=cpu)
    recording = san.write()
    (first, *_) = series(recording, resolve(recording.inventory()), path=["load:fio"]).hops
    assert max(value for value in first.values if value is not None) == pytest.approx(0.4, rel=0.05)


def test_the_processors_of_another_load_are_not_those_of_this_one(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path / "two")
    for load, cpu in (("fio", None), ("vdbench", 97)):
        out.source(load, "fio", LOAD)
        out.entity(load, "load", load, load)
        for at in range(20):
            out.poll(load, at)
            out.samples(load, LOAD, at, {load: {"cpu_ratio": cpu, "ops_read_total": 1000 * at}})
    recording = out.write()
    topology = resolve(recording.inventory())
    for load, is_measured in (("load:fio", False), ("load:vdbench", True)):
        assert [hop.is_measured for hop in series(recording, topology, path=[load]).hops] == [is_measured]


def test_nothing_is_said_where_nothing_was_told(story: Series) -> None:
    latency = only(story, "load_latency", "load")
    _, _, end = story.steps[0]
    _, begin, _ = story.steps[1]
    between = [v for m, v in zip(story.moments, latency.values, strict=True) if end + 1.5 < m < begin - 2]
    assert between
    assert set(between) == {None}


def test_a_clock_that_is_off_moves_no_line(tmp_path: Path) -> None:
    off = series_of(published(San(tmp_path / "off", clock={"fa1": 3600.0}), in_flight=(16, 128)).write())
    assert within(off, only(off, "array_latency", "volume:fa1/vol01"), "t128") == pytest.approx([0.00035] * 7)


def test_jobs_that_follow_each_other_are_not_added_up(tmp_path: Path) -> None:
    san = San(tmp_path / "r")
    for _ in range(3):
        published(san, in_flight=(16,))
    found = series_of(san.write())
    peak = max(v for v in only(found, "payload", "load").values if v is not None)
    assert peak == pytest.approx(409.6e6, rel=0.01)


def test_an_empty_recording_has_no_lines(tmp_path: Path) -> None:
    RecordingBuilder(tmp_path / "empty.sanpath").write(ended=False)
    found = series_of(Recording(tmp_path / "empty.sanpath"))
    assert found.lines == ()
    assert found.moments == ()


def test_a_counter_that_was_reset_leaves_a_gap_and_no_dip(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path / "r")
    out.source("fio", "fio", LOAD)
    done = {"old": lambda _: 1000, "new": lambda at: 100 * at if at < 10 else 100 * (at - 10)}
    for at in range(30):
        out.poll("fio", at)
        jobs = {
            job: {"ops_read_total": count(at), "bytes_read_total": 4096 * count(at)} for job, count in done.items()
        }
        out.samples("fio", LOAD, at, jobs)
    values = only(series_of(out.write()), "payload", "load").values
    assert None in values
    assert [v for v in values if v is not None] == pytest.approx([409600] * (len(values) - values.count(None)))


def test_a_link_with_a_wrong_speed_is_in_no_chart_as_in_no_table(tmp_path: Path) -> None:
    """A port counts ten times what its speed lets through. Over the entire recording, a long pause hides that."""
    san = San(tmp_path / "r")
    san.step("t16", 16, read=Flow(X, 16 / X), ports={"fc1/7": (10 * COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)})
    san.step("t1", 1, read=Flow(1.0, 0.001), seconds=200)
    recording = san.write()
    links = compute(recording).tables["link"].select(step="t16", direction="read")
    assert [row["entity"] for row in links if row["utilisation"] is None] == ["link:esx7/vmhba2--sw1/fc1/7"]
    assert {line.entity for line in series_of(recording).lines_of("utilisation")} == {"link:sw1/fc1/1--fa1/CT0.FC0"}


@pytest.mark.parametrize("end", ["sw1/fc1/31", "sw2/fc1/31"])
def test_a_link_between_switches_is_drawn_by_the_end_that_is_read(tmp_path: Path, end: str) -> None:
    san = San(tmp_path / "r", ports=(HOST_PORT, replace(ARRAY_PORT, on="sw2")), inter_switch_link=True)
    san.step("t16", 16, read=Flow(X, 16 / X), ports={"fc1/7": (COUNTED, NOTHING), end: (COUNTED, NOTHING)})
    recording = san.write()
    isl = "link:sw1/fc1/31--sw2/fc1/31"
    (row,) = compute(recording).tables["link"].select(entity=isl, direction="read")
    found = series_of(recording)
    drawn = within(found, only(found, "utilisation", isl), "t16")
    assert drawn == pytest.approx([row["utilisation"]] * len(drawn), rel=0.01)
