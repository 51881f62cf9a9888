"""A simulated array at its limits, in simulated time: the part of it that limits is named.

test_array_over_rest.py reads such an array over sockets.
"""

from __future__ import annotations

from typing import Any

import pytest

from sanpath_lab.scenario import Truth, load_scenario
from tests.support.simulated import diagnosed

pytestmark = pytest.mark.slow


def of_scenario(name: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Truth]:
    return diagnosed(name, tmp_path_factory.mktemp(name) / "r.sanpath"), load_scenario(name).truth


def test_a_qos_limit_on_the_volume_is_named_with_its_height(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, truth = of_scenario("qos-limited-volume", tmp_path_factory)
    agrees(found, truth)
    assert "its QoS limit of 200.0 MB/s" in found["verdict"]["headline"]
    (cause,) = [f for f in found["findings"] if f["outcome"] == "hit" and f["role"] == "cause"]
    assert (cause["rule"], cause["entity"]) == ("configured-cap", "volume:fa1/vol01")
    assert [step["verdict"]["kind"] for step in found["steps"]] == [
        "concurrency_limited",
        "configured_cap",
        "configured_cap",
    ]


def test_slow_media_are_the_back_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, truth = of_scenario("slow-media", tmp_path_factory)
    agrees(found, truth)
    assert any(
        "times as long as at the lowest load" in reported
        for reported in found["verdict"]["bottlenecks"][0]["because"]
    )


def test_a_queue_before_the_controller_is_the_front_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, truth = of_scenario("controller-queue", tmp_path_factory)
    agrees(found, truth)
    assert "the array serves an I/O as fast as at the other loads" in found["verdict"]["bottlenecks"][0]["because"]


def agrees(found: dict[str, Any], truth: Truth) -> None:
    """Whether a diagnosis says what is true: kind, layer, direction and element, and that the links have room."""
    assert found["verdict"]["kind"] == truth.kind, found["verdict"]["headline"]
    (bottleneck,) = found["verdict"]["bottlenecks"]
    assert (bottleneck["layer"], bottleneck["direction"]) == (truth.layer, truth.direction)
    assert (bottleneck["entity"],) == truth.bottlenecks
    links = [entry["entity"] for entry in found["cleared"] if entry["entity"].startswith("link:")]
    for port in truth.cleared:
        assert any(port.removeprefix("switch_port:") in link for link in links)
