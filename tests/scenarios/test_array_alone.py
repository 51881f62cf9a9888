"""A storage administrator reads the array and the fabric, and nothing of the hosts: what the array counts for its
hosts is the load. What waits above the array is in none of its figures."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.plugin import Table
from tests.scenarios.test_without_a_generator import Copy
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, judged

SERVICE, TRANSFER = 0.00035, 0.0047
BY_THE_LOAD = {"demand_limited", "concurrency_limited", "generator_limited", "healthy"}
"""Verdicts about what a load does, of which an array sees nothing."""


class OnlyArray(San):
    """The array presents vol01 to esx7, whose adapters it knows."""

    def _configuration(self, out: RecordingBuilder) -> None:
        pass

    def _load(self, out: RecordingBuilder, last: float) -> None:
        pass


def of_array(folder: Path, **about: object) -> OnlyArray:
    folder.mkdir(exist_ok=True)
    return OnlyArray(folder / "r.sanpath", array_hosts={"vol01": "esx7"}, **about)  # type: ignore[arg-type]


def reads(san: San, ops: float, at_array: AtArray, block: int = 64 * KIB, seconds: float = 40) -> None:
    on_link = ops * block * COUNTED / (X * 64 * KIB)
    ports = {"fc1/7": (on_link, NOTHING), "fc1/1": (on_link, NOTHING)}
    flow = Flow(ops, at_array.service)
    san.step("", 0, block=block, read=flow, ports=ports, array={"read": at_array}, seconds=seconds)


def test_a_full_link_is_named_from_what_the_array_and_the_switch_count(tmp_path: Path) -> None:
    san = of_array(tmp_path)
    reads(san, X, AtArray(SERVICE, san=TRANSFER))
    found = judged(san.write())
    assert (found.verdict.kind, found.verdict.grade) == ("bottleneck", "A")
    assert found.verdict.bottlenecks[0].entity == f"link:{HOST_PORT.wwpn}--sw1/fc1/7"
    assert "array:fa1" in {cleared.entity for cleared in found.cleared}
    assert "by the array's clock" in (found.summary.consequence or "")


def test_only_the_busy_part_is_judged(tmp_path: Path) -> None:
    """30 s of nothing, 40 s of reads, 30 s of nothing."""
    san = of_array(tmp_path)
    san.step("", 0, seconds=30)
    reads(san, X, AtArray(SERVICE, san=TRANSFER))
    san.step("", 0, seconds=30)
    (step,) = judged(san.write()).steps
    assert step.directions["read"].ops_per_second == pytest.approx(X, rel=0.02)
    assert step.directions["read"].latency_seconds.mean == pytest.approx(SERVICE + TRANSFER, rel=0.02)
    assert step.seen_at_array


def test_a_qos_limit_is_named(tmp_path: Path) -> None:
    san = of_array(tmp_path)
    reads(san, 1000, AtArray(SERVICE, san=0.0003, qos=0.02))
    found = judged(san.write())
    assert found.verdict.kind == "configured_cap"
    assert found.verdict.bottlenecks[0].entity in ("array:fa1", "volume:fa1/vol01")


def test_an_array_whose_queue_grows_is_named(tmp_path: Path) -> None:
    san = of_array(tmp_path)
    for queue in (0.0002, 0.02):
        reads(san, 2000 if queue < 0.001 else 2100, AtArray(0.004, queue=queue, san=0.0003), 8 * KIB)
    found = judged(san.write())
    assert found.verdict.kind == "bottleneck"
    assert found.verdict.bottlenecks[0].entity in ("array:fa1", "volume:fa1/vol01")


def test_a_host_that_sends_little_may_have_any_limit_of_its_own(tmp_path: Path) -> None:
    """With half an I/O in the array, 100 may wait in the host."""
    san = of_array(tmp_path)
    reads(san, 800, AtArray(SERVICE, san=0.0003), 8 * KIB)
    found = judged(san.write())
    assert found.verdict.kind == "cannot_tell"
    assert found.verdict.suspects[0].place == "the host, or what it asks for"
    assert (found.summary.action or "").startswith("Repeat the test, and let sanpath read host esx7")
    (load,) = [missing for missing in found.unobserved if missing.what == "the load"]
    assert load.why == "no load generator and no host was read: the array's counters for esx7 stand in"


@pytest.mark.parametrize("seed", range(12))
def test_an_array_accuses_no_load(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    san = of_array(tmp_path, leave_out={"switch"} if rng.random() < 0.5 else frozenset())
    for _ in range(rng.randrange(1, 4)):
        ops, service = 10 ** rng.uniform(1, 4.5), 10 ** rng.uniform(-4, -2)
        queue = rng.choice([None, 0.0, 10 ** rng.uniform(-4, -2)])
        reads(san, ops, AtArray(service, queue=queue, san=rng.choice([None, 0.0005])), 4 * KIB, 20)
    found = judged(san.write())
    assert found.verdict.kind not in BY_THE_LOAD
    assert not BY_THE_LOAD & {suspect.verdict for suspect in found.verdict.suspects}


class ByHost(OnlyArray):
    """An array that counts its hosts as well: esx7 alone is busy, and ten others hardly are."""

    def _array(self, out: RecordingBuilder, last: float) -> None:
        super()._array(out, last)
        out.source("fa1", "flasharray", HOST)
        for name in (*(f"other{n}" for n in range(10)), "esx7"):
            out.entity("fa1", "host", name, ids={"name": (name,)})
            for at in range(int(last)):
                busy = any(step.begin <= at - 1 and at <= step.end for step in self.steps if step.flows)
                ops = (X if busy else 0.0) if name == "esx7" else 20.0
                values = {"ops_per_second_read": ops, "bytes_per_second_read": ops * 64 * KIB}
                values |= {"service_seconds_read": 1e6 * SERVICE, "san_seconds_read": 1e6 * TRANSFER}
                out.samples("fa1", HOST, at + 0.1, {name: values}, device_at=at, covers=1.0)


HOST = Table("host", tuple(replace(column) for column in ARRAY.columns if column.metric.endswith("_read")))


def test_the_busiest_of_the_hosts_that_an_array_counts_is_the_load(tmp_path: Path) -> None:
    san = ByHost(tmp_path / "r.sanpath", array_hosts={"vol01": "esx7"})
    reads(san, X, AtArray(SERVICE, san=TRANSFER))
    found = judged(san.write())
    assert found.steps[0].directions["read"].ops_per_second == pytest.approx(X, rel=0.02)
    assert found.verdict.bottlenecks[0].entity == f"link:{HOST_PORT.wwpn}--sw1/fc1/7"


def test_another_host_of_the_array_is_no_load_where_an_idle_one_is_read(tmp_path: Path) -> None:
    san = Copy(tmp_path / "r.sanpath", array_hosts={"vol01": "other"})
    reads(san, X, AtArray(SERVICE, san=TRANSFER))
    found = judged(san.write())
    assert found.verdict.headline == "no I/O of a load was recorded: nothing can be judged"
