"""What a timespan was told to do, in DiskSpd's own terms, and what that comes to in I/Os in flight."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from sanpath.plugin import LoadProfile

T = TypeVar("T")
Fill = Literal["zeros", "repeating", "random"]


@dataclass(slots=True)
class Target:
    """One file or device. None: not told.

    `outstanding`: I/Os that each of its threads keeps in flight (-o). `threads`: threads of its own (-t), None when
    it is served by a pool. `direct`: past the file cache (-Su, -Sh, -h). `limit_bytes`: it is used up to there (-f).
    `mapped`: memory mapped I/O (-Sm): a thread waits for each I/O, whatever -o says.
    """

    path: str = ""
    block_bytes: float | None = None
    read_ratio: float | None = None
    random_ratio: float | None = None
    outstanding: int | None = None
    threads: int | None = None
    direct: bool | None = None
    fill: Fill | None = None
    limit_bytes: float | None = None
    rate_limited: bool = False
    mapped: bool = False


@dataclass(slots=True)
class Span:
    """One timespan. `pool_threads` (-F) drive all targets; `pool_outstanding` (-O): I/Os each of them keeps in flight
    over all targets, None: `Target.outstanding` on each. `random_writes` (-Zr): new random data for every write."""

    seconds: float | None = None
    warmup_seconds: float | None = None
    cooldown_seconds: float = 0.0
    pool_threads: int | None = None
    pool_outstanding: int | None = None
    random_writes: bool = False
    targets: list[Target] = field(default_factory=list)

    def covering(self, paths: Collection[str]) -> Span:
        """With targets for these paths, where the settings name one only, or by a template."""
        known = {target.path for target in self.targets}
        if len(self.targets) != 1 or not paths or known & set(paths):
            return self
        return replace(self, targets=[replace(self.targets[0], path=path) for path in paths])

    def profile(self, paths: Collection[str], version: str | None, sizes: Mapping[str, float]) -> LoadProfile:
        """What the targets of these paths were told, together. `sizes`: path → bytes of the file."""
        targets = [target for target in self.targets if target.path in paths]
        mapped = bool(targets) and all(target.mapped for target in targets)
        asked, threads = self._asked(targets), self._threads(targets)
        waits = mapped and asked is not None and threads is not None and asked > threads
        limits = {target.path: target.limit_bytes for target in targets if target.limit_bytes}
        reads = common(target.read_ratio for target in targets)
        return LoadProfile(
            engine="diskspd",
            engine_version=version,
            in_flight=threads if waits else asked,
            asked_in_flight=asked if waits else None,
            block_bytes=common(target.block_bytes for target in targets),
            read_ratio=reads,
            random_ratio=common(target.random_ratio for target in targets),
            threads=threads,
            files=len(paths) or None,
            working_set_bytes=sum(min(size, limits.get(path, size)) for path, size in sizes.items()) or None,
            direct=common(target.direct for target in targets),
            synchronous=True if waits else None,
            fill=self._fill(targets) if reads != 1 else None,
            seconds=self.seconds,
            warmup_seconds=self.warmup_seconds,
            rate_limited=any(target.rate_limited for target in targets),
        )

    def _fill(self, targets: Collection[Target]) -> Fill | None:
        return "random" if self.random_writes else common(target.fill for target in targets)

    def _threads(self, targets: Collection[Target]) -> int | None:
        return self.pool_threads or _sum(target.threads for target in targets)

    def _asked(self, targets: Collection[Target]) -> int | None:
        if self.pool_threads and self.pool_outstanding:
            # The pool shares its I/Os out between the targets, by weights.
            return self.pool_threads * self.pool_outstanding if len(targets) == len(self.targets) else None
        each = [(target.outstanding, self.pool_threads or target.threads) for target in targets]
        return _sum(None if o is None or threads is None else o * threads for o, threads in each)


def common(values: Iterable[T | None]) -> T | None:
    """The value that all of them are; None where they differ."""
    distinct = list(dict.fromkeys(values))
    return distinct[0] if len(distinct) == 1 else None


def _sum(values: Iterable[int | None]) -> int | None:
    told = list(values)
    known = [value for value in told if value is not None]
    return sum(known) if known and len(known) == len(told) else None
