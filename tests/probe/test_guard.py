"""A probe stops when the latency of others grows: by its rule, and on the array of the lab with neighbours."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sanpath.facts.storage.other_loads import volumes_of_others
from sanpath.probe.guard import OtherLoad, tripped
from sanpath.probe.plan import Guard
from sanpath.recording.reading.recording import Recording
from sanpath_lab.generator import draw
from sanpath_testbed.defects import Defects
from sanpath_testbed.experiments import heaviest_step_alone
from sanpath_testbed.record import EPOCH_SECONDS, LabRecorder

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


def test_neighbours_on_an_array_that_the_load_saturates(tmp_path: Path) -> None:
    """Draw 70054: four other hosts with volumes of their own on the array; its media are too slow for all."""
    drawn = draw(70054)
    scenario = heaviest_step_alone(drawn.scenario)
    begin_us = EPOCH_SECONDS * 10**6
    with asyncio.Runner() as runner:
        recorder = LabRecorder(scenario, tmp_path / "r.sanpath", Defects(scenario, None, drawn.reading))
        runner.run(recorder.begin(seconds=10.0))
        idle = volumes_of_others(Recording(tmp_path / "r.sanpath"), begin_us, recorder.now_us)
        started_us = recorder.now_us
        runner.run(recorder.run_load())
        recorder.end()
    loaded = volumes_of_others(Recording(tmp_path / "r.sanpath"), started_us, recorder.now_us)
    others = {f"volume:fa1/{neighbour.volume.name}" for neighbour in scenario.neighbours}
    assert idle.keys() == others
    assert loaded.keys() == others, "the volume of the test is not among those of others"
    before, now = ({name: OtherLoad(*figures) for name, figures in volumes.items()} for volumes in (idle, loaded))
    assert tripped(GUARD, before, before) is None
    assert tripped(GUARD, before, now) is not None
