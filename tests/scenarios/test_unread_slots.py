"""The clock of a block layer contains the wait for the device's slots, whose number nobody reads.

By Little's law the next clock tells how many I/Os are below them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.diagnosis.model import Verdict
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import LoadFacts
from sanpath.recording.reading.recording import Recording
from sanpath.verdict.places import segments
from sanpath.verdict.places.latency_segment import LatencySegment
from tests.scenarios.test_linux_storage import Storage
from tests.scenarios.test_tcp_connections import SLOW_TARGET, plateau
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import KIB, NAA, AtArray, Flow
from tests.support.stories import NOTHING, judged

SLOTS = 8
LUN, ARRAY = "lun:esx7/dm-0", "array:fa1"
Step = tuple[int, int, float, float, float]
"""I/Os in flight, KiB of each, I/Os a second, and their seconds at the array and between the clocks of host and
array."""


class OnLuns(Storage):
    """A load on one map, and in the steps `on_both` on another one as well, in equal parts."""

    on_both: Collection[str] = ()

    def _counted_by(self, name: str, second: float) -> dict[str, Number]:
        counted, steps = Counter[str](), self.steps
        for step in steps:
            maps = list(self.maps)[: 2 if step.name in self.on_both else 1]
            self.steps = [step]
            part = {metric: int(value or 0) // len(maps) for metric, value in self._disk(second).items()}
            part |= {f"bytes_{d}_total": step.block * part[f"ops_{d}_total"] for d in ("read", "write")}
            counted.update(part if name in maps else {})
        self.steps = steps
        return dict(counted)


class Scheduled(Storage):
    """The I/O scheduler of a map whose slots nobody reads; "": it is not known."""

    depth = None
    scheduler = ""

    def _configuration(self, out: RecordingBuilder) -> None:
        super()._configuration(out)
        about = {"kind": "multipath map", "scheduler": self.scheduler or None}
        out.entity("esx7", "lun", "dm-0", "esx7/dm-0", {"device": ("dm-0",), "naa": (NAA,)}, about)


def verdict_of(
    folder: Path, steps: Sequence[Step], depth: int | None = None, *, counts_bytes: bool = True
) -> Verdict:
    """fio on a device of the host, which waits below the clock of its block layer."""
    san = OnLuns(folder, leave_out={"disk"}, technology="ethernet")
    san.depth, san.counts_bytes = depth, counts_bytes
    return judged(recorded(san, steps)).verdict


def recorded(san: OnLuns, steps: Sequence[Step]) -> Recording:
    for number, (in_flight, kib, ops, served, _) in enumerate(steps):
        flow = Flow(ops, in_flight / ops)
        counted = (ops * kib * KIB * 1.04, NOTHING)
        san.step(
            f"s{number}",
            in_flight,
            block=kib * KIB,
            read=flow,
            disk={"read": flow},
            ports={"fc1/7": counted, "fc1/1": counted},
            array={"read": AtArray(served, queue=0.0, san=2e-5)},
        )
    return san.write()


def of_slots(in_flight: int, served: float, kib: int = 8) -> Step:
    """A device that lets `SLOTS` I/Os through."""
    ops = min(in_flight, SLOTS) / (served + 5e-5)
    return in_flight, kib, ops, served, in_flight / ops - served


def of_rate(in_flight: int, served: float, ops: float, kib: int = 8) -> Step:
    """Something before the array's clock that serves so many I/Os a second, one after another."""
    ops = min(ops, in_flight / (served + 5e-5 + 1 / ops))
    return in_flight, kib, ops, served, in_flight / ops - served


def probability(verdict: Verdict, entity: str) -> float:
    return sum(suspect.probability for suspect in verdict.suspects if suspect.entity == entity)


def odds(verdict: Verdict) -> float:
    """Of the device's slots, against the array."""
    return probability(verdict, LUN) / (probability(verdict, ARRAY) + 1e-3)


