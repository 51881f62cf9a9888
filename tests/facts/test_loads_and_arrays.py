"""Facts of loads, block devices, arrays, and of the two ends together."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from sanpath.catalogue.catalogue import facts as catalogue
from sanpath.diagnose import diagnose
from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.facts.load.access import Access, access_of
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.arrays import _set_limits
from sanpath.facts.table import FactRow, number
from sanpath.model import Direction, Entity, Scalar, StepLoad
from sanpath.topology.topology import Topology
from sanpath.verdict.places.scaling import throughput_in_words
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import STORIES, computed, fast


def load(in_flight: float, ops: float, size: float, direction: Direction = "read") -> LoadFacts:
    return LoadFacts(("load:fio",), "s", direction, 9, ops, ops * size, in_flight / ops, None, in_flight, None)


RANDOM, SEQUENTIAL = Access(random_ratio=1.0, read_ratio=1.0), Access(random_ratio=0.0, read_ratio=1.0)


def in_step(step: str, load: LoadFacts, access: Access) -> LoadFacts:
    return replace(load, step=step, access=access)


@pytest.mark.parametrize("sizes", [(8192, 65536), (65536, 8192)])
@pytest.mark.parametrize("same", ["ops", "bytes"])
def test_sizes_are_compared_only_where_the_data_are_accessed_alike(sizes: tuple[int, int], same: str) -> None:
    """Of what differs in two ways, neither is the reason."""
    rates = [26_000.0, 26_000.0 if same == "ops" else 26_000.0 * sizes[0] / sizes[1]]
    own, other = (load(512, rate, size) for rate, size in zip(rates, sizes, strict=True))
    for access, is_reported in ((RANDOM, True), (SEQUENTIAL, False), (Access(), False)):
        loads = [in_step("a", own, RANDOM), in_step("b", other, access)]
        assert any("with blocks of" in words for words in throughput_in_words(loads, loads[0])) == is_reported
    # Whatever else was done with these sizes changes nothing, in any order.
    others = [in_step("b", other, RANDOM), in_step("c", other, SEQUENTIAL), in_step("d", load(512, 9e4, 512), RANDOM)]
    loads = [in_step("a", own, RANDOM), others[0]]
    said = list(throughput_in_words(loads, loads[0]))
    for order in permutations(others):
        assert list(throughput_in_words([loads[0], *order], loads[0])) == said


@pytest.mark.parametrize("in_entity", [{}, {"random_ratio": 0.5}])
def test_a_load_does_in_a_step_what_the_step_says(in_entity: dict[str, Scalar]) -> None:
    """What differs from step to step is no attribute of the load, which has what is equal in all of them."""
    topology = Topology(entities={"load:l": Entity("load:l", "load", "l", {}, in_entity, ())})
    steps = [StepLoad("s", random_ratio=ratio, read_ratio=1.0) for ratio in (0.0, 1.0)]
    sequential, random = (access_of(topology, [("load:l", step)]) for step in steps)
    assert (sequential, random) == (SEQUENTIAL, RANDOM)
    assert access_of(topology, [("load:l", None)]).random_ratio == in_entity.get("random_ratio")
    assert not load(8, 300, 8192).comparable(replace(load(8, 300, 8192), access=random))


@pytest.mark.parametrize("times", [0.5, 1.0, 2.0, 9.0, 11.0, 1e3, 1e6])
def test_figures_that_contradict_each_other_are_compared_with_nothing(times: float) -> None:
    sound = replace(load(8, 2000, 8192), in_flight_configured=8)
    other = replace(load(8 * times, 2000 * times, 8192), in_flight_configured=8)
    assert sound.comparable(other) == other.comparable(sound) == (times < 10)
    assert other.comparable(other)


def load_in(facts: Facts, step: str, direction: str) -> LoadFacts | None:
    return next((load for load in facts.loads if (load.step, load.direction) == (step, direction)), None)


def test_throughput_latency_and_in_flight_obey_littles_law() -> None:
    last = load_in(computed("published"), "t800", "read")
    assert last is not None
    assert last.ops_per_second == pytest.approx(6250, rel=1e-4)
    assert last.bytes_per_second == pytest.approx(409.6e6, rel=1e-4)
    assert last.latency_seconds == pytest.approx(0.128, rel=1e-4)
    assert last.in_flight_measured == pytest.approx(800, rel=1e-4)
    assert last.in_flight_configured == 800
    assert last.operation_bytes == pytest.approx(65536, rel=1e-4)
    assert last.p99_seconds == pytest.approx(0.256)
    assert last.p50_seconds is None


def test_a_direction_without_io_has_no_facts() -> None:
    assert load_in(computed("published"), "t800", "write") is None


def test_only_the_same_kind_of_io_is_compared() -> None:
    assert load(16, 6250, 65536).comparable(load(128, 6250, 65600))
    assert not load(16, 6250, 65536).comparable(load(128, 6250, 8192))
    assert not load(16, 6250, 65536).comparable(load(128, 6250, 65536, "write"))
    assert load(16, 6250, 0).comparable(load(128, 6250, 0))
    assert load(16, 6250, 0).operation_bytes is None


@pytest.mark.parametrize(
    ("one", "other", "is_like"),
    [
        (Access(random_ratio=1.0), Access(random_ratio=0.0), False),
        (Access(random_ratio=1.0), Access(), False),
        (Access(working_set_bytes=1e9), Access(), True),
        (Access(align_bytes=512), Access(align_bytes=4096), False),
        (Access(read_ratio=1.0), Access(read_ratio=0.7), False),
        (Access(working_set_bytes=2**30), Access(working_set_bytes=2**40), False),
        (
            Access(working_set_bytes=1e9, threads=1),
            Access(working_set_bytes=4e9, threads=4),
            True,
        ),
        (
            Access(working_set_bytes=1e9, in_flight=1),
            Access(working_set_bytes=4e9, in_flight=4),
            True,
        ),
        (Access(files=1, threads=8), Access(files=4, threads=8), False),
        (Access(files=1, threads=8, in_flight=8), Access(files=4, threads=8), False),
    ],
    ids=[
        "random and sequential",
        "unknown of one",
        "a working set that is unknown of one",
        "aligned and not",
        "reads of a mix",
        "another working set",
        "each thread has its own",
        "each I/O has its own",
        "over more targets",
        "over more targets, I/Os unknown",
    ],
)
def test_more_of_a_load_is_that_which_accesses_its_data_alike(one: Access, other: Access, is_like: bool) -> None:
    """A hot working set in a cache is another load than all of a LUN, however many I/Os are outstanding."""
    small, large = (replace(load(n, 6250, 65536), access=each) for n, each in ((16, one), (128, other)))
    assert small.comparable(large) == large.comparable(small) == is_like


def test_jobs_of_a_step_are_added_and_its_percentiles_left_out(tmp_path: Path) -> None:
    """100 IOPS at 1 ms and 300 at 3 ms: 400 IOPS, mean (0.1 + 0.9) / 400 = 2.5 ms."""
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    mark: dict[str, Scalar] = {"step": "a+b", "group": 0, "loads": "fio/a,fio/b", "offered": 2}
    out.event("fio", 0, "step-begin", **mark)
    out.event("fio", 20, "step-end", **mark)
    for at in range(21):
        values: dict[str, dict[str, Number]] = {}
        for job, ops, latency in (("fio/a", 100, 0.001), ("fio/b", 300, 0.003), ("fio/other", 999, 0.001)):
            waited = round(ops * at * latency * 1e9)
            values[job] = {"ops_read_total": ops * at, "latency_seconds_read_total": waited}
            values[job] |= {"bytes_read_total": 4096 * ops * at, "latency_seconds_p99_read": 1e6}
        out.samples("fio", LOAD, at, values)
    found = load_in(compute(out.write()), "a+b", "read")
    assert found is not None
    assert found.ops_per_second == pytest.approx(400)
    assert found.latency_seconds == pytest.approx(0.0025)
    assert found.in_flight_measured == pytest.approx(1.0)
    assert found.p99_seconds is None
    # 99 of 100 take 1 ms at most: 0.396 of the 1.0 s that all take in a second.
    assert found.tail_shares == (pytest.approx((0.01, 0.604), abs=1e-4),)


@pytest.mark.parametrize(("second_begins_at", "configured"), [(0, 5), (10, None)])
def test_what_jobs_may_keep_outstanding_is_added_if_they_run_together(
    tmp_path: Path, second_begins_at: int, configured: float | None
) -> None:
    """1 and 4 I/Os; jobs of which the second begins when the first ends never have 5 outstanding."""
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    out.event("fio", 0, "step-begin", step="a+b", group=0, loads="fio/a,fio/b")
    out.event("fio", 20, "step-end", step="a+b", group=0, loads="fio/a,fio/b")
    for at in range(21):
        of_first = min(at, second_begins_at) if second_begins_at else at
        of_second = max(0, at - second_begins_at)
        values: dict[str, dict[str, Number]] = {}
        for job, may_have, active in (("fio/a", 1, of_first), ("fio/b", 4, of_second)):
            values[job] = {"ops_read_total": 100 * active, "latency_seconds_read_total": 10**8 * active}
            values[job] |= {"bytes_read_total": 409600 * active, "in_flight_configured": may_have}
        out.samples("fio", LOAD, at, values)
    found = load_in(compute(out.write()), "a+b", "read")
    assert found is not None
    assert found.in_flight_configured == configured


def test_a_job_that_ends_before_the_others_keeps_nothing_outstanding_from_then_on(tmp_path: Path) -> None:
    """4 + 12 I/Os, each job in a closed loop. Of the step's last 18 s the second runs for 8: 4 + 12 x 8/18 = 9.33."""
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    out.event("fio", 0, "step-begin", step="a+b", group=0, loads="fio/a,fio/b", offered=16)
    out.event("fio", 20, "step-end", step="a+b", group=0, loads="fio/a,fio/b", offered=16)
    for at in range(21):
        values: dict[str, dict[str, Number]] = {}
        for job, may_have, seconds in (("fio/a", 4, at), ("fio/b", 12, min(at, 10))):
            ops = 100 * seconds  # Each I/O takes N / X seconds.
            values[job] = {"ops_read_total": ops, "latency_seconds_read_total": round(may_have / 100 * ops * 1e9)}
            values[job] |= {"bytes_read_total": 4096 * ops, "in_flight_configured": may_have}
        out.samples("fio", LOAD, at, values)
    recording = out.write()
    found = load_in(compute(recording), "a+b", "read")
    assert found is not None
    assert found.in_flight_measured == pytest.approx(9.33, rel=0.01)
    assert found.in_flight_configured == 16
    assert found.filled_ratio(found.in_flight_measured) == pytest.approx(1, rel=0.01)
    diagnosis = diagnose(recording)
    assert diagnosis.verdict.kind != "demand_limited"
    assert "less-in-flight-than-configured" not in {finding.rule for finding in diagnosis.findings}


