"""The settings of a timespan in DiskSpd's terms, and the resulting I/Os in flight."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sanpath.plugin import LoadProfile, common_value, complete_sum, is_block_device

Fill = Literal["zeros", "repeating", "random"]


@dataclass(slots=True)
class Target:
    """One file or device. None: unknown.

    `outstanding`: I/Os that each of its threads keeps in flight (-o). `threads`: threads of only this target (-t);
    None: it uses the pool. `direct`: its I/Os bypass the file cache (-Su, -Sh, -h). `write_through`: its writes go
    through write caches (-Sw, -Sh, -h). `limit_bytes`: only the first bytes are used (-f). `mapped`: memory-mapped
    I/O (-Sm): a thread waits for each I/O, independent of -o.
    """

    path: str = ""
    block_bytes: float | None = None
    read_ratio: float | None = None
    random_ratio: float | None = None
    outstanding: int | None = None
    threads: int | None = None
    direct: bool | None = None
    write_through: bool | None = None
    fill: Fill | None = None
    limit_bytes: float | None = None
    rate_limited: bool = False
    mapped: bool = False


@dataclass(slots=True)
class Span:
    """One timespan.

    `pool_threads` (-F): threads for all targets. `pool_outstanding` (-O): I/Os that each thread keeps in flight over
    all targets; None: `Target.outstanding` on each target. `random_writes` (-Zr): new random data for every write.
    `is_of_linux`: the result is of DiskSpd for Linux.
    """

    seconds: float | None = None
    warmup_seconds: float | None = None
    cooldown_seconds: float = 0.0
    pool_threads: int | None = None
    pool_outstanding: int | None = None
    random_writes: bool = False
    is_of_linux: bool = False
    targets: list[Target] = field(default_factory=list)

    def with_targets_for(self, paths: Collection[str]) -> Span:
        """The settings with a target for each of these paths, if there is only one target, which is a template."""
        known_paths = {target.path for target in self.targets}
        if len(self.targets) != 1 or not paths or known_paths & set(paths):
            return self
        return replace(self, targets=[replace(self.targets[0], path=path) for path in paths])

    def profile(self, paths: Collection[str], version: str | None, sizes: Mapping[str, float]) -> LoadProfile:
        """The combined profile of the targets with these paths. `sizes`: path → size of the file in bytes."""
        targets = [target for target in self.targets if target.path in paths]
        mapped = bool(targets) and all(target.mapped for target in targets)
        configured, threads = self._configured_in_flight(targets), self._count_threads(targets)
        is_synchronous = mapped and configured is not None and threads is not None and configured > threads
        limits = {target.path: target.limit_bytes for target in targets if target.limit_bytes}
        reads = common_value(target.read_ratio for target in targets)
        return LoadProfile(
            engine="diskspd",
            engine_version=version,
            in_flight=threads if is_synchronous else configured,
            asked_in_flight=configured if is_synchronous else None,
            block_bytes=common_value(target.block_bytes for target in targets),
            read_ratio=reads,
            random_ratio=common_value(target.random_ratio for target in targets),
            threads=threads,
            files=len(paths) or None,
            working_set_bytes=sum(min(size, limits.get(path, size)) for path, size in sizes.items()) or None,
            direct=common_value(target.direct for target in targets),
            write_through=common_value(target.write_through for target in targets),
            block_devices=all(map(is_block_device, paths)) if paths else None,
            synchronous=True if is_synchronous else None,
            fill=self._write_content(targets) if reads != 1 else None,
            seconds=self.seconds,
            warmup_seconds=self.warmup_seconds,
            rate_limited=any(target.rate_limited for target in targets),
        )

    def _write_content(self, targets: Collection[Target]) -> Fill | None:
        return "random" if self.random_writes else common_value(target.fill for target in targets)

    def _count_threads(self, targets: Collection[Target]) -> int | None:
        return self.pool_threads or complete_sum(target.threads for target in targets)

    def _configured_in_flight(self, targets: Collection[Target]) -> int | None:
        if self.pool_threads and self.pool_outstanding:
            # The pool distributes its I/Os over the targets by weights.
            return self.pool_threads * self.pool_outstanding if len(targets) == len(self.targets) else None
        depth_and_threads = [(target.outstanding, self.pool_threads or target.threads) for target in targets]
        return complete_sum(None if o is None or threads is None else o * threads for o, threads in depth_and_threads)
