"""What is said of a device whose reads and writes were told apart in a part of the windows only."""

from __future__ import annotations

import pytest

from sanpath.facts.load.busiest_device import busiest_device
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.topology.topology import Topology


@pytest.mark.parametrize(("second", "operations"), [(None, None), (40.0, 20.0)])
def test_operations_that_are_not_known_while_bytes_move_are_not_zero(
    second: float | None, operations: float | None
) -> None:
    """sar counts reads and writes together: of a second without any, neither has some."""
    sample = StepSamples("iostat", "sda", "", seconds=[1.0, 1.0], ended_us=[1_000_000, 2_000_000])
    sample.rates["ops_read_total"] = [0.0, second]
    sample.rates["bytes_read_total"] = [0.0, 42e6]
    sample.rates["latency_seconds_read_total"] = [0.0, 0.0]
    topology = Topology({}, [], known_as={("iostat", "lun", "sda"): "lun:db1/sda"})
    device = busiest_device(topology, [sample])
    assert device is not None
    assert device.ops_per_second == operations
