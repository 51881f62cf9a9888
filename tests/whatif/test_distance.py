"""What no setting shortens: the way between the host and its target."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.whatif.ceilings import unloaded_interval
from sanpath.whatif.change import UNCHANGED
from tests.scenarios.test_tcp_connections import BLOCK, SERVED, Tcp, san_with
from tests.support.san import AtArray, Flow
from tests.support.stories import NOTHING


@pytest.mark.parametrize("shortest", [0.2e-3, 20e-3])
def test_no_io_is_faster_than_the_shortest_round_trip(tmp_path: Path, shortest: float) -> None:
    """The array takes 0.3 ms; how long a step with few outstanding I/Os takes is not known."""
    san = san_with(tmp_path / "a", Tcp(1.1 * shortest, shortest))
    flow = Flow(400, 40e-3)
    ports = {port.name: (1.05 * flow.ops * BLOCK, NOTHING) for port in san.ports}
    san.step("q16", 16, block=BLOCK, read=flow, ports=ports, disk={"read": flow}, array={"read": AtArray(SERVED)})
    facts = compute(san.write())
    unloaded = unloaded_interval(facts, facts.loads[0], UNCHANGED, None)
    assert unloaded is not None
    assert unloaded[0] == pytest.approx(SERVED + shortest, rel=0.2)
