"""One test from two hosts at once: each has a link of its own, the array's is shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose, judge_recording
from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath.whatif.what_if import what_if
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, OTHER_HOST, SECOND_HBA, X, fast


@dataclass(slots=True)
class TwoHosts(San):
    """The load of every step runs on esx7 and esx9; fio on esx9 begins a moment later.

    `shares`: of operations and of I/Os in flight that each has."""

    shares: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {"esx7": (0.5, 0.5), "esx9": (0.5, 0.5)}
    )

    def _load(self, out: RecordingBuilder, last: float) -> None:
        for host, late in (("esx7", 0.0), ("esx9", 0.4)):
            root = f"{host}/fio"
            operations, in_flight = self.shares[host]
            out.source(root, "fio", LOAD)
            out.entity(root, "load", root, ids={"name": (root,)})
            out.link(root, "runs_on", (("load", root), ("host", host)))
            for number, step in enumerate(self.steps):
                job = f"{root}/{step.name}"
                out.entity(root, "load", job, ids={"name": (job,)})
                out.link(root, "member_of", (("load", job), ("load", root)))
                mark: dict[str, Scalar] = {
                    "step": step.name,
                    "group": number,
                    "loads": job,
                    "block_bytes": step.block,
                }
                out.event(root, step.begin + late, "step-begin", **mark, offered=in_flight * step.in_flight)
                out.event(root, step.end + late, "step-end", **mark)
            for second in range(int(last) + 1):
                out.poll(root, second)
                jobs = {f"{root}/{s.name}": self._job(s, second) for s in self.steps if s.begin <= second}
                own = {
                    job: {
                        name: round(value * (in_flight if name.startswith("latency") else operations))
                        for name, value in values.items()
                        if value is not None and name.endswith("_total")
                    }
                    for job, values in jobs.items()
                }
                if own:
                    out.samples(root, LOAD, second, own)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """8GFC at the hosts, half full each; 4GFC at the array, 415.2 of 425 MB/s."""
    folder: Path = tmp_path_factory.mktemp("two") / "two.sanpath"
    san = TwoHosts(folder, ports=[fast(HOST_PORT, 8), fast(OTHER_HOST, 8), ARRAY_PORT])
    san.step(
        "both",
        128,
        read=Flow(X, 128 / X),
        seconds=40,
        ports={"fc1/7": (COUNTED / 2, NOTHING), "fc1/9": (COUNTED / 2, NOTHING), "fc1/1": (COUNTED, NOTHING)},
        array={"read": AtArray(0.00035, san=0.0047)},
    )
    return diagnose(san.write())


def test_the_shared_link_is_named(result: Diagnosis) -> None:
    assert result.verdict.kind == "bottleneck"
    assert result.verdict.bottlenecks[0].entity == "link:sw1/fc1/1--fa1/CT0.FC0"


def test_it_is_one_step_with_the_sum_of_both(result: Diagnosis) -> None:
    (step,) = result.steps
    assert step.name == "both"
    assert step.directions["read"].ops_per_second == pytest.approx(X, rel=0.01)
    assert step.in_flight.configured == 128
    assert step.in_flight.measured == pytest.approx(128, rel=0.01)


def test_each_host_carries_its_half(result: Diagnosis) -> None:
    shares = {e.entity: e.share for e in result.elements if e.direction == "read"}
    assert shares["link:esx7/vmhba2--sw1/fc1/7"] == pytest.approx(0.5, rel=0.02)
    assert shares["link:esx9/vmhba2--sw1/fc1/9"] == pytest.approx(0.5, rel=0.02)
    assert shares["link:sw1/fc1/1--fa1/CT0.FC0"] == pytest.approx(1.0)


def test_the_load_is_named_after_both(result: Diagnosis) -> None:
    (budget,) = result.latency_budget
    assert budget.total_seconds == pytest.approx(128 / X, rel=0.01)
    assert result.verdict.headline


def test_what_one_of_two_hosts_alone_would_do_is_not_guessed(tmp_path: Path) -> None:
    """A link of one host slowed down does not slow the other; half of the I/Os in flight are not the test's."""
    san = TwoHosts(tmp_path, ports=[fast(HOST_PORT, 8), fast(OTHER_HOST, 8), ARRAY_PORT])
    half = (COUNTED / 2, NOTHING)
    ports = {"fc1/7": half, "fc1/9": half, "fc1/1": (COUNTED, NOTHING)}
    san.step("both", 128, read=Flow(X, 128 / X), seconds=40, ports=ports, array={"read": AtArray(0.00035)})
    facts, judgements = judge_recording(san.write())
    (slower,) = what_if(facts, judgements, ("switch_port:sw1/fc1/7.speed=1GFC",), relieve=False).steps
    assert slower.predicted_ops_per_second is None
    assert slower.unknown is not None
    assert "would limit one of several loads" in slower.unknown
    (wanted,) = what_if(facts, judgements, ("load:esx7/fio.in_flight=8",), relieve=False).settings
    assert (wanted.judged, wanted.note) == (False, "the test has several loads: a part of them cannot be predicted")
    (shared,) = what_if(facts, judgements, (), relieve=True).steps
    assert shared.likely_ops_per_second == pytest.approx((2 * 6297, 2 * 6297), rel=0.01)
    assert shared.untested[0].startswith("a different split between the loads")


