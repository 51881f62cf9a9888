"""Processors that are all busy: with the load's I/Os, or with what others do on its machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath_collectors.linux_host.tables import CGROUP, HOST, LUN
from tests.scenarios.test_control_groups import Grouped
from tests.support.recording import RecordingBuilder
from tests.support.san import KIB, Flow
from tests.support.stories import judged

TICKS = 200
"""Ticks of a second, on two processors."""


@dataclass(slots=True)
class OnBusyProcessors(Grouped):
    """The processors of db7 are busy, and one core has no pause.

    `waits`, `runs`: share of the time that a thread of the load waits for a processor, and runs on it; None: not
    read. `together`: busy share of all processors; `together_at_first`: that of the first step. `interrupts`: share
    of its time that the full core serves interrupts.
    """

    waits: float | None = None
    runs: float | None = None
    together: float = 1.0
    together_at_first: float = 1.0
    interrupts: float | None = None

    def _configuration(self, out: RecordingBuilder) -> None:
        Grouped._configuration(self, out)
        out.source("db7", "linux_host", LUN, CGROUP, HOST)
        ratios = {
            "load_thread_run_ratio": self.runs,
            "load_thread_wait_ratio": self.waits,
            "cpu_busiest_core_ratio": 1.0,
            "cpu_busiest_core_interrupt_ratio": self.interrupts,
        }
        for at in range(int(self.steps[-1].end) + 2):
            at_first = min(at, self.steps[0].end) if len(self.steps) > 1 else 0.0
            busy_ticks = TICKS * (at_first * self.together_at_first + (at - at_first) * self.together)
            busy = {"cpu_busy_seconds_total": round(busy_ticks), "cpu_seconds_total": at * TICKS}
            out.samples("db7", HOST, at, {"db7": {**busy, **ratios}})


def reads(
    folder: Path, in_flight: int, seconds: float, at_device: float, cpu: float | None, **read: float
) -> Diagnosis:
    """Reads of 8 KiB. `seconds`: their latency; `at_device`: the part of it from the block device on."""
    san = OnBusyProcessors(folder / "r.sanpath", ports=[], leave_out={"switch", "array", "disk"}, **read)
    ops = in_flight / seconds
    san.step("s", in_flight, block=8 * KIB, read=Flow(ops, seconds), disk={"read": Flow(ops, at_device)}, cpu=cpu)
    return judged(san.write())


def generator(found: Diagnosis) -> float:
    """How probable it is that the load generator, or its machine, limits."""
    return sum(s.probability for s in found.verdict.suspects if s.verdict == "generator_limited")


def test_threads_that_wait_for_a_processor_are_limited_by_the_processors(tmp_path: Path) -> None:
    """32 outstanding, one of them in the device: the thread waits three fifths of the time, and never sleeps."""
    found = reads(tmp_path, 32, 2e-3, 6e-5, 0.39, waits=0.6, runs=0.39)
    assert found.verdict.kind == "generator_limited"
    assert found.verdict.suspects[0].place == "the processors of db7"
    assert found.summary.action == "Stop other work on the processors of db7, or use more or faster ones"


@pytest.mark.parametrize("runs", [0.1, 0.4, 0.7])
def test_a_thread_that_others_keep_from_its_core_limits_although_other_cores_idle(
    tmp_path: Path, runs: float
) -> None:
    """32 outstanding, one of them in the device. The thread never sleeps: it runs, or waits for a core that a program
    uses which is bound to it; half of all processors idle."""
    found = reads(tmp_path, 32, 2e-3, 6e-5, runs, waits=1 - runs, runs=runs, together=0.5)
    assert found.verdict.kind == "generator_limited"
    assert found.verdict.grade in ("A", "B")
    assert found.summary.action == "Stop other work on the cores that the load uses, or use more or faster ones"


def test_a_generator_whose_threads_wait_for_a_core_is_not_cleared(tmp_path: Path) -> None:
    found = reads(tmp_path, 32, 2e-3, 6e-5, 0.44, waits=0.39, runs=0.44, together=0.6)
    assert not [element for element in found.cleared if element.entity.startswith("load:")]


@pytest.mark.parametrize("waits", [0.0, 0.1, 0.3])
def test_a_thread_that_sleeps_is_not_kept_from_its_core(tmp_path: Path, waits: float) -> None:
    found = reads(tmp_path, 32, 2e-3, 2e-3, 0.3, waits=waits, runs=0.3, together=0.5)
    assert generator(found) < 0.1


@pytest.mark.parametrize("cpu", [0.25, None], ids=["its process reports its use", "it does not"])
def test_processors_that_others_fill_do_not_limit_threads_that_hardly_wait_for_them(
    tmp_path: Path, cpu: float | None
) -> None:
    found = reads(tmp_path, 1, 7.1e-5, 5e-5, cpu, waits=0.03, runs=0.25)
    assert generator(found) < 0.02
    assert found.verdict.suspects[0].verdict == "concurrency_limited"


@pytest.mark.parametrize(("runs", "is_limit"), [(0.14, False), (0.75, True)], ids=["it sleeps", "it never sleeps"])
def test_a_thread_that_sleeps_beside_its_ios_can_keep_up_with_them(
    tmp_path: Path, runs: float, is_limit: bool
) -> None:
    """32 outstanding, most of them above the device; the thread waits for a processor in a quarter of the time."""
    found = reads(tmp_path, 32, 2e-3, 6e-5, runs, waits=0.24, runs=runs)
    assert (generator(found) > 0.5) is is_limit
    assert is_limit or generator(found) < 0.05


@pytest.mark.parametrize(
    ("at_first", "waits", "at_device", "is_limit"),
    [
        (0.7, 0.32, 2e-3, True),
        (1.0, 0.32, 2e-3, False),
        (0.7, 0.01, 2e-3, False),
        (0.1, 0.32, 2e-3, False),
        (0.7, 0.32, 64 / 5400, False),
    ],
    ids=[
        "only more I/Os fill them",
        "they were full with fewer",
        "it hardly waits for them",
        "so few I/Os more do not fill them",
        "all of the time is in the device",
    ],
)
def test_processors_that_only_more_ios_fill_limit_a_thread_that_sleeps_between_batches(
    tmp_path: Path, at_first: float, waits: float, at_device: float, is_limit: bool
) -> None:
    """64 outstanding after 8, most of them above the device. The thread sleeps while the kernel works."""
    found = deeper(tmp_path, {8: 3500, 64: 5400}, at_device, waits=waits, together_at_first=at_first)
    assert (generator(found) > 0.5) is is_limit
    assert is_limit or generator(found) < 0.2


def test_processors_that_fewer_ios_fill_as_well_are_not_filled_by_more(tmp_path: Path) -> None:
    found = deeper(tmp_path, {1: 500, 8: 3500, 64: 5400}, 2e-3, waits=0.32, together_at_first=0.5)
    assert generator(found) < 0.2


def deeper(folder: Path, ops: Mapping[int, float], at_device: float, **read: float) -> Diagnosis:
    """Reads of 4 KiB from the device itself, I/Os in flight → I/Os a second in a step. `at_device`: most of the
    seconds that an I/O takes from the block device on."""
    san = OnBusyProcessors(
        folder / "r.sanpath",
        ports=[],
        leave_out={"switch", "array", "disk"},
        addressed="sda",
        about={"block_devices": True},
        runs=0.49,
        **read,  # type: ignore[arg-type]
    )
    for n, rate in ops.items():
        disk = {"read": Flow(rate, min(at_device, n / rate))}
        san.step(f"t{n}", n, block=4 * KIB, read=Flow(rate, n / rate), disk=disk, cpu=0.49)
    return judged(san.write())


def test_a_thread_that_waits_for_a_core_between_batches_may_be_held_by_that(tmp_path: Path) -> None:
    """16 outstanding. The thread runs in 15 % of the time, and waits for a core in 60 %, or in 5 %."""
    waits = [generator(reads(tmp_path / str(w), 16, 1.4e-3, 1e-3, 0.15, waits=w, runs=0.15)) for w in (0.05, 0.6)]
    assert waits[0] < 0.05
    assert waits[1] > 0.3


def test_busy_processors_hold_no_load_that_hardly_uses_one(tmp_path: Path) -> None:
    """400 reads a second with 4 and 32 outstanding, of the device itself, with 0.15 % of a core. They come to the
    device in bursts, and less than one is there at a time: a control group that nobody read holds them above it."""
    san = OnBusyProcessors(
        tmp_path / "r.sanpath",
        ports=[],
        leave_out={"switch", "array", "disk"},
        addressed="sda",
        about={"block_devices": True},
    )
    for n, at_device in ((4, 2.3e-5), (32, 1.9e-4)):
        disk = {"read": Flow(400, at_device)}
        san.step(f"t{n}", n, block=16 * KIB, read=Flow(400, n / 400), disk=disk, cpu=0.0015)
    found = judged(san.write())
    assert found.verdict.suspects[0].kind == "io_stack", found.verdict.headline
    assert generator(found) < 0.3


def test_the_longer_threads_wait_the_more_processors_are_suspected(tmp_path: Path) -> None:
    waits = [0.01, 0.1, 0.3, 0.6, 0.9]
    found = [generator(reads(tmp_path / str(w), 1, 7.1e-5, 5e-5, 0.1, waits=w, runs=0.1)) for w in waits]
    assert found == sorted(found)
    assert found[0] < 0.02
    assert found[-1] > 0.6


@pytest.mark.parametrize(("at_device", "most"), [(5e-5, 0.25), (1e-5, 1.0)], ids=["in the device", "elsewhere"])
def test_a_thread_whose_io_is_in_the_device_does_not_wait_for_a_processor(
    tmp_path: Path, at_device: float, most: float
) -> None:
    """Where no source reads how long it waits, its time is told: it runs, its I/O is in the device, or it waits."""
    probability = generator(reads(tmp_path, 1, 7.1e-5, at_device, 0.26))
    assert most - 0.5 < probability < most


def test_a_full_core_without_interrupts_is_less_suspected_than_one_that_serves_them(tmp_path: Path) -> None:
    def core(interrupts: float | None) -> float:
        read = {} if interrupts is None else {"interrupts": interrupts}
        found = reads(tmp_path / str(interrupts), 16, 4e-3, 3.9e-3, 0.1, together=0.6, **read)
        return sum(s.probability for s in found.verdict.suspects if s.kind == "core")

    assert core(0.0) < core(0.2) < core(0.9) == pytest.approx(core(None))


def test_a_thread_that_polls_is_as_busy_as_one_that_cannot_keep_up(tmp_path: Path) -> None:
    """One read at a time. 82 µs in the device, with a thread that never sleeps, or 4 µs of which all is software."""
    polling = reads(tmp_path / "polls", 1, 82e-6, 80e-6, 0.998).verdict
    assert polling.kind == "concurrency_limited"
    assert generator(reads(tmp_path / "works", 1, 4e-6, 1e-6, 0.998)) > generator(
        reads(tmp_path / "as above", 1, 82e-6, 80e-6, 0.998)
    )


@pytest.mark.parametrize("outstanding", [2, 4, 8])
def test_a_thread_polls_if_all_of_its_ios_are_in_the_device(tmp_path: Path, outstanding: int) -> None:
    """A full thread has an I/O in its hands at any time: here 2 % of an I/O's time passes above the device."""
    found = reads(tmp_path, outstanding, 2e-4, 1.96e-4, 0.998, together=0.55)
    assert found.verdict.suspects[0].verdict == "concurrency_limited"
    assert generator(found) < 0.25


@pytest.mark.parametrize(
    ("at_first", "together", "limits"),
    [(0.6, 1.0, True), (1.0, 1.0, False), (0.3, 0.5, False)],
    ids=["filled by the I/Os", "full without them", "half idle"],
)
def test_full_processors_limit_work_of_the_kernel_between_a_device_and_its_parts(
    tmp_path: Path, at_first: float, together: float, limits: bool
) -> None:
    """Encryption, or parity: the kernel's own threads do it. Of 40 ms, 36 pass above the parts; the load's thread
    sleeps meanwhile, and hardly waits for a processor."""
    san = OnBusyProcessors(
        tmp_path / "r.sanpath",
        ports=[],
        leave_out={"switch", "array", "disk"},
        parts={"sdb": 0.1},
        about={"block_devices": True},
        waits=0.03,
        runs=0.07,
        together=together,
        together_at_first=at_first,
    )
    for n, ops in ((2, 200), (16, 400)):
        san.step(f"t{n}", n, block=64 * KIB, read=Flow(ops, n / ops), disk={"read": Flow(ops, n / ops)}, cpu=0.07)
    found = judged(san.write())
    assert (found.verdict.kind == "generator_limited") == limits, found.verdict.headline
    assert (generator(found) > 0.5) == limits
