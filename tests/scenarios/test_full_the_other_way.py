"""Links that are full in the direction opposite to the data: commands or answers go there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.table import number
from tests.scenarios.test_limits_by_their_times import likelihood
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, X, judged

HOST_LINK = "link:esx7/vmhba2--sw1/fc1/7"


@pytest.mark.parametrize("full", ["read", "write"])
def test_what_waits_for_its_answers_on_a_full_link_is_held_by_that_link(tmp_path: Path, full: str) -> None:
    """Seven reads a three writes, or the other way round, share what is in flight. The link is full in the direction
    of the many; the answers and commands of the few follow that data and wait as long. The array is calm."""
    few = "write" if full == "read" else "read"
    latency = 800 / (X * 10 / 7)
    counted = (COUNTED, COUNTED * 3 / 7) if full == "read" else (COUNTED * 3 / 7, COUNTED)
    san = San(tmp_path, leave_out={"disk"})
    san.step(
        "mixed",
        800,
        **{full: Flow(X, latency), few: Flow(X * 3 / 7, latency)},  # type: ignore[arg-type]
        ports={"fc1/7": counted, "fc1/1": counted},
        array={full: AtArray(0.00035), few: AtArray(0.00035)},
    )
    found = judged(san.write())
    assert [(one.entity, one.direction) for one in found.verdict.bottlenecks] == [(HOST_LINK, full)]
    (step,) = found.steps
    assert step.verdict.bottlenecks[0].entity == HOST_LINK
    budget = next(one for one in found.latency_budget if one.direction == few)
    waits = max(budget.parts, key=lambda part: part.seconds[1])
    assert (waits.entity, waits.layer) == (HOST_LINK, "fabric")


def test_writes_wait_for_answers_on_a_link_that_others_fill_with_reads(tmp_path: Path) -> None:
    """The test only writes. The link is full of reads that are not its own: those of another user, or of snapshots
    and RAID of its own host, which read before they write."""
    san = San(tmp_path)
    ops = 0.2 * X
    counted = (COUNTED, 0.2 * COUNTED)
    for n in (32, 128):
        flow = {"write": Flow(ops, n / ops)}
        array = {"write": AtArray(0.00035)}
        ports = {"fc1/7": counted, "fc1/1": counted}
        san.step(f"t{n}", n, write=flow["write"], ports=ports, disk=flow, array=array)
    recording = san.write()
    (row, *_) = compute(recording).tables["load"]
    assert number(row, "busiest_utilisation") == pytest.approx(415.2 / 425), "as rules see it"
    found = judged(recording)
    (bottleneck,) = found.verdict.bottlenecks
    assert (bottleneck.entity, bottleneck.direction) == (HOST_LINK, "read")
    assert "IOPS" in (found.summary.consequence or ""), "that of the writes"
    assert "in the read direction, in which writes get their answers" in bottleneck.because[0]
    assert not any("none was seen" in words for words in bottleneck.overturn_if), "all of the bytes are another's"


@pytest.mark.parametrize(
    ("latency", "block", "n"), [(0.45e-3, 64 * KIB, 1), (0.6e-3, 8 * KIB, 2), (0.8e-3, 64 * KIB, 1)]
)
def test_reads_pass_a_link_that_others_fill_with_writes_where_none_certainly_waits(
    tmp_path: Path, latency: float, block: int, n: int
) -> None:
    """One or two reads are outstanding and the array takes 0.4 ms of their time. Its link is full of another host's
    writes."""
    other = Port("fc1/9", "hbaX", "21000024ff000009", host="other")
    ports_used = [replace(HOST_PORT, speed=8), replace(ARRAY_PORT, speed=4), replace(other, speed=8)]
    san = San(tmp_path, ports=ports_used, leave_out={"disk"})
    flow = Flow(n / latency, latency)
    counted = 1.01 * flow.ops * block
    ports = {"fc1/7": (counted, NOTHING), "fc1/1": (counted, COUNTED), "fc1/9": (NOTHING, COUNTED)}
    san.step("q", n, block=block, read=flow, ports=ports, array={"read": AtArray(0.0004)})
    found = judged(san.write())
    assert not found.verdict.bottlenecks
    assert likelihood(found, "concurrency_limited", None) > 0.8
