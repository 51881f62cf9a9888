"""Facts of links among their neighbours: who holds up whom, and what the two ends and the trunk tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.facts.table import FactRow
from tests.support.recording import Number
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, OTHER_HOST, STORIES, X, computed, fast

ISL = "link:sw1/fc1/31--sw2/fc1/31"
LOCAL, NEIGHBOUR = "link:esx7/vmhba2--sw1/fc1/7", "link:esx9/vmhba2--sw1/fc1/9"


def two_switches(
    folder: Path, stalls: Mapping[str, float] | None = None, far_end: float = 1.0, neighbour: float = 0.1
) -> Facts:
    """esx7 and esx9 at sw1 read from an array at sw2. `far_end`: what sw2 counts of the link between them, over what
    sw1 does; `neighbour`: share of 415.2 MB/s that esx9 reads."""
    ports = [fast(HOST_PORT), replace(OTHER_HOST, speed=4), replace(fast(ARRAY_PORT), on="sw2")]
    san = San(folder, ports=ports, inter_switch_link=True, isl_speed=16)
    both = (1 + neighbour) * COUNTED
    san.step(
        "t",
        16,
        read=Flow(X, 16 / X),
        ports={
            "fc1/7": (COUNTED, NOTHING),
            "fc1/9": (neighbour * COUNTED, NOTHING),
            "sw1/fc1/31": (both, NOTHING),
            "sw2/fc1/31": (far_end * both, NOTHING),
            "fc1/1": (both, NOTHING),
        },
        array={"read": AtArray(0.0004)},
        stalls=stalls,
    )
    return compute(san.write())


def row(facts: Facts, entity: str, direction: str = "read") -> FactRow:
    (found,) = facts.tables["link"].select(entity=entity, direction=direction)
    return found


@pytest.mark.parametrize("silent", ["sw1", "sw2"])
def test_a_link_between_switches_is_counted_by_the_end_that_can_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    whole = row(two_switches(tmp_path / "whole"), ISL)
    of_port = San._port

    def without_bytes(san: San, port: Port, at: float) -> dict[str, Number]:
        is_silent = (port.on, port.name) == (silent, "fc1/31")
        return of_port(san, port, at) | (dict.fromkeys(("bytes_rx_total", "bytes_tx_total")) if is_silent else {})

    monkeypatch.setattr(San, "_port", without_bytes)
    half = row(two_switches(tmp_path / "half"), ISL)
    for fact in ("bytes_per_second", "utilisation", "share", "ceiling_bytes_per_second"):
        assert half[fact] == pytest.approx(whole[fact]), fact
    assert (half["on_loaded_path"], half["ends_ratio"]) == (True, None)


SLOW = {"sw2/fc1/31": 0.62, "sw1/fc1/9": 0.81}


def test_a_slow_device_is_followed_from_the_link_of_the_test_that_waits(tmp_path: Path) -> None:
    facts = two_switches(tmp_path, SLOW)
    between, slow, own = (row(facts, entity) for entity in (ISL, NEIGHBOUR, LOCAL))
    assert (between["held_up_behind"], between["holds_up_test"]) == (True, True)
    assert (slow["held_up_behind"], slow["holds_up_test"]) == (False, True)
    assert slow["upstream_stall_ratio"] == pytest.approx(0.62, rel=1e-3)
    assert (own["held_up_behind"], own["holds_up_test"]) == (False, False)


def test_a_slow_device_for_which_the_test_does_not_wait_holds_up_nobody(tmp_path: Path) -> None:
    slow = row(two_switches(tmp_path, {"sw1/fc1/9": 0.81}), NEIGHBOUR)
    assert slow["holds_up_test"] is False
    assert slow["credit_stall_ratio"] == pytest.approx(0.81, rel=1e-3)


def test_a_slow_device_that_reads_nothing_over_a_link_does_not_hold_it_up(tmp_path: Path) -> None:
    """esx9 reads 373.7 MB/s from a port of its own switch. The link between the switches brings the test's bytes
    alone: what waits at esx9 has not come over it, so that it lacks credits itself."""
    local_target = replace(fast(ARRAY_PORT), name="fc1/2", device="CT1.FC0", wwpn="524a937000000002")
    ports = [fast(HOST_PORT), OTHER_HOST, replace(fast(ARRAY_PORT), on="sw2"), local_target]
    san = San(tmp_path, ports=ports, inter_switch_link=True, isl_speed=16)
    own, others = (COUNTED, NOTHING), (0.9 * COUNTED, NOTHING)
    for n in (16, 64):
        san.step(
            f"t{n}",
            n,
            read=Flow(X, n / X),
            ports={
                **dict.fromkeys(("fc1/7", "sw1/fc1/31", "sw2/fc1/31", "fc1/1"), own),
                **dict.fromkeys(("fc1/9", "fc1/2"), others),
            },
            array={"read": AtArray(0.0004)},
            stalls={"sw2/fc1/31": 0.9, "sw1/fc1/9": 0.5},
        )
    recording = san.write()
    facts = compute(recording)
    for found in facts.tables["link"].select(entity=ISL, direction="read"):
        assert (found["held_up_behind"], found["forwarded_at_once"]) == (False, True)
    assert [bottleneck.entity for bottleneck in diagnose(recording).verdict.bottlenecks] == [ISL]


def test_without_credit_counters_nobody_knows_who_waits(tmp_path: Path) -> None:
    facts = two_switches(tmp_path)
    assert [row(facts, entity)["holds_up_test"] for entity in (ISL, NEIGHBOUR, LOCAL)] == [None, None, None]
    assert row(facts, ISL)["held_up_behind"] is None
    assert row(facts, ISL)["upstream_stall_ratio"] is None


def test_a_full_link_holds_up_what_is_before_it(tmp_path: Path) -> None:
    """esx9 reads 415.2 MB/s over 4GFC."""
    assert row(two_switches(tmp_path, neighbour=1.0), ISL)["held_up_behind"] is True


@pytest.mark.parametrize("far_end", [1.0, 0.5])
def test_both_ends_of_a_link_between_switches_are_compared(tmp_path: Path, far_end: float) -> None:
    facts = two_switches(tmp_path, far_end=far_end)
    assert row(facts, ISL)["ends_ratio"] == pytest.approx(far_end, rel=1e-3)
    assert row(facts, LOCAL)["ends_ratio"] is None


def test_a_trunk_of_one_link_is_that_link(tmp_path: Path) -> None:
    facts = two_switches(tmp_path)
    between = row(facts, ISL)
    assert between["trunk_links"] == 1
    assert between["trunk_utilisation"] == pytest.approx(1.1 * COUNTED / 1700e6, rel=1e-3)
    assert row(facts, LOCAL)["trunk_links"] is None
    assert (between["near_port"], between["far_port"]) == ("switch_port:sw1/fc1/31", "switch_port:sw2/fc1/31")


def test_the_fastest_link_of_the_test_is_named_on_every_link() -> None:
    """4 and 8 Gb/s to the host, 16 from the array."""
    rows = computed("unequal").tables["link"].select(direction="read")
    assert {r["fastest_array_bits_per_second"] for r in rows} == {16e9}
    assert {
        r["fastest_array_bits_per_second"] for r in computed("unequal").tables["link"].select(direction="write")
    } == {None}


def test_a_share_of_others_is_told_of_the_link_they_fill(tmp_path: Path) -> None:
    """40 % of the array's port, less the tolerance of 2 % of the test's own."""
    facts = compute(STORIES["neighbour"](San(tmp_path)).write())
    shared = facts.tables["link"].select(entity="link:sw1/fc1/1--fa1/CT0.FC0", direction="read")[-1]
    assert shared["foreign_ratio"] == pytest.approx(0.4 - 0.6 * 0.02, abs=1e-3)


def test_more_than_a_line_carries_is_told_and_not_judged(tmp_path: Path) -> None:
    """415.2 MB/s on what the switch calls 2 Gb/s, 212.5 MB/s."""
    san = San(tmp_path, ports=[replace(HOST_PORT, speed=2), fast(ARRAY_PORT)])
    san.step("t", 16, read=Flow(X, 16 / X), ports={"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)})
    found = row(compute(san.write()), LOCAL)
    assert found["counted_ratio"] == pytest.approx(415.2 / 212.5, rel=1e-3)
    assert found["utilisation"] is None
