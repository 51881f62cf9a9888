"""How long the threads of a load run on a processor, and wait for one. No I/O.

/proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst): nanoseconds on a processor, nanoseconds ready
to run on a run queue, and how often the thread was put on a processor:

    1193806333 1863732273 288

/proc/PID/task/TID/children (Documentation/filesystems/proc.rst, 3.7), the processes that it has started:

    24146 24147
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.snapshot import Snapshot

_MAX_PROCESSES = 50
"""Maximum processes whose threads are read: those of a load behave alike."""
_NANOSECONDS = 1000
"""Nanoseconds per microsecond."""

Times = tuple[int, int]
"""Nanoseconds on a processor, and waiting for one."""


class LoadThreads:
    """The threads of some processes and their child processes, from poll to poll."""

    def __init__(self) -> None:
        self._children: tuple[str, ...] = ()
        self._before: dict[str, Times] = {}
        self._before_us = 0

    def files(self, processes: Sequence[str]) -> list[str]:
        """Patterns of the files about the threads. `processes`: ids of the processes of the load."""
        patterns = ("schedstat", "children")
        return [f"/proc/{each}/task/*/{name}" for each in self._ids(processes) for name in patterns]

    def ratios(self, snapshot: Snapshot, processes: Sequence[str], seen_us: int) -> dict[str, float]:
        """Metric of tables.HOST → share of the time since the last poll. {}: no thread was read at both polls.

        It is the mean over the threads, weighted by how long each wanted to run: sleeping helper threads hardly
        count.
        """
        ids, before, before_us = self._ids(processes), self._before, self._before_us
        self._before, self._before_us = dict(_times(snapshot, ids)), seen_us
        self._children = tuple(_children(snapshot, ids))
        elapsed = (seen_us - before_us) * _NANOSECONDS
        spent = [
            (now[0] - before[thread][0], now[1] - before[thread][1])
            for thread, now in self._before.items()
            if thread in before
        ]
        wanted = [max(0, ran) + max(0, waited) for ran, waited in spent]
        if elapsed <= 0 or not any(wanted):
            return {}
        weighted = [
            sum(w * times[i] for w, times in zip(wanted, spent, strict=True)) / sum(wanted) / elapsed for i in (0, 1)
        ]
        metrics = ("load_thread_run_ratio", "load_thread_wait_ratio")
        return {metric: min(1.0, max(0.0, ratio)) for metric, ratio in zip(metrics, weighted, strict=True)}

    def _ids(self, processes: Sequence[str]) -> list[str]:
        return list(dict.fromkeys((*processes, *self._children)))[:_MAX_PROCESSES]


def _times(snapshot: Snapshot, processes: Sequence[str]) -> Iterator[tuple[str, Times]]:
    """Thread → its times. A kernel without run-queue accounting reports no runs."""
    for thread in _threads(snapshot, processes):
        values = [parse.number(word) for word in snapshot.text(f"{thread}/schedstat").split()]
        match values:
            case [int(ran), int(waited), int(runs)] if runs:
                yield thread, (ran, waited)


def _children(snapshot: Snapshot, processes: Sequence[str]) -> Iterator[str]:
    for thread in _threads(snapshot, processes):
        yield from (word for word in snapshot.text(f"{thread}/children").split() if parse.number(word))


def _threads(snapshot: Snapshot, processes: Sequence[str]) -> Iterator[str]:
    """Folders of the threads of some processes."""
    for process in processes:
        yield from (f"/proc/{process}/task/{name}" for name in snapshot.children(f"/proc/{process}/task"))
