"""Row 5: a 4GFC reader that shares a link between switches with a 16GFC host under test; a host that withholds
credits with its link used to a tenth; and both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.lab import SHORT, Ran, Record, changed, neighbour

pytestmark = pytest.mark.slow

READER = neighbour(9, "sw1/0/3", "CT1.FC0", capable_gigabit=4, block_bytes=262144)
ISL = "link:sw1/0/7--sw2/0/7"


def slow(number: int, switch_port: str, ratio: float) -> dict[str, Any]:
    return neighbour(number, switch_port, "CT1.FC0", drain_ratio=ratio)


def blamed(test: Ran, number: int, switch_port: str, rule: str) -> None:
    culprit = f"21000024ff0000{number:02x}"
    bottleneck = test.limit
    assert bottleneck.entity == f"link:{culprit}--{switch_port}"
    assert bottleneck.culprit == f"hba:{culprit}"
    assert bottleneck.victims == (ISL,)
    assert test.causes == {rule}
    assert "is not part of the test but shares switches with it" in test.report
    assert not {ISL, "array:fa1"} & test.named
    (isl,) = [f for f in test.found.findings if f.entity == ISL and f.outcome == "hit"]
    assert (isl.rule, isl.role) == ("congestion-victim", "symptom")


@pytest.fixture(scope="module")
def alongside(record: Record) -> Callable[..., Ran]:
    """The test beside other hosts."""

    def recorded(*neighbours: dict[str, Any]) -> Ran:
        load = {**SHORT, "threads": [8]}
        return record(changed("slow-drain-host", load=load, neighbours=list(neighbours)))

    return recorded


def test_an_oversubscribed_reader_takes_three_quarters_of_a_faster_host(alongside: Callable[..., Ran]) -> None:
    alone, held = alongside(), alongside(READER)
    was, now = (test.ops_per_second for test in (alone, held))
    assert now / was == pytest.approx(0.25, abs=0.02)
    blamed(held, 9, "sw1/0/3", "oversubscribed-reader")
    assert "more is sent to HBA 21000024ff000009 of host esx9 than it can take" in held.report


def test_a_host_that_withholds_credits_is_a_slow_drain(alongside: Callable[..., Ran]) -> None:
    test = alongside(slow(9, "sw1/0/3", 0.1))
    assert test.limit.utilisation == pytest.approx(0.1, abs=0.01)
    blamed(test, 9, "sw1/0/3", "slow-drain-device")
    assert "returns no credit for 90" in test.report


@pytest.mark.parametrize(
    ("ratio", "who", "rule"), [(0.1, 9, "oversubscribed-reader"), (0.05, 10, "slow-drain-device")]
)
def test_of_both_the_one_that_binds_is_named(
    alongside: Callable[..., Ran], ratio: float, who: int, rule: str
) -> None:
    """The reader asks for four times the bytes: the slow one binds once it takes less than a quarter of them."""
    test = alongside(READER, slow(10, "sw1/0/4", ratio))
    blamed(test, who, "sw1/0/3" if who == 9 else "sw1/0/4", rule)


def test_paths_that_the_test_leaves_idle_do_not_relieve_a_culprit_beside_them(record: Record) -> None:
    used = {"name": "vmhba2", "wwpn": "21:00:00:24:ff:00:00:02", "capable_gigabit": 16, "switch_port": "sw1/0/2"}
    idle = {"name": "vmhba3", "wwpn": "21:00:00:24:ff:00:00:03", "capable_gigabit": 16, "switch_port": "sw1/0/4"}
    policy = {"path_policy": "most_recently_used"}
    host = {"name": "esx7", "lun_queue_depth": 128, "hbas": [used, idle], **policy}
    paths = [{"hba": "vmhba2", "target": "CT0.FC0"}, {"hba": "vmhba3", "target": "CT1.FC0"}]
    load = {**SHORT, "threads": [8]}
    test = record(changed("slow-drain-host", load=load, host=host, paths=paths))
    assert "single-path-in-use" in {finding.rule for finding in test.found.findings if finding.outcome == "hit"}
    assert {resolved.rule for resolved in test.found.plan[0].resolves} == {"slow-drain-device"}
