"""What a test is good for: each rule about it on a recording, the stamp on its steps, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath.rulebook.model import Finding
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import AtArray, Flow, San
from tests.support.stories import (
    COUNTED,
    NOTHING,
    calm,
    diagnosed,
    fast,
    guest_queue,
    judged,
    published,
    published_write,
)

GB = 1e9
GOOD: Mapping[str, Scalar] = {
    "working_set_bytes": 2000 * GB,
    "direct": True,
    "synchronous": False,
    "threads": 8,
    "files": 8,
    "fill": "random",
    "preconditioned": True,
}
"""A test that is good for everything."""

STAMPS = {
    "test-fits-in-cache",
    "test-file-small",
    "test-uses-file-cache",
    "test-writes-zeros",
    "run-too-short",
    "test-not-steady",
    "queue-depth-not-reached",
    "block-sizes-differ",
    "drive-not-preconditioned",
}
ALL = {
    *STAMPS,
    *("single-stream", "more-in-flight-than-configured", "less-in-flight-than-configured", "generator-cpu"),
}


def hits(found: Diagnosis) -> dict[str, Finding]:
    """Rule → its hit, of the rules that are tested here."""
    return {f.rule: f for f in found.findings if f.outcome == "hit" and f.rule in ALL}


def stamped(found: Diagnosis) -> dict[str, set[str]]:
    """Step → the rules whose stamp it bears."""
    return {s.name: {rule for rule in ALL if any(f"({rule})" in note for note in s.valid)} for s in found.steps}


def test_a_test_that_tells_nothing_of_itself_is_not_accused() -> None:
    found = diagnosed("published")
    assert hits(found) == {}
    assert stamped(found) == {f"t{n}": set() for n in (16, 128, 512, 800)}


@pytest.mark.parametrize("story", [published, published_write])
def test_a_good_test_has_no_finding_and_nothing_is_left_open(tmp_path: Path, story: Callable[[San], San]) -> None:
    found = judged(story(San(tmp_path, about=GOOD, cache_bytes=64 * GB, memory_bytes=128 * GB)).write())
    assert hits(found) == {}
    assert {f.rule for f in found.findings if f.outcome == "unknown" and f.rule in ALL} == set()


READS, WRITES = published, published_write


@pytest.mark.parametrize(
    ("rule", "story", "about"),
    [
        ("test-fits-in-cache", READS, {"working_set_bytes": 100 * GB}),
        ("test-fits-in-cache", WRITES, {"working_set_bytes": 100 * GB}),
        ("test-uses-file-cache", READS, {"direct": False}),
        ("test-writes-zeros", WRITES, {"fill": "zeros"}),
        ("test-writes-zeros", WRITES, {"fill": "repeating"}),
        ("drive-not-preconditioned", WRITES, {"preconditioned": False}),
        ("queue-depth-not-reached", READS, {"synchronous": True, "asked_in_flight": 25600}),
    ],
)
def test_what_a_load_says_of_itself_stamps_every_step(
    tmp_path: Path, rule: str, story: Callable[[San], San], about: Mapping[str, Scalar]
) -> None:
    found = judged(story(San(tmp_path, about={**GOOD, **about}, cache_bytes=64 * GB, memory_bytes=128 * GB)).write())
    assert hits(found).keys() == {rule}
    finding = hits(found)[rule]
    assert (finding.role, finding.entity) == ("validity", "load:fio")
    assert stamped(found) == {f"t{n}": {rule} for n in (16, 128, 512, 800)}


@pytest.mark.parametrize("about", [{"fill": "zeros"}, {"preconditioned": False}])
def test_reads_are_not_judged_by_what_would_be_written(tmp_path: Path, about: Mapping[str, Scalar]) -> None:
    assert hits(judged(published(San(tmp_path, about={**GOOD, **about}, cache_bytes=GB)).write())) == {}


def test_writes_with_o_sync_wait_for_the_storage_also_through_the_file_cache(tmp_path: Path) -> None:
    """Of reads nothing waits: they may come from memory."""
    for story, is_hit in ((WRITES, False), (READS, True)):
        about = {**GOOD, "direct": False, "write_through": True}
        found = judged(story(San(tmp_path / story.__name__, about=about, cache_bytes=GB, memory_bytes=GB)).write())
        assert ("test-uses-file-cache" in hits(found)) == is_hit
        actions = [step.action for step in found.plan]
        assert ("Bypass the file cache (direct I/O)" in actions) == is_hit


def test_a_file_of_1000_mb_is_small_where_nobody_knows_the_cache(tmp_path: Path) -> None:
    """The published test: 1,000 MB."""
    san = San(tmp_path, about={"working_set_bytes": 1000 * 2.0**20, "direct": True})
    found = judged(published(san).write())
    assert hits(found).keys() == {"test-file-small"}
    assert "within 1,000 MiB" in hits(found)["test-file-small"].summary
    assert any(f.rule == "test-fits-in-cache" and f.outcome == "unknown" for f in found.findings)


def test_through_the_file_cache_the_memory_of_the_machine_is_a_cache_as_well(tmp_path: Path) -> None:
    """300 GB are more than four times the array's 64 and less than four times the machine's 128."""
    about = {**GOOD, "working_set_bytes": 300 * GB, "direct": False}
    found = judged(published(San(tmp_path, about=about, cache_bytes=64 * GB, memory_bytes=128 * GB)).write())
    assert hits(found).keys() == {"test-fits-in-cache", "test-uses-file-cache"}


def test_three_seconds_are_too_short() -> None:
    found = diagnosed("too_short")
    assert hits(found).keys() == {"run-too-short"}
    assert hits(found)["run-too-short"].role == "validity"
    assert "measured for 3 s" in hits(found)["run-too-short"].summary
    assert stamped(found) == {"s": {"run-too-short"}}


def over_time(folder: Path, *rates: float) -> Diagnosis:
    """A load with 16 in flight whose IOPS change from second to second; nothing else is observed."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "fio/s")
    mark: dict[str, Scalar] = {"step": "s", "group": 0, "loads": "fio/s", "offered": 16.0}
    out.event("fio", 4.0, "step-begin", **mark)
    for second, done in enumerate(accumulate(rates, initial=0.0)):
        out.poll("fio", 4 + second)
        # 16 I/Os wait all the time: 16 seconds of latency a second, whatever the throughput.
        values = {"ops_write_total": round(done), "bytes_write_total": round(4096 * done)}
        out.samples("fio", LOAD, 4 + second, {"fio/s": values | {"latency_seconds_write_total": second * 16 * 10**9}})
    out.event("fio", 4.0 + len(rates), "step-end", **mark)
    return judged(out.write())