@pytest.mark.parametrize(("in_flight", "filled"), [(6.0, 1.0), (5.5, 1.0), (5.2, 1.0), (2.6, 0.5), (6.6, 1.1)])
def test_what_outstanding_ios_may_be_is_as_exact_as_the_windows_of_the_jobs(in_flight: float, filled: float) -> None:
    """Six I/Os of jobs that were seen to run for 5.2/6 of the step: they may have run longer."""
    of_jobs = replace(load(in_flight, 1000, 4096), in_flight_configured=6, active_ratio=5.2 / 6)
    assert of_jobs.filled_ratio(in_flight) == pytest.approx(filled)


def test_bytes_that_the_load_does_not_count_follow_from_its_block_size(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    out.event("fio", 0, "step-begin", step="a", group=0, loads="fio/a", block_bytes=4096)
    out.event("fio", 20, "step-end", step="a", group=0)
    for at in range(21):
        out.samples("fio", LOAD, at, {"fio/a": {"ops_read_total": 10 * at, "latency_seconds_read_total": at * 10**7}})
    found = load_in(compute(out.write()), "a", "read")
    assert found is not None
    assert found.bytes_per_second == pytest.approx(40960)


def test_the_guest_s_disk_shows_what_it_admits() -> None:
    (row,) = computed("published").tables["plane"].select(step="t800", direction="read")
    assert row["entity"] == "lun:sqlvm1/sda"
    assert row["in_flight_measured"] == pytest.approx(32, rel=1e-3)
    assert row["latency_seconds"] == pytest.approx(32 / 6250, rel=1e-3)


def test_a_load_that_keeps_its_own_ios_back_is_not_held_back_by_the_disk(tmp_path: Path) -> None:
    """Of 16 and of 32 in flight 1.3 and 2.5 are at the disk: it lets more through when more are offered."""
    san = San(tmp_path)
    for n in (16, 32):
        san.step(f"t{n}", n, read=Flow(106.0 * n, 1 / 106.0), disk={"read": Flow(106.0 * n, 0.00074)})
    rows = compute(san.write()).tables["load"]
    assert [row["held_back"] for row in rows] == [False, False]
    assert {row["held_back"] for row in computed("published").tables["load"].select(step="t800")} == {True}


def test_growth_is_against_the_step_with_the_fewest_in_flight() -> None:
    rows = computed("saturated_array").tables["array"].select(direction="read")
    assert {r["step"]: r["growth"] for r in rows} == {
        "q8": pytest.approx(1.0),
        "q64": pytest.approx(0.6 / 0.18),
        "q256": pytest.approx(2.4 / 0.18),
    }
    times = [[number(r, f"{part}_seconds") for part in ("array", "service", "queue")] for r in rows]
    assert all(array == pytest.approx(service + queue) for array, service, queue in times)


def test_one_step_alone_has_no_growth() -> None:
    (row,) = computed("one_in_flight").tables["array"].select(direction="read")
    assert row["growth"] is None


def test_a_service_time_that_was_not_answered_is_unknown(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    san.step("s", 1, read=Flow(2000, 0.0005), array={"read": AtArray(None, queue=0.0001)})
    facts = compute(san.write())
    (row,) = facts.tables["array"].select(direction="read")
    assert (row["service_seconds"], row["array_seconds"]) == (None, None)
    assert not facts.tables["path_pair"].rows


def test_load_and_array_are_paired_with_their_gap() -> None:
    row = computed("published").tables["path_pair"].select(step="t800")[0]
    assert row["entity"] == "load:fio > array:fa1"
    assert row["gap_seconds"] == pytest.approx(0.128 - 0.00035, rel=1e-4)
    assert row["bytes_ratio"] == pytest.approx(1, rel=1e-4)
    assert row["foreign_ratio"] == 0.0


def test_an_array_that_serves_others_is_paired_by_its_volume() -> None:
    row = computed("neighbour").tables["path_pair"].rows[0]
    assert row["entity"] == "load:fio > volume:fa1/vol01"


def test_every_fact_is_in_the_catalogue() -> None:
    for name in STORIES:
        for kind, table in computed(name).tables.items():
            for row in table:
                assert set(row) - {"entity"} <= set(catalogue()[kind]), (name, kind)


def test_what_a_load_moves_beyond_a_rate_is_counted_over_windows_in_a_row() -> None:
    """4 KiB each: 300 and then 200 I/Os a second against 150 a second are 200 more within two seconds."""
    windows = ((100.0, 1.0), (300.0, 1.0), (200.0, 1.0), (50.0, 1.0), (160.0, 1.0))
    bursts = replace(load(8, 162.0, 4096), series=windows)
    assert bursts.most_beyond(150 * 4096) == pytest.approx(200 * 4096)
    assert bursts.most_beyond(300 * 4096) == 0.0


def test_windows_in_which_all_io_stalled_are_part_of_the_load(tmp_path: Path) -> None:
    """No I/O completes from 20 s to 50 s of a minute, longer than any agent holds its counters back."""
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    mark: dict[str, Scalar] = {"step": "a", "group": 0, "loads": "fio/a", "offered": 1}
    out.event("fio", 0, "step-begin", **mark)
    out.event("fio", 60, "step-end", **mark)
    done = 0
    for at in range(61):
        done += 0 if at < 2 or 20 <= at < 50 else 1000
        values: dict[str, Number] = {"ops_read_total": done, "latency_seconds_read_total": done * 1_000_000}
        out.samples("fio", LOAD, at, {"fio/a": values})
    found = load_in(compute(out.write()), "a", "read")
    assert found is not None
    stalled = sum(seconds for ops, seconds in found.series if not ops)
    assert stalled == pytest.approx(30, abs=1.5)
    assert all(found.series[index][0] for index in (0, -1))


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"qos_bytes_per_second": 400e6}, "qos_bytes_per_second"),
        ({"qos_bytes_per_second": 400e6, "qos_ops_per_second": 1000}, "qos_ops_per_second"),
        ({"qos_bytes_per_second": 400e6, "group_qos_bytes_per_second": 100e6}, None),
        ({}, None),
    ],
)
def test_of_the_limits_that_are_set_for_a_volume_the_one_that_is_used_most_is_known(
    limits: dict[str, float], most: str | None
) -> None:
    entity = Entity("volume:fa1/vg1/vol1", "volume", "vg1/vol1", {}, limits, ())
    row: FactRow = {"entity": entity.id, "step": "s", "bytes_per_second": 100e6, "ops_per_second": 450.0}
    (found,) = _set_limits(Topology({entity.id: entity}), [row, dict(row)]).values()
    assert (found["volume_name"], found["limit_used_most"]) == ("vg1/vol1", most)
    assert found["qos_ops_per_second"] == limits.get("qos_ops_per_second")
