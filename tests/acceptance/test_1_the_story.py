"""Row 1: LSI and a queue of 32 above a 4 Gb switch that counts no credits, 16 to 800 in flight."""

from __future__ import annotations

import pytest

from tests.acceptance.lab import ARRAY, HOST, SHORT, STORY, Ran, Record, changed
from tests.support.stories import diagnosed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["read", "write"])
def story(record: Record, request: pytest.FixtureRequest) -> Ran:
    """With steps of 8 s: how full the link is is wanted to within half a percent."""
    return record(changed(STORY, load={**SHORT, "direction": request.param, "measured_seconds": 8}))


def test_the_link_is_named_in_its_direction_with_how_full_it_is(story: Ran) -> None:
    verdict, direction = story.found.verdict, story.limit.direction
    assert set(story.found.steps[-1].directions) == {direction}
    assert (verdict.kind, story.limit.entity, story.limit.coincident) == ("bottleneck", HOST, (ARRAY,))
    assert 0.97 <= (story.limit.utilisation or 0) <= 0.985
    assert f"is saturated in the {direction} direction" in story.report


def test_latency_is_told_by_the_load_s_own_queue_with_both_numbers(story: Ran) -> None:
    assert "127 ms = 800 outstanding I/Os / 6,29" in story.found.verdict.headline
    assert "throughput is the same with 16 outstanding I/Os" in story.found.verdict.headline


def test_the_latency_without_a_queue_is_not_known(story: Ran) -> None:
    assert story.found.verdict.r0.seconds is None
    assert "unloaded latency not measured" in " ".join(story.report.split())


def test_neither_the_host_s_queue_nor_the_array_is_blamed(story: Ran) -> None:
    assert story.named == {HOST, ARRAY}
    assert not story.causes & {"lun-queue-limits", "vscsi-queue-limits", "array-service-grows"}
    assert "array:fa1" in story.cleared
    assert story.limit.wait_at == "lun:sqlvm1/sda", "where it waits is not what limits"


def test_how_much_of_the_latency_it_explains_is_not_taken_from_the_loaded_array(story: Ran) -> None:
    """1 - 5 / 126 mixes the wait for the link into the floor."""
    assert "96 %" not in story.report
    assert "96.0 %" not in story.report


def test_every_step_is_what_is_in_flight_over_what_comes_back(story: Ran) -> None:
    """2, 16, 64 and 100 threads x 8 over 6,290 IOPS."""
    diagnosed = [next(iter(step.directions.values())).latency_seconds.mean * 1e3 for step in story.found.steps]
    assert diagnosed == pytest.approx([n * 8 / 6.29 for n in (2, 16, 64, 100)], rel=0.01)


def test_a_hypervisor_that_tells_whole_milliseconds_changes_nothing(record: Record) -> None:
    """Its device latency of 5 ms holds 32 I/Os between 5 and 6 ms: the queue is full, and only holds what waits."""
    load = {**SHORT, "threads": [2, 100], "measured_seconds": 43}
    test = record(changed(STORY, load=load, vcenter={"name": "vc1", "datastore": "DS1"}))
    assert (test.found.verdict.kind, test.limit.entity, test.limit.coincident) == ("bottleneck", HOST, (ARRAY,))
    (device,) = [plane for plane in test.found.steps[-1].in_flight.planes if plane.plane == "device"]
    assert device.admitted == 32
    assert device.measured == pytest.approx((6290 * 0.005, 6290 * 0.006), rel=0.01)
    assert not test.causes & {"lun-queue-limits", "vscsi-queue-limits", "kernel-latency", "array-service-grows"}
    assert "96 %" not in test.report


def test_the_closed_loop_on_the_published_figures() -> None:
    """Over 6,250 IOPS 2, 16, 64 and 100 threads x 8 take 2.6, 20.5, 81.9 and 128 ms; 2 to 3, 17 to 22, 81 (cut off)
    and 126 ms (cut off) were published, of the first and the last what SQLIO's histogram and mean give."""
    steps = diagnosed("published").steps
    assert [step.in_flight.configured for step in steps] == [16, 128, 512, 800]
    assert [step.directions["read"].latency_seconds.mean * 1e3 for step in steps] == pytest.approx(
        [2.56, 20.48, 81.92, 128.0]
    )
    published = [(2, 4), (17, 23), (81, 83), (126, 130)]
    for step, (low, high), law in zip(
        steps, published, ("2.56 ms = 16", "20.5 ms = 128", "81.9 ms = 512", "128 ms = 800"), strict=True
    ):
        assert low <= step.directions["read"].latency_seconds.mean * 1e3 <= high
        assert f"{law} outstanding I/Os / 6,250 IOPS" in (step.in_flight.law or "")
