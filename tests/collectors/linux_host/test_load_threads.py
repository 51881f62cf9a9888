"""How long threads of a load run and wait: real ones that share a core, and what a machine may answer."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator, Mapping

import pytest

from sanpath.plugin import Cost
from sanpath.transport.local_machine import LocalMachine
from sanpath_collectors.linux_host.load_threads import LoadThreads
from sanpath_collectors.linux_host.snapshot import Snapshot

SECOND_US = 1_000_000


def polls(*snapshots: Mapping[str, str], processes: tuple[str, ...] = ("10",)) -> dict[str, float]:
    """The ratios of the last of some polls, a second apart. A snapshot: /proc/… of a thread → content."""
    threads, ratios = LoadThreads(), {}
    for n, files in enumerate(snapshots, start=1):
        named = {f"/proc/{path}": content.encode() for path, content in files.items()}
        ratios = threads.ratios(Snapshot(named), processes, n * SECOND_US)
    return ratios


def test_the_threads_that_want_to_run_count_and_those_that_sleep_do_not() -> None:
    first = {"10/task/10/schedstat": "5000 700 3", "10/task/11/schedstat": "0 0 1"}
    then = {"10/task/10/schedstat": "250005000 600000700 9", "10/task/11/schedstat": "1000 1000 2"}
    ratios = polls(first, then)
    assert ratios["load_thread_run_ratio"] == pytest.approx(0.25, rel=0.01)
    assert ratios["load_thread_wait_ratio"] == pytest.approx(0.6, rel=0.01)


def test_processes_that_a_process_has_started_belong_to_it() -> None:
    parent = {"10/task/10/schedstat": "100 0 1", "10/task/10/children": "12 "}
    first = {**parent, "12/task/12/schedstat": "0 0 1"}
    then = {**parent, "12/task/12/schedstat": "900000000 0 5"}
    assert polls(parent, first, then)["load_thread_run_ratio"] == pytest.approx(0.9, rel=0.01)


@pytest.mark.parametrize(
    "then",
    [
        {"10/task/10/schedstat": "900000000 0 0"},
        {"10/task/10/schedstat": "nothing"},
        {"10/task/10/schedstat": "-1 7 x"},
        {"10/task/99/schedstat": "900000000 0 4"},
        {},
    ],
    ids=["runs are not counted", "no numbers", "no counters", "another thread", "the process has ended"],
)
def test_what_was_not_counted_both_times_is_not_known(then: Mapping[str, str]) -> None:
    assert polls({"10/task/10/schedstat": "100 0 1"}, then) == {}


def test_a_process_id_that_is_used_again_is_no_negative_time() -> None:
    ratios = polls({"10/task/10/schedstat": "900000000 900000000 9"}, {"10/task/10/schedstat": "100 500000000 9"})
    assert all(0 <= ratio <= 1 for ratio in ratios.values())


@pytest.fixture
def spinning() -> Iterator[list[int]]:
    """Two processes that share one core and never pause."""
    core = min(os.sched_getaffinity(0))
    started = [subprocess.Popen(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        yield [each.pid for each in started]
    finally:
        for each in started:
            each.kill()
            each.wait()


@pytest.mark.waiting
def test_real_threads_that_share_a_core_wait_for_it(spinning: list[int]) -> None:
    machine, threads, ids = LocalMachine(Cost()), LoadThreads(), [str(pid) for pid in spinning]
    ratios: dict[str, float] = {}
    for _ in range(3):
        time.sleep(0.5)
        snapshot = Snapshot(asyncio.run(machine.read(threads.files(ids))))
        ratios = threads.ratios(snapshot, ids, time.monotonic_ns() // 1000)
    assert sum(ratios.values()) > 0.9
    assert ratios["load_thread_wait_ratio"] > 0.3
