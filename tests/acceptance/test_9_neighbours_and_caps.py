"""Row 9: a second host on the array's port and on a link between switches, on the same volume and behind the same
uplink; a QoS limit just below the link."""

from __future__ import annotations

import re

import pytest

from sanpath_lab.scenario import load_scenario
from tests.acceptance.lab import ARRAY, MDS, SHORT, STORY, Ran, Record, changed, neighbour, ports

pytestmark = pytest.mark.slow

LOAD = {**SHORT, "threads": [1, 3]}


SHARE = re.compile(r"(\d\d\.\d) % of its bytes are not the test's and leave the test (\d+)\.\d MB/s of payload")


def check(test: Ran, link: str) -> None:
    """The neighbour's share, two I/Os of five, is told, and the ceiling is what it leaves."""
    bottleneck = test.limit
    assert (bottleneck.entity, bottleneck.coincident) == (link, ())
    assert "noisy-neighbour" in test.causes
    assert any("is not the test's: something else uses this link, too" in line for line in bottleneck.because)
    result = SHARE.search(test.found.verdict.headline)
    assert result is not None
    assert float(result[1]) == pytest.approx(40, abs=2)
    assert bottleneck.ceiling_ops_per_second == pytest.approx(test.ops_per_second, rel=0.04)
    assert "load:fio" in test.cleared


def test_on_the_array_s_port(record: Record) -> None:
    busy = neighbour(9, "sw1/fc1/3", "CT0.FC0", capable_gigabit=8, outstanding=16)
    test = record(changed(STORY, load=LOAD, neighbours=[busy]))
    check(test, ARRAY)


def test_on_the_link_between_switches(record: Record) -> None:
    busy = neighbour(9, "sw1/fc1/3", "CT0.FC0", block_bytes=262144, outstanding=32)
    test = record(changed("oversubscribed-isl", load={**SHORT, "threads": [2, 12]}, neighbours=[busy]))
    check(test, "link:sw1/fc1/8--sw2/fc1/8")


def test_behind_the_same_uplink(record: Record) -> None:
    """Both hosts are on a blade switch that logs them in at one port of the core."""
    switch, array = (load_scenario(STORY).model_dump(mode="json")[part] for part in ("switches", "array"))
    blades = {**switch[0], "gigabit": 8, "virtualizes_ports": True}
    core = {**switch[0], **MDS, "name": "sw2", "wwn": "20:00:00:0d:ec:00:00:02", "domain_id": 2, "gigabit": 8}
    for number, port in enumerate(array["ports"], start=1):
        port["switch_port"] = f"sw2/fc1/{number}"
    test = record(
        changed(
            STORY,
            load=LOAD,
            neighbours=[neighbour(9, "sw1/fc1/3", "CT0.FC0", capable_gigabit=8, outstanding=16)],
            switches=[blades, core],
            inter_switch_links=[{"ends": ["sw1/fc1/6", "sw2/fc1/6"], "gigabit": 4, "credits": 160}],
            array=array,
        )
    )
    check(test, "link:uplink--sw2/fc1/6")
    assert "several-logins-on-port" in {f.rule for f in test.found.findings if f.outcome == "hit"}


def test_on_the_same_volume(record: Record) -> None:
    """What others do on the volume is told, and its times are not taken from the test's latency."""
    shared = neighbour(9, "sw1/fc1/3", "CT1.FC0", capable_gigabit=16, outstanding=4)
    shared["volume"] = load_scenario(STORY).volume.model_dump(mode="json")
    test = record(ports(changed(STORY, load={**LOAD, "threads": [1]}, neighbours=[shared]), 16))
    (finding,) = [f for f in test.found.findings if f.rule == "volume-shared" and f.outcome == "hit"]
    assert finding.entity == "volume:fa1/vol01"
    assert not any(
        p.how == "measured" and p.layer.startswith("array") for b in test.found.latency_budget for p in b.parts
    )
    assert not test.causes & {"volume-shared"}


def test_a_cap_just_below_the_link_is_the_cap(record: Record) -> None:
    test = record(changed(STORY, load={**SHORT, "threads": [4, 16]}, volume={"bandwidth_limit": 400_000_000}))
    verdict = test.found.verdict
    assert (verdict.kind, test.limit.entity) == ("configured_cap", "volume:fa1/vol01")
    assert "its QoS limit of 400.0 MB/s is reached" in verdict.headline
    assert test.causes == {"configured-cap"}
    assert test.named == {"volume:fa1/vol01"}
