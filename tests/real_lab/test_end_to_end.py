"""All of sanpath on real input: fio through a rate-limited switch port, net-snmp, an array that measures itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.real_lab.support import RunningLab, recorded

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(slow_port_lab: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    into = tmp_path_factory.mktemp("real") / "slow-port.sanpath"
    return recorded(slow_port_lab, into) | {"folder": str(into)}


def test_the_rate_limited_port_is_named(found: dict[str, Any]) -> None:
    verdict = found["verdict"]
    assert verdict["kind"] == "bottleneck"
    first = verdict["bottlenecks"][0]
    assert first["entity"] == "link:host1/eth0--sw1/p-host"
    assert (first["layer"], first["direction"]) == ("fabric", "read")
    assert 0.94 <= first["utilisation"] <= 1.01
    assert first["coincident"] == []


def test_the_array_is_cleared(found: dict[str, Any]) -> None:
    array = next(entry for entry in found["cleared"] if entry["entity"].startswith(("array:", "volume:")))
    assert array["up_to"]["bytes_per_second"] == pytest.approx(47.7e6, rel=0.05)


def test_budgets_show_the_arrays_own_two_milliseconds(found: dict[str, Any]) -> None:
    for budget in found["latency_budget"]:
        service = next(part for part in budget["parts"] if part["layer"] == "array_back")
        assert sum(service["seconds"]) / 2 == pytest.approx(2.1e-3, rel=0.3)


def test_latency_is_what_is_in_flight_over_throughput(found: dict[str, Any]) -> None:
    assert [step["name"] for step in found["steps"]] == ["depth-2", "depth-16", "depth-64"]
    for step in found["steps"]:
        assert step["in_flight"]["measured"] == pytest.approx(step["in_flight"]["configured"], rel=0.05)


def test_fios_own_output_is_kept(found: dict[str, Any]) -> None:
    output = next(Path(found["folder"]).glob("load/*/output"))
    assert b'"fio version"' in output.read_bytes()
