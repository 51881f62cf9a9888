"""Converts a configuration file to entities: loads with their attributes, without samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from sanpath.errors import CollectorError, Failure
from sanpath.model import Scalar
from sanpath.plugin import Item, complete_sum, warning, without_none
from sanpath_collectors.iometer.configuration import Configuration, Worker
from sanpath_collectors.iometer.inventory import Inventory, load_attributes, local_id, total_area_bytes

_COMMON_ATTRIBUTES = ("block_bytes", "read_ratio", "random_ratio", "rate_limited", "fill", "align_bytes")
"""Attributes that the combined load has if they are equal for all targets."""


class ConfigurationFile:
    """Yields the loads at the end of the file."""

    time_us = 0

    def __init__(self, load: str) -> None:
        self._load = load
        self._inventory = Inventory(load)
        self._configuration = Configuration()

    def read_line(self, line: str) -> Iterator[Item]:
        """Parse a line. Yields nothing."""
        self._configuration.read_line(line)
        yield from ()

    def end(self, last_line: str) -> Iterator[Item]:
        """Yield the loads. Raises CollectorError(UNREADABLE) when the file contains no configuration."""
        configuration = self._configuration
        configuration.read_line(last_line)
        if not (configuration.workers or configuration.specifications or configuration.seconds):
            text = "no section of an Iometer configuration can be read: save it from Iometer again"
            raise CollectorError(Failure.UNREADABLE, text)
        workers = [worker for worker in configuration.workers if worker.kind == "DISK" and worker.targets]
        by_worker = [self._target_attributes(worker) for worker in workers]
        for worker, attributes in zip(workers, by_worker, strict=True):
            for target in worker.targets:
                load = local_id(self._load, worker.manager, worker.name, target)
                yield from self._inventory.update(load, attributes)
        yield from self._inventory.update(self._load, self._combined_attributes(workers, by_worker))
        if not configuration.complete:
            text = "the last line does not repeat the version: the file is incomplete, and some loads may be missing"
            yield warning(self.time_us, "cut-file", text)

    def _target_attributes(self, worker: Worker) -> dict[str, Scalar]:
        """Attributes of each target of a worker: those that are equal in all its access specifications."""
        names = dict.fromkeys(worker.specifications)
        assigned = [self._configuration.specifications.get(name) for name in names] or [None]
        profiles = [
            load_attributes(
                specification,
                version=self._configuration.version,
                in_flight=None if "OUTSTANDING" in self._configuration.test_type.upper() else worker.queue_depth,
                threads=1,
                files=1,
                working_set_bytes=total_area_bytes([worker.sectors]),
            )
            for specification in assigned
        ]
        return reduce(_common_attributes, profiles) | self._times | ({"fill": worker.fill} if worker.fill else {})

    def _combined_attributes(
        self, workers: Sequence[Worker], by_worker: Sequence[dict[str, Scalar]]
    ) -> dict[str, Scalar]:
        """Attributes of all targets together. I/Os in flight are unknown if they change between tests."""
        depths = [None if w.queue_depth is None else w.queue_depth * len(w.targets) for w in workers]
        is_constant = self._configuration.test_type.upper() == "NORMAL"
        targets = {(worker.manager, target): worker.sectors for worker in workers for target in worker.targets}
        combined = load_attributes(
            None,
            version=self._configuration.version,
            in_flight=complete_sum(depths) if is_constant else None,
            threads=len(workers) or None,
            files=len(targets) or None,
            working_set_bytes=total_area_bytes(targets.values()),
        )
        shared = reduce(_common_attributes, by_worker) if by_worker else {}
        return combined | {name: shared[name] for name in _COMMON_ATTRIBUTES if name in shared} | self._times

    @property
    def _times(self) -> dict[str, Scalar]:
        durations = {"seconds": self._configuration.seconds, "warmup_seconds": self._configuration.ramp_seconds}
        return without_none(durations)


def _common_attributes(first: dict[str, Scalar], second: dict[str, Scalar]) -> dict[str, Scalar]:
    return {name: value for name, value in first.items() if second.get(name) == value}
