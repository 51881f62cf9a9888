"""The lab's other cases, recorded and judged by `sanpath run`: each has its own cause, and only that may be named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sanpath.facts.compute import compute
from sanpath.recording.reading.recording import Recording
from tests.real_lab.support import recorded, running_lab

pytestmark = pytest.mark.slow

HOST_LINK, ARRAY_LINK = "link:host1/eth0--sw1/p-host", "link:sw1/p-array--fa1/CT0.ETH0"
LOADED_LINK, IDLE_LINK = "link:host1/eth0--sw1/a-host", "link:host1/eth1--sw1/b-host"

SATURATED_IOPS = 400 * 2**20 / 8 / (64 << 10)
"""nbdkit's rate=400M is 400 x 2^20 bit/s; reads are 64 KiB."""


def diagnosed(case: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp(case)
    into = folder / f"{case}.sanpath"
    with running_lab(folder / "lab", case) as lab:
        return recorded(lab, into) | {"folder": into}


@pytest.fixture(scope="module")
def saturated_array(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return diagnosed("saturated-array", tmp_path_factory)


@pytest.fixture(scope="module")
def too_little(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return diagnosed("too-little-concurrency", tmp_path_factory)


@pytest.fixture(scope="module")
def one_of_two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return diagnosed("one-of-two-links", tmp_path_factory)


def cleared(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Entity to the highest load it was seen to bear."""
    return {entry["entity"]: entry["up_to"] for entry in found["cleared"]}


def reads(found: dict[str, Any], step: str) -> dict[str, Any]:
    [read] = [entry["directions"]["read"] for entry in found["steps"] if entry["name"] == step]
    return dict(read)


def service_seconds(budget: dict[str, Any]) -> float:
    """The array's own part of a step's latency."""
    part = next(part for part in budget["parts"] if part["layer"] == "array_back")
    return float(sum(part["seconds"]) / 2)


class TestSaturatedArray:
    def test_the_array_is_named_at_the_rate_it_is_held_to(self, saturated_array: dict[str, Any]) -> None:
        assert saturated_array["verdict"]["kind"] == "bottleneck"
        [only] = saturated_array["verdict"]["bottlenecks"]
        assert only["entity"] in ("array:fa1", "volume:fa1/vol1")
        assert (only["layer"], only["direction"]) == ("array_back", "read")
        assert only["ceiling_ops_per_second"] == pytest.approx(SATURATED_IOPS, rel=0.03)
        assert only["explains"] >= 0.8

    def test_only_the_steps_with_a_queue_are_called_saturated(self, saturated_array: dict[str, Any]) -> None:
        kinds = {step["name"]: step["verdict"]["kind"] for step in saturated_array["steps"]}
        assert kinds == {"depth-1": "concurrency_limited", "depth-16": "bottleneck", "depth-64": "bottleneck"}

    def test_both_links_are_cleared(self, saturated_array: dict[str, Any]) -> None:
        borne = cleared(saturated_array)
        for link in (HOST_LINK, ARRAY_LINK):
            assert borne[link]["bytes_per_second"] == pytest.approx(SATURATED_IOPS * (64 << 10), rel=0.05)

    def test_the_queue_is_inside_the_array(self, saturated_array: dict[str, Any]) -> None:
        calm, *queued = saturated_array["latency_budget"]
        assert service_seconds(calm) == pytest.approx(2.1e-3, rel=0.3)
        for budget, in_flight in zip(queued, (16, 64), strict=True):
            assert service_seconds(budget) == pytest.approx(in_flight / SATURATED_IOPS, rel=0.15)
            assert service_seconds(budget) >= 0.8 * budget["total_seconds"]

    def test_the_knee_is_where_the_calm_latency_fills_the_rate(self, saturated_array: dict[str, Any]) -> None:
        verdict = saturated_array["verdict"]
        assert verdict["r0"]["from_step"] == "depth-1"
        assert verdict["knee_in_flight"] == pytest.approx(SATURATED_IOPS * 2.16e-3, rel=0.3)


class TestTooLittleConcurrency:
    def test_nothing_is_blamed_but_the_load(self, too_little: dict[str, Any]) -> None:
        assert too_little["verdict"]["kind"] == "concurrency_limited"
        assert [step["verdict"]["kind"] for step in too_little["steps"]] == ["concurrency_limited"] * 2
        assert [step["verdict"]["bottlenecks"] for step in too_little["steps"]] == [[], []]

    def test_twice_as_many_in_flight_give_nearly_twice_the_throughput(self, too_little: dict[str, Any]) -> None:
        one, two = reads(too_little, "depth-1"), reads(too_little, "depth-2")
        assert 1.6 <= two["ops_per_second"] / one["ops_per_second"] <= 2.4

    def test_the_latency_belongs_to_the_array(self, too_little: dict[str, Any]) -> None:
        for budget in too_little["latency_budget"]:
            assert service_seconds(budget) >= 0.8 * budget["total_seconds"]
            assert service_seconds(budget) == pytest.approx(2.1e-3, rel=0.3)

    def test_array_and_links_are_cleared(self, too_little: dict[str, Any]) -> None:
        borne = cleared(too_little)
        throughput = reads(too_little, "depth-2")["bytes_per_second"]
        for entity in ("array:fa1", HOST_LINK, ARRAY_LINK):
            assert borne[entity]["bytes_per_second"] == pytest.approx(throughput, rel=0.05)


class TestOneOfTwoLinks:
    def test_the_loaded_link_is_named(self, one_of_two: dict[str, Any]) -> None:
        assert one_of_two["verdict"]["kind"] == "bottleneck"
        [only] = one_of_two["verdict"]["bottlenecks"]
        assert (only["entity"], only["layer"], only["direction"]) == (LOADED_LINK, "fabric", "read")
        assert 0.94 <= only["utilisation"] <= 1.01
        assert only["coincident"] == []

    def test_its_twin_is_as_fast_and_idle(self, one_of_two: dict[str, Any]) -> None:
        [twin] = [entry for entry in one_of_two["cleared"] if entry["entity"] == IDLE_LINK]
        assert twin["up_to"]["bytes_per_second"] < 1e-3 * 50e6
        assert "400 Mb/s" in twin["because"]
        assert LOADED_LINK not in cleared(one_of_two)

    def test_the_twin_is_not_on_the_loaded_path(self, one_of_two: dict[str, Any]) -> None:
        links = compute(Recording(Path(one_of_two["folder"]))).tables["link"]
        loaded = {row["entity"] for row in links.select(direction="read") if row["on_loaded_path"]}
        idle = {row["entity"] for row in links.select(direction="read") if row["on_loaded_path"] is False}
        assert loaded == {LOADED_LINK, "link:sw1/a-array--fa1/CT0.ETH0"}
        assert idle == {IDLE_LINK, "link:sw1/b-array--fa1/CT0.ETH1"}

    def test_an_agent_that_answers_from_a_cache_of_3_s_is_read_every_3_s(self, one_of_two: dict[str, Any]) -> None:
        switch = next(source for source in one_of_two["sources"] if source["name"] == "sw1")
        assert switch["polls"] >= 30
        assert all(4 <= step["windows_used"] <= 6 for step in one_of_two["steps"])
        assert one_of_two["verdict"]["grade"] in ("A", "B")
