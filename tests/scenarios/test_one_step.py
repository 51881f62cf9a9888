"""What a single step can tell of an array that times its service and its wait as one, and which step decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.load.loads_from_samples import _offered
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.verdict.evidence.likelihoods import full_queue_weight
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

IN_FLIGHT = 16


def one_step(
    folder: Path, latency_seconds: float, queue_seconds: float | None = None, media: str | None = None
) -> Diagnosis:
    """16 reads in flight, next to all of their time at the array. Its clock does not split it, or shows no queue."""
    san = San(folder, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], array_media=media)
    ops = IN_FLIGHT / latency_seconds
    counted = ops * 4 * 2076.0
    san.step(
        "only",
        IN_FLIGHT,
        block=8 << 10,
        read=Flow(ops, latency_seconds),
        ports={HOST_PORT.name: (counted, NOTHING), ARRAY_PORT.name: (counted, NOTHING)},
        array={"read": AtArray(latency_seconds - 1e-4, queue=queue_seconds)},
    )
    return judged(san.write())


def suspicion(found: Diagnosis, kind: str) -> float:
    return next((suspect.probability for suspect in found.verdict.suspects if suspect.kind == kind), 0.0)


def test_the_longer_it_takes_the_more_an_array_is_suspected(tmp_path: Path) -> None:
    """Storage serves an I/O in a few milliseconds at most: the longer its time, the more of it is a wait."""
    found = [one_step(tmp_path / f"{ms}.sanpath", ms / 1e3) for ms in (0.3, 3.0, 12.0, 28.0)]
    suspected = [suspicion(diagnosis, "array") for diagnosis in found]
    assert suspected == sorted(suspected)
    assert suspected[-1] > 3 * suspected[0]


@pytest.mark.parametrize("media", [None, "flash"])
def test_a_service_time_that_is_longer_than_usual_may_hide_a_wait(tmp_path: Path, media: str | None) -> None:
    """The array counts no queue, but what it calls service is longer than any that its media need."""
    found = [one_step(tmp_path / f"{ms}.sanpath", ms / 1e3, 0.0, media) for ms in (0.3, 1.0, 3.0, 8.0, 20.0)]
    suspected = [suspicion(diagnosis, "array") for diagnosis in found]
    assert suspected == sorted(suspected)
    assert suspected[-1] > 1.2 * suspected[1]


@pytest.mark.parametrize("milliseconds", [5, 10, 20])
@pytest.mark.parametrize("queue_seconds", [None, 0.0])
def test_flash_that_takes_long_is_more_suspect_than_any_media(
    tmp_path: Path, milliseconds: int, queue_seconds: float | None
) -> None:
    of_flash, of_any = (
        suspicion(one_step(tmp_path / f"{media}.sanpath", milliseconds / 1e3, queue_seconds, media), "array")
        for media in ("flash", None)
    )
    assert of_flash > of_any


@pytest.mark.parametrize("milliseconds", [3, 12, 25])
def test_an_array_that_takes_long_is_not_acquitted_by_one_step(tmp_path: Path, milliseconds: int) -> None:
    found = one_step(tmp_path / "a.sanpath", milliseconds / 1e3)
    assert found.verdict.kind != "concurrency_limited"
    assert found.verdict.grade == "C"
    assert {suspect.kind for suspect in found.verdict.suspects[:2]} == {"array", "concurrency_limited"}


@pytest.mark.parametrize("depth", [16, 32, 64])
def test_a_number_of_ios_that_is_a_usual_queue_depth_suggests_a_queue(depth: int) -> None:
    assert full_queue_weight(depth) > full_queue_weight(1.2 * depth) + 2
    assert full_queue_weight(depth * 1.003) > full_queue_weight(1.2 * depth) + 2


def behind_a_queue(folder: Path, admitted: int) -> Diagnosis:
    """200 writes in flight, of which the guest's disk lets some through; the array takes 16 ms for each of those."""
    san = San(folder, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], guest_queue_depth=None)
    ops = admitted / 0.0166
    counted = ops * (4 * 2076.0 + 52)
    san.step(
        "only",
        200,
        block=8 << 10,
        write=Flow(ops, 200 / ops),
        disk={"write": Flow(ops, 0.0166)},
        ports={HOST_PORT.name: (NOTHING, counted), ARRAY_PORT.name: (NOTHING, counted)},
        array={"write": AtArray(0.0165)},
    )
    return judged(san.write())