def test_writes_that_slow_down_had_not_settled(tmp_path: Path) -> None:
    """10,000 IOPS for 10 s, then 500 less each second. Of 18 windows after the ramp the last nine fall from 9,000 to
    5,000: by 500 a second, from 9,250 to 4,750 in 9 s. The last four have a mean of 5,750. Verdict and finding say so
    in the same words."""
    found = over_time(tmp_path, *[10_000.0] * 10, *(10_000.0 - 500 * n for n in range(1, 11)))
    assert hits(found).keys() == {"test-not-steady"}
    finding = hits(found)["test-not-steady"]
    assert (finding.role, finding.direction) == ("validity", "write")
    assert finding.evidence["throughput_trend"] == pytest.approx(4750 / 9250 - 1, rel=1e-3)
    change = "over the second half of the step throughput falls by 48.6 % and mean latency rises by "
    held = "; the last quarter of the step has 57.5 % of the throughput of the first"
    assert finding.summary.startswith(f"load:fio/s had not settled (write): {change}")
    assert finding.summary.endswith(held)
    (said,) = [line for line in found.steps[0].verdict.because if "not steady" in line]
    assert finding.summary.removeprefix("load:fio/s had not settled (write): ") in said
    assert stamped(found) == {"s": {"test-not-steady"}}


def test_a_ramp_in_the_first_half_is_forgiven(tmp_path: Path) -> None:
    assert hits(over_time(tmp_path, *(1_000.0 * n for n in range(1, 9)), *[8_000.0] * 12)) == {}


def two_depths(folder: Path, about: Mapping[str, Scalar], more: float = 1.0) -> Diagnosis:
    """8 KiB on 32GFC, 8 and 64 in flight, 20,000 IOPS at first: 167 MB/s counted, 4.9 % of 3,400. `more`: times as
    many with 64. The guest's disk holds back nothing."""
    san = San(folder, about={**GOOD, **about}, cache_bytes=GB, memory_bytes=GB)
    san.ports = [fast(port, 32) for port in san.ports]
    for n, ops in ((8, 20_000.0), (64, 20_000.0 * more)):
        flow = Flow(ops, n / ops)
        ports = {port.name: (ops * (4 * 2076 + 52), NOTHING) for port in san.ports}
        san.step(f"q{n}", n, block=8192, read=flow, ports=ports, disk={"read": flow}, array={"read": AtArray(1e-4)})
    return judged(san.write())


@pytest.mark.parametrize("about", [{"threads": 1}, {"files": 1}])
def test_one_stream_with_nothing_full_is_a_symptom(tmp_path: Path, about: Mapping[str, Scalar]) -> None:
    found = two_depths(tmp_path, about)
    assert found.verdict.kind == "cannot_tell"
    finding = hits(found)["single-stream"]
    assert (finding.role, finding.steps) == ("symptom", ("q8", "q64"))
    assert stamped(found) == {"q8": set(), "q64": set()}


def test_several_streams_are_none(tmp_path: Path) -> None:
    assert "single-stream" not in hits(two_depths(tmp_path, {}))


def test_one_stream_that_follows_the_load_is_no_limit(tmp_path: Path) -> None:
    """Eight times as many in flight gave four times as much."""
    assert "single-stream" not in hits(two_depths(tmp_path, {"threads": 1, "files": 1}, more=4.0))


def test_one_stream_over_a_full_link_is_no_limit(tmp_path: Path) -> None:
    about = {**GOOD, "threads": 1, "files": 1}
    assert hits(judged(published(San(tmp_path, about=about, cache_bytes=GB)).write())) == {}