def test_a_full_link_of_one_host_does_not_take_what_a_faster_one_of_the_other_brings(tmp_path: Path) -> None:
    """2GFC is full at both hosts, and only one of them gets a faster link."""
    san = TwoHosts(tmp_path, ports=[fast(HOST_PORT, 2), fast(OTHER_HOST, 2), fast(ARRAY_PORT)])
    half = (COUNTED / 2, NOTHING)
    ports = {"fc1/7": half, "fc1/9": half, "fc1/1": (COUNTED, NOTHING)}
    san.step("both", 128, read=Flow(X, 128 / X), seconds=40, ports=ports, array={"read": AtArray(0.00035)})
    facts, judgements = judge_recording(san.write())
    (faster,) = what_if(facts, judgements, ("switch_port:sw1/fc1/7.speed=8GFC",), relieve=False).steps
    assert faster.unknown is not None
    assert "would limit one of several loads" in faster.unknown


@pytest.mark.parametrize("first_share", [0.5, 0.62])
def test_paths_in_turn_are_judged_by_host(tmp_path: Path, first_share: float) -> None:
    """Each host's two links carry together what one of them can, and one maybe 0.19 of the whole test: four links are
    no sign of room."""
    ports = [HOST_PORT, SECOND_HBA, OTHER_HOST, replace(OTHER_HOST, name="fc1/10", device="vmhba3", wwpn="21" * 8)]
    san = TwoHosts(tmp_path / "a.sanpath", ports=[*ports, fast(ARRAY_PORT, 64)])
    for n in (64, 256):
        shares = (first_share, 1 - first_share) * 2
        counted = {port.name: (share * COUNTED, NOTHING) for port, share in zip(ports, shares, strict=True)}
        counted |= {"fc1/1": (2 * COUNTED, NOTHING)}
        san.step(f"t{n}", n, read=Flow(2 * X, n / 2 / X), ports=counted, array={"read": AtArray(0.0004)}, seconds=30)
    found = diagnose(san.write())
    assert found.verdict.suspects[0].kind == "path_policy"
    assert "4 links of 2 hosts are busy" in " ".join(found.verdict.suspects[0].because)


@pytest.mark.parametrize("slow", [("fc1/7",), ("fc1/9",), ("fc1/7", "fc1/9")])
def test_a_full_link_of_one_host_is_no_ceiling_of_the_other(tmp_path: Path, slow: tuple[str, ...]) -> None:
    """2GFC at some of the hosts is full as well as 4GFC at the array: they bind together only if it is so at all."""
    hosts = [fast(port, 2 if port.name in slow else 8) for port in (HOST_PORT, OTHER_HOST)]
    san = TwoHosts(tmp_path, ports=[*hosts, ARRAY_PORT])
    half = (COUNTED / 2, NOTHING)
    ports = {"fc1/7": half, "fc1/9": half, "fc1/1": (COUNTED, NOTHING)}
    san.step(
        "both", 128, read=Flow(X, 128 / X), seconds=40, ports=ports, array={"read": AtArray(0.00035, san=0.0047)}
    )
    (first, *_) = diagnose(san.write()).verdict.bottlenecks
    assert first.entity == "link:sw1/fc1/1--fa1/CT0.FC0"
    assert len(first.coincident) == (2 if len(slow) == 2 else 0)


def test_a_busy_link_of_one_host_is_not_what_the_ios_of_the_other_wait_for(tmp_path: Path) -> None:
    """64 I/Os of esx7 take 17 ms over a link that is a third full, 16 of esx9 take 1.6 ms over one that is 81 %
    full."""
    ports = [fast(HOST_PORT, 8), fast(OTHER_HOST, 8), fast(ARRAY_PORT, 16)]
    san = TwoHosts(tmp_path, ports=ports, shares={"esx7": (0.27, 0.8), "esx9": (0.73, 0.2)})
    for n, ops in ((20, 2.0 * X), (80, 2.22 * X)):
        counted = {"fc1/7": 0.27, "fc1/9": 0.73, "fc1/1": 1.0}
        filled = {name: (share * ops / X * COUNTED, NOTHING) for name, share in counted.items()}
        san.step(f"t{n}", n, read=Flow(ops, n / ops), seconds=40, ports=filled, array={"read": AtArray(0.00035)})
    found = diagnose(san.write())
    assert "link:esx9/vmhba2--sw1/fc1/9" not in {suspect.entity for suspect in found.verdict.suspects}