def test_a_queue_of_unknown_depth_is_suspected_where_it_lets_a_usual_number_through(tmp_path: Path) -> None:
    usual, unusual = (behind_a_queue(tmp_path / f"{n}.sanpath", n) for n in (64, 77))
    assert [bottleneck.entity for bottleneck in usual.verdict.bottlenecks] == ["lun:sqlvm1/sda"]
    assert suspicion(usual, "lun") > suspicion(unusual, "lun") + 0.1


def test_a_ramp_keeps_as_many_ios_in_flight_as_it_has_raised_in_the_mean() -> None:
    """One that ends at 37 does not ask for less than 37 while it is still at 10."""
    job = StepSamples("fio", "ramp", "s1")
    job.means["in_flight_configured"], job.last_values["in_flight_configured"] = 23.5, 37.0
    assert _offered([job], [1.0]) == 23.5


def behind_a_full_queue(
    folder: Path, *outstanding: int, below_seconds: float = 0.0175, software_ratio: float = 0.0
) -> Diagnosis:
    """Writes of a guest whose disk lets 64 through; below, each takes 17.5 ms anyway. The array is unread.
    `software_ratio`: the part of that time above the disk where the queue is not full."""
    san = San(folder, ports=[fast(HOST_PORT), fast(ARRAY_PORT)], leave_out={"array"}, guest_queue_depth=0)
    for in_flight in outstanding:
        ops = min(in_flight, 64) / 0.0175
        counted = (NOTHING, ops * 8 * 2076.0)
        san.step(
            f"t{in_flight}",
            in_flight,
            block=16 << 10,
            write=Flow(ops, in_flight / ops),
            disk={"write": Flow(ops, below_seconds * (1 - software_ratio * (in_flight < 64)))},
            ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
        )
    return judged(san.write())


@pytest.mark.parametrize(("software_ratio", "is_free"), [(0.0, False), (0.17, False), (0.5, True)])
def test_the_time_in_software_above_a_queue_is_no_wait_for_a_slot(
    tmp_path: Path, software_ratio: float, is_free: bool
) -> None:
    """Of 8 I/Os 1.4 are above the disk, as in any emulated machine; of 4 above it some wait, though 60 slots are
    free."""
    verdict = behind_a_full_queue(tmp_path / "a.sanpath", 8, 206, software_ratio=software_ratio).verdict
    because = [text for bottleneck in verdict.bottlenecks for text in bottleneck.because]
    assert ("the queue lets 64 I/Os through, 206 are offered" in because) != is_free


@pytest.mark.parametrize(
    ("outstanding", "fewer"), [((206,), [32]), ((206, 103), [32]), ((206, 32), []), ((48,), [24])]
)
def test_a_step_with_fewer_shows_more_only_below_what_a_full_queue_lets_through(
    tmp_path: Path, outstanding: tuple[int, ...], fewer: list[int]
) -> None:
    """32 have shown it already."""
    verdict = behind_a_full_queue(tmp_path / "a.sanpath", *outstanding).verdict
    assert [e.in_flight for e in verdict.experiments if e.action == "fewer_in_flight"] == fewer


def test_a_disk_that_reports_no_time_lets_any_number_through(tmp_path: Path) -> None:
    """A clock of whole milliseconds may read nothing."""
    verdict = behind_a_full_queue(tmp_path / "a.sanpath", 206, below_seconds=0.0).verdict
    assert [e.in_flight for e in verdict.experiments if e.action == "fewer_in_flight"] in ([], [103])


@pytest.mark.parametrize(("lighter", "is_proposed"), [(None, True), (14, True), (4, False), (1, False)])
def test_fewer_ios_are_proposed_unless_a_step_has_shown_what_they_do(
    tmp_path: Path, lighter: int | None, is_proposed: bool
) -> None:
    """Half of 4 I/Os, which did 2,000 a second already, would say no more about 16 that do 4,000."""
    san = San(tmp_path, ports=[fast(HOST_PORT), fast(ARRAY_PORT)])
    for n in [lighter, IN_FLIGHT] if lighter else [IN_FLIGHT]:
        ops = min(4000.0, 500.0 * n)
        san.step(f"q{n}", n, block=8 << 10, read=Flow(ops, n / ops), array={"read": AtArray(n / ops - 1e-4)})
    experiments = [each.action for each in judged(san.write()).verdict.experiments]
    assert "more_in_flight" in experiments
    assert ("fewer_in_flight" in experiments) == is_proposed
