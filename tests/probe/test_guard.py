"""A probe stops when the latency of others grows: by its rule, and on the array of the lab with neighbours."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from sanpath.facts.storage.other_loads import OtherLoad, volumes_of_others
from sanpath.probe.guard import Trip, Watch, tripped
from sanpath.probe.plan import Guard
from sanpath.recording.reading.recording import Recording
from sanpath_lab.generator import draw
from sanpath_testbed.defects import Defects
from sanpath_testbed.experiments import heaviest_step_alone
from sanpath_testbed.record import AFTER_SECONDS, EPOCH_SECONDS, LabRecorder

GUARD = Guard(growth_ratio=0.5, least_seconds=0.0005)


def test_growth_of_half_and_of_half_a_millisecond_trips_it() -> None:
    before = {"volume:fa1/a": OtherLoad(100, 0.002), "volume:fa1/b": OtherLoad(100, 0.0002)}
    assert tripped(GUARD, before, before) is None
    assert tripped(GUARD, before, {"volume:fa1/a": OtherLoad(100, 0.0029)}) is None, "less than half"
    assert tripped(GUARD, before, {"volume:fa1/b": OtherLoad(100, 0.0006)}) is None, "less than half a millisecond"
    assert tripped(GUARD, before, {"volume:fa1/a": OtherLoad(2, 0.02)}) is None, "two I/Os a second are chance"
    assert tripped(GUARD, before, {"volume:fa1/c": OtherLoad(100, 0.02)}) is None, "was not there before"
    trip = tripped(GUARD, before, {"volume:fa1/a": OtherLoad(90, 0.004), "volume:fa1/b": OtherLoad(90, 0.001)})
    assert trip is not None
    assert trip.entity == "volume:fa1/b", "the one that has grown most"
    assert "0.20 to 1.00 ms" in trip.in_words


@pytest.mark.slow
def test_the_pause_before_the_first_step_shows_the_neighbours(tmp_path: Path) -> None:
    """And after a step, how they did in it."""
    drawn = draw(70054)
    scenario = heaviest_step_alone(drawn.scenario)
    with asyncio.Runner() as runner:
        recorder = LabRecorder(scenario, tmp_path / "r.sanpath", Defects(scenario, None, drawn.reading))
        runner.run(recorder.begin(seconds=8.0))
        before = volumes_of_others(Recording(tmp_path / "r.sanpath"), EPOCH_SECONDS * 10**6, recorder.now_us)
        watch, began_us = Watch(GUARD, before), recorder.now_us
        runner.run(recorder.run_load())
        ended_us = recorder.now_us
        recorder.end()
    for neighbour in watch.neighbours:
        assert re.fullmatch(r"volume:fa1/[\w.-]+: [\d,]+ IOPS, [\d.]+ [mµ]s", neighbour)
    change, *_ = watch.changes(Recording(tmp_path / "r.sanpath"), began_us, ended_us)
    found = re.search(r"in the pause, .* in this step; ([\d.]+) ms, ([\d.]+) ms", change)
    assert found is not None, change
    assert float(found[2]) > 1.5 * float(found[1])


def test_after_a_later_pause_the_others_are_compared_with_it() -> None:
    """They have become slower by themselves: no fault of the load."""
    watch = Watch(GUARD, {"volume:fa1/a": OtherLoad(100, 0.002), "volume:fa1/b": OtherLoad(100, 0.002)})
    renewed = watch.renewed({"volume:fa1/a": OtherLoad(80, 0.005), "volume:fa1/c": OtherLoad(10, 0.001)})
    assert tripped(GUARD, watch.before, {"volume:fa1/a": OtherLoad(80, 0.006)}) is not None
    assert tripped(GUARD, renewed.before, {"volume:fa1/a": OtherLoad(80, 0.006)}) is None
    assert tripped(GUARD, renewed.before, {"volume:fa1/b": OtherLoad(100, 0.006)}) is not None
    assert len(renewed.neighbours) == 3


def guarded(seed: int, folder: Path) -> tuple[float, Trip | None]:
    """Run the load of a draw under the guard. Returns how long it ran, and what has stopped it."""
    drawn = draw(seed)
    scenario = heaviest_step_alone(drawn.scenario)
    trips: list[Trip | None] = [None]
    with asyncio.Runner() as runner:
        recorder = LabRecorder(scenario, folder, Defects(scenario, None, drawn.reading))
        runner.run(recorder.begin(seconds=8.0))
        before = volumes_of_others(Recording(folder), EPOCH_SECONDS * 10**6, recorder.now_us)
        assert before.keys() <= {f"volume:fa1/{neighbour.volume.name}" for neighbour in scenario.neighbours}
        watch, began_us = Watch(GUARD, before), recorder.now_us

        def must_stop() -> bool:
            trips.append(watch.trip(Recording(folder), began_us, recorder.now_us))
            return trips[-1] is not None

        runner.run(recorder.run_load(must_stop=must_stop))
        recorder.end()
    seconds = (recorder.now_us - began_us) / 1e6 - AFTER_SECONDS
    return seconds, next((trip for trip in trips if trip is not None), None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [70054, 30010, 30014], ids=["media", "array port", "array port of a neighbour"])
def test_a_neighbour_suffers(seed: int, tmp_path: Path) -> None:
    """The load saturates the media behind the neighbour's volume, or the array port that both use."""
    seconds, trip = guarded(seed, tmp_path / "r.sanpath")
    assert trip is not None
    assert trip.now_seconds > 1.5 * trip.before_seconds
    assert re.fullmatch(
        r"volume:fa1/\w+ is used by other hosts, and their latency grew from [\d.]+ to [\d.]+ ms", trip.in_words
    )
    assert seconds <= 6, "it stops after a few polls, and not at the end of its ten seconds"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [30004, 30021], ids=["the array's entry is saturated", "a link of the host is"])
def test_a_neighbour_does_not_suffer(seed: int, tmp_path: Path) -> None:
    """Draws whose load is limited where no other host's I/O is."""
    seconds, trip = guarded(seed, tmp_path / "r.sanpath")
    assert trip is None
    assert seconds >= 9