def test_blocks_that_the_host_splits_are_others_than_were_tested() -> None:
    """1 MiB at the load, 256 KiB at the array."""
    found = diagnosed("split_on_the_way")
    finding = hits(found)["block-sizes-differ"]
    assert (finding.role, finding.entity) == ("validity", "load:fio > array:fa1")
    assert "4 times as large at the load" in finding.summary
    assert stamped(found) == {"large": {"block-sizes-differ"}}


def test_twice_as_many_in_flight_as_configured_is_a_mistake_of_the_figures(tmp_path: Path) -> None:
    """2,000 IOPS of 8 ms each are 16 in flight; it was told 8."""
    found = judged(calm(San(tmp_path), in_flight=8, latency=0.008).write())
    finding = hits(found)["more-in-flight-than-configured"]
    assert finding.role == "data-quality"
    assert "200.0 %" in finding.summary


def test_a_load_that_keeps_one_of_32_in_flight_is_no_closed_loop(tmp_path: Path) -> None:
    found = judged(calm(San(tmp_path), in_flight=32).write())
    assert hits(found).keys() == {"less-in-flight-than-configured"}
    assert hits(found)["less-in-flight-than-configured"].role == "information"


def test_a_rate_that_was_asked_for_explains_it() -> None:
    assert hits(diagnosed("rate_limited")) == {}


def test_a_process_at_the_end_of_its_core_is_the_cause() -> None:
    found = diagnosed("cpu_bound")
    assert found.verdict.kind == "generator_limited"
    finding = hits(found)["generator-cpu"]
    assert (finding.role, finding.entity) == ("cause", "load:fio")
    assert "99.0 % of a core" in finding.summary
    first = found.plan[0]
    assert (first.resolves[0].rule, first.commands) == ("generator-cpu", ("fio --numjobs=MORE OTHER-OPTIONS",))


def test_a_busy_process_above_a_full_link_is_not(tmp_path: Path) -> None:
    san = published(San(tmp_path))
    san.steps = [replace(step, cpu=0.99) for step in san.steps]
    assert hits(judged(san.write())) == {}


def test_an_engine_that_polls_is_not_blamed_for_a_queue_of_the_host(tmp_path: Path) -> None:
    """The guest admits 32 of 512, and the process uses its core while it waits."""
    san = guest_queue(San(tmp_path))
    san.steps = [replace(step, cpu=1.0) for step in san.steps if step.in_flight == 512]
    assert "generator-cpu" not in hits(judged(san.write()))


def test_a_bad_test_is_stamped_and_what_limits_it_still_comes_first(tmp_path: Path) -> None:
    """The published test as it was: a small file, written with one pattern, through the file cache, by one thread."""
    about: dict[str, Scalar] = {
        "working_set_bytes": GB,
        "direct": False,
        "fill": "repeating",
        "preconditioned": False,
        "threads": 1,
        "files": 1,
    }
    found = judged(published_write(San(tmp_path, about=about, cache_bytes=64 * GB, memory_bytes=8 * GB)).write())
    stamps = STAMPS - {"run-too-short", "test-not-steady", "queue-depth-not-reached", "block-sizes-differ"}
    assert stamped(found) == {f"t{n}": stamps for n in (16, 128, 512, 800)}
    assert found.verdict.kind == "bottleneck"
    roles = [f.role for f in found.findings if f.outcome == "hit"]
    assert found.findings[0].rule == "link-full"
    assert roles.index("validity") > max(i for i, role in enumerate(roles) if role in ("cause", "symptom"))


def test_a_mixed_test_is_stamped_for_what_it_writes(tmp_path: Path) -> None:
    """Reads and writes at once, 512 + 512 in flight: what it writes counts for its writes."""
    san = San(tmp_path, about={**GOOD, "fill": "zeros"}, cache_bytes=GB)
    flow = Flow(6200, 1024 / 12400)
    ports = {port.name: (COUNTED, COUNTED) for port in san.ports}
    san.step("rw", 1024, read=flow, write=flow, ports=ports)
    found = judged(san.write())
    assert hits(found)["test-writes-zeros"].direction == "write"
    assert stamped(found) == {"rw": {"test-writes-zeros"}}


def test_a_step_that_drifts_takes_a_grade_and_predicts_nothing(tmp_path: Path) -> None:
    """The latency rises by two fifths: over the second half from 1.2 to 1.4 times the first."""
    steady, found = diagnosed("published"), judged(published(San(tmp_path, drift=0.4)).write())
    assert (steady.verdict.grade, found.verdict.grade) == ("A", "B")
    assert found.verdict.bottlenecks[0].entity == steady.verdict.bottlenecks[0].entity
    assert steady.verdict.next is not None
    assert found.verdict.next is None
    for step in found.steps:
        assert any(
            line.startswith("not steady: over the second half of the step mean latency rises by ")
            and "must not be extrapolated" in line
            for line in step.verdict.because
        )
    assert not any("not steady" in line for step in steady.steps for line in step.verdict.because)
