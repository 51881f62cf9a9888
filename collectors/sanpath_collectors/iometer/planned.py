"""What a configuration file asks for → things: loads with their profile, no samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from sanpath.errors import CollectorError, Failure
from sanpath.model import Scalar
from sanpath.plugin import Item, warning
from sanpath_collectors.iometer.configuration import Configuration, Worker
from sanpath_collectors.iometer.inventory import Inventory, area_bytes, local_id, profile

_SHARED = ("block_bytes", "read_ratio", "random_ratio", "rate_limited", "fill", "align_bytes")
"""Attributes of the whole when all targets have them in common."""


class ConfigurationFile:
    """Yields the loads when the whole file is known."""

    time_us = 0

    def __init__(self, load: str) -> None:
        self._load = load
        self._inventory = Inventory(load)
        self._read = Configuration()

    def line(self, line: str) -> Iterator[Item]:
        """One line: it yields nothing yet."""
        self._read.line(line)
        yield from ()

    def end(self, cut_line: str) -> Iterator[Item]:
        """The loads. Raises CollectorError(UNREADABLE): there is nothing in the file."""
        read = self._read
        read.line(cut_line)
        if not (read.workers or read.specifications or read.seconds):
            text = "no section of an Iometer configuration can be read : save it from Iometer again"
            raise CollectorError(Failure.UNREADABLE, text)
        workers = [worker for worker in read.workers if worker.kind == "DISK" and worker.targets]
        for worker in workers:
            for target in worker.targets:
                load = local_id(self._load, worker.manager, worker.name, target)
                yield from self._inventory.tell(load, self._target(worker))
        yield from self._inventory.tell(self._load, self._whole(workers))
        if not read.closed:
            text = "the last line is not the version again: the file is cut, what is read may not be all of it"
            yield warning(self.time_us, "cut-file", text)

    def _target(self, worker: Worker) -> dict[str, Scalar]:
        """One target of a worker: what all access specifications have in common that it runs one after the other."""
        assigned = [self._read.specifications.get(name) for name in worker.specifications] or [None]
        told = [
            profile(
                specification,
                version=self._read.version,
                in_flight=None if "OUTSTANDING" in self._read.test_type.upper() else worker.queue_depth,
                threads=1,
                files=1,
                working_set_bytes=area_bytes([worker.sectors]),
            )
            for specification in assigned
        ]
        return reduce(_in_common, told) | self._times | ({"fill": worker.fill} if worker.fill else {})

    def _whole(self, workers: Sequence[Worker]) -> dict[str, Scalar]:
        """All targets together; the I/Os in flight are not one number where they change from test to test."""
        depths = [None if w.queue_depth is None else w.queue_depth * len(w.targets) for w in workers]
        told = [depth for depth in depths if depth is not None]
        is_one = told and len(told) == len(depths) and self._read.test_type.upper() == "NORMAL"
        targets = {(worker.manager, target): worker.sectors for worker in workers for target in worker.targets}
        whole = profile(
            None,
            version=self._read.version,
            in_flight=sum(told) if is_one else None,
            threads=len(workers) or None,
            files=len(targets) or None,
            working_set_bytes=area_bytes(targets.values()),
        )
        shared = reduce(_in_common, map(self._target, workers)) if workers else {}
        return whole | {name: shared[name] for name in _SHARED if name in shared} | self._times

    @property
    def _times(self) -> dict[str, Scalar]:
        told = {"seconds": self._read.seconds, "warmup_seconds": self._read.ramp_seconds}
        return {name: value for name, value in told.items() if value is not None}


def _in_common(one: dict[str, Scalar], other: dict[str, Scalar]) -> dict[str, Scalar]:
    return {name: value for name, value in one.items() if other.get(name) == value}