def test_the_path_of_each_step_is_worked_out_as_often_in_long_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for the step itself, and once for its comparison with all others."""
    worked_out: list[int] = []
    work_out = segments._without_waits

    def counted(facts: Facts, load: LoadFacts) -> list[LatencySegment]:
        worked_out.append(1)
        return work_out(facts, load)

    monkeypatch.setattr(segments, "_without_waits", counted)
    for steps in (3, 9):
        worked_out.clear()
        verdict_of(tmp_path / str(steps), [of_slots(8 + 8 * n, 0.003) for n in range(steps)])
        assert steps <= len(worked_out) <= 2 * steps


@pytest.mark.parametrize("depth", [SLOTS, None])
def test_a_full_device_is_named_whether_its_slots_are_counted_or_not(tmp_path: Path, depth: int | None) -> None:
    """With 4 outstanding I/Os nothing passes between the clocks; with 16 and 64 there are 8 at the array."""
    verdict = verdict_of(tmp_path, [of_slots(n, 0.003) for n in (4, 16, 64)], depth)
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == [LUN]
    assert (verdict.grade in "AB") == (depth is not None)


def test_an_io_holds_its_slot_between_the_clocks_as_well(tmp_path: Path) -> None:
    """0.1 ms pass between the clocks if a slot is free: of the 32 I/Os in the slots three are on this way. Before, 29
    I/Os were counted, which is no usual depth, and the array was named."""
    few, many = 16, 64
    ops = 32 / 1.12e-3
    steps = [(few, 8, few / 1.12e-3, 1e-3, 1e-4), (many, 8, ops, 1e-3, many / ops - 1.02e-3)]
    suspect = verdict_of(tmp_path / "r.sanpath", steps).suspects[0]
    assert (suspect.kind, suspect.entity) == ("lun", LUN)
    assert "32.0 I/Os are below it on average" in suspect.because


def test_writes_alone_may_wait_for_a_slot_where_a_scheduler_sends_reads_first(tmp_path: Path) -> None:
    """Eight slots, for which reads never wait long: of 128 outstanding I/Os 116 are writes that wait."""

    def of_lun(scheduler: str) -> float:
        san = Scheduled(tmp_path / f"r{scheduler}", leave_out={"disk"}, technology="ethernet")
        san.scheduler = scheduler
        flows = {"read": Flow(6_300, 1.9e-3), "write": Flow(6_300, 18.4e-3)}
        counted = 6_300 * 8 * KIB * 1.04
        ports = {"fc1/7": (counted, counted), "fc1/1": (counted, counted)}
        array = {"read": AtArray(1.02e-3, queue=0.0, san=2e-5), "write": AtArray(1e-4, queue=0.0, san=2e-5)}
        read, write = flows["read"], flows["write"]
        san.step("s", 128, block=8 * KIB, read=read, write=write, disk=flows, ports=ports, array=array)
        return sum(s.probability for s in judged(san.write()).verdict.suspects if s.entity == LUN)

    of_none, of_deadline = of_lun("none"), of_lun("mq-deadline")
    assert of_lun("") == of_none, "of an unknown host: others have no such scheduler"
    assert of_deadline > 0.3
    assert of_none < of_deadline / 2


def test_a_device_with_free_slots_is_no_suspect(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, [of_slots(n, 0.003) for n in (4, 16, 64)], depth=128)
    assert probability(verdict, LUN) < 0.05


def test_what_serves_before_the_arrays_clock_takes_its_time_also_where_nothing_waits(tmp_path: Path) -> None:
    """Free slots cost no time, but a server takes at least one part of its rate for each I/O."""
    ops = SLOTS / 0.00305
    slots, rate = (
        verdict_of(tmp_path / name, steps)
        for name, steps in (
            ("a", [of_slots(n, 0.003) for n in (1, 16, 64)]),
            ("b", [of_rate(n, 0.003, ops) for n in (1, 16, 64)]),
        )
    )
    assert odds(slots) > 5 * odds(rate)


def test_slots_that_more_ios_passed_in_another_step_are_not_full(tmp_path: Path) -> None:
    """32 outstanding I/Os were all at the array. Now 8 are, and the others before its clock."""
    free = (32, 8, 32 / 0.00305, 0.003, 5e-5)
    kept, passed = (
        verdict_of(tmp_path / name, [first, of_slots(64, 0.003)])
        for name, first in (("a", of_slots(4, 0.003)), ("b", free))
    )
    assert probability(kept, LUN) > 0.3
    assert probability(passed, LUN) < 0.05


def test_a_load_whose_bytes_nobody_counts_has_a_rate_of_ios(tmp_path: Path) -> None:
    slots = verdict_of(tmp_path, [of_slots(64, 0.006), of_slots(64, 0.003)], counts_bytes=False)
    assert odds(slots) > 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("with_both", [SLOTS, 4, 64])
def test_a_step_over_more_luns_says_nothing_of_the_slots_of_one(
    tmp_path: Path, order: tuple[int, int], with_both: int
) -> None:
    """Each LUN has slots of its own: the same load over two has up to twice as many I/Os at the array."""
    one, two = of_slots(64, 0.003), (with_both, 8, min(with_both, 2 * SLOTS) / 0.00305, 0.003, 0.0)
    kinds, weights = [], []
    for name, other, on_both in (("a", one, ()), ("b", two, (f"s{order.index(1)}",))):
        san = OnLuns(tmp_path / name, leave_out={"disk"}, technology="ethernet")
        san.depth, san.counts_bytes, san.on_both = None, True, on_both
        san.maps = {"dm-0": ("sda", "sdb"), "dm-1": ("sdc", "sdd")}
        _, judgements = judge_recording(recorded(san, [(one, other)[each] for each in order]))
        judgement = next(each for each in judgements if each.load.step == f"s{order.index(0)}")
        kinds.append((judgement.kind, [bottleneck.entity for bottleneck in judgement.bottlenecks]))
        weights.append({suspect.entity: suspect.probability for suspect in judgement.suspects})
    assert kinds[0] == kinds[1]
    assert weights[1][LUN] / weights[1][ARRAY] > 0.7 * weights[0][LUN] / weights[0][ARRAY]


@pytest.mark.parametrize("over_network", [False, True])
def test_a_load_that_speaks_to_its_target_itself_passes_no_queue_of_the_host(
    tmp_path: Path, over_network: bool
) -> None:
    """TCP is quick, and 15.4 of 16 ms pass outside it; the array's own time is not read. fio's engine nbd writes to a
    socket: no block device and no adapter of the host has slots for its I/Os."""
    about, silent = {"over_network": over_network}, frozenset({"array_samples"})
    suspects = plateau(tmp_path, SLOW_TARGET, leave_out=silent, about=about).verdict.suspects
    of_queue = [s for s in suspects if s.kind in ("lun", "hba") or s.place == "a queue of the host"]
    assert bool(of_queue) is not over_network
