"""What is in flight at every plane, beside what each of them lets through."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest

from sanpath.recording.reading.recording import Recording
from sanpath.views import json as written
from sanpath_lab.generator import draw
from sanpath_testbed.record import record
from tests.support.stories import diagnosed, judged


def test_every_plane_has_what_is_in_flight_beside_what_it_lets_through() -> None:
    """800 in flight at the load, 32 below the queue of the guest's disk; 6,250 x 0.35 ms are two in the array."""
    step = diagnosed("published").steps[-1]
    planes = {plane.plane: plane for plane in step.in_flight.planes}
    assert list(planes) == ["load", "guest_block", "array"]
    assert [sum(plane.measured) / 2 for plane in planes.values()] == [
        pytest.approx(n, rel=0.01) for n in (800, 32, 6250 * 0.00035)
    ]
    assert [plane.admitted for plane in planes.values()] == [800, 32, None]
    assert planes["guest_block"].entity == "lun:sqlvm1/sda"
    assert step.in_flight.law == "128 ms = 800 outstanding I/Os / 6,250 IOPS"


def test_each_direction_of_a_mix_has_its_own() -> None:
    step = diagnosed("mixed").steps[0]
    loads = [plane for plane in step.in_flight.planes if plane.plane == "load"]
    assert [plane.direction for plane in loads] == ["read", "write"]
    assert [sum(plane.measured) / 2 for plane in loads] == [pytest.approx(512, rel=0.01)] * 2
    assert step.in_flight.law == "82.6 ms = 512 outstanding reads / 6,200 reads a second"


def test_a_program_finds_it_beside_the_step() -> None:
    account = json.loads(written.render(diagnosed("published")))["steps"][0]["in_flight"]
    assert account["configured"] == 16
    assert {"plane", "entity", "direction", "measured", "admitted", "others"} == set(account["planes"][0])


@pytest.mark.parametrize("seed", [89121, 89131, 89134])
def test_no_plane_holds_more_than_it_admits(tmp_path: Path, seed: int) -> None:
    """Devices that carry a load together are counted together, and so are their slots."""
    record(draw(seed).scenario, tmp_path / "r.sanpath")
    for step in judged(Recording(tmp_path / "r.sanpath")).steps:
        held: defaultdict[str, float] = defaultdict(float)
        for plane in step.in_flight.planes:
            held[plane.plane] += plane.measured[0]
        slots = {plane.plane: plane.admitted for plane in step.in_flight.planes if plane.admitted is not None}
        assert all(held[name] <= 1.05 * admitted for name, admitted in slots.items()), step.in_flight
