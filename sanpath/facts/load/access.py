"""How a load accesses its data, which determines how fast media and caches serve it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from sanpath.model import StepLoad
from sanpath.topology.topology import Topology
from sanpath.units import percent_rounded

_SAME_RATIO = 0.1
"""Difference below which shares of the I/Os are the same: a mix of jobs scatters."""
_SAME_EXTENT = 0.1
"""Relative difference up to which working sets, and numbers of files and threads, are the same."""
_SHARES = ("random_ratio", "read_ratio")
_EXTENTS = ("working_set_bytes", "files")
_PER_STEP = (*_SHARES, "align_bytes")
"""Settings that a load may change from step to step."""


@dataclass(frozen=True, slots=True)
class Access:
    """How the jobs of a load were configured to access their data in a step. None: not known for one of them.

    `random_ratio`, `read_ratio`: share of the I/Os, each job with the same weight. `align_bytes`: what the addresses
    are multiples of, on average of the jobs. `working_set_bytes`, `files`, `threads`, `in_flight`: of all jobs
    together.
    """

    random_ratio: float | None = None
    read_ratio: float | None = None
    align_bytes: float | None = None
    working_set_bytes: float | None = None
    files: float | None = None
    threads: float | None = None
    in_flight: float | None = None

    def is_like(self, other: Access, apart_from: str = "") -> bool:
        """Return whether both access their data alike, ignoring one field.

        A share that is known for only one of them is not alike; any other unknown value counts as alike. Media and
        caches serve random I/O, and a larger working set, at another speed. A load that grows by more threads may
        give each of them its own data, or share it among them: it is the same load, only more of it.
        """
        for name in _SHARES:
            own, its = getattr(self, name), getattr(other, name)
            if name != apart_from and own != its and (None in (own, its) or abs(own - its) > _SAME_RATIO):
                return False
        if apart_from != "align_bytes" and len({self.align_bytes, other.align_bytes} - {None}) > 1:
            return False
        factors = [1.0, *self._factors("threads", other), *self._factors("in_flight", other)]
        least, most = min(factors) * (1 - _SAME_EXTENT), max(factors) / (1 - _SAME_EXTENT)
        return all(least <= factor <= most for name in _EXTENTS for factor in self._factors(name, other))

    @property
    def pattern(self) -> str:
        """The shares in words; "": not known."""
        random, reads = self.random_ratio, self.read_ratio
        words = {None: "", 0.0: "sequential", 1.0: "random"}
        order = words[random] if random in words else f"{percent_rounded(random or 0.0)} random"
        mix = f"{percent_rounded(reads)} reads" if reads is not None and 0 < reads < 1 else ""
        return ", ".join(filter(None, (order, mix)))

    def _factors(self, name: str, other: Access) -> Iterator[float]:
        own, its = getattr(self, name), getattr(other, name)
        if own and its:
            yield own / its


UNKNOWN_ACCESS = Access()


def access_of(topology: Topology, jobs: Sequence[tuple[str, StepLoad | None]]) -> Access:
    """Return how these jobs access their data: from their step's settings, or else from the attributes of their
    entities. `jobs`: each job's entity, and its source's settings in the step, None: nothing."""
    attributes = [
        {
            **(topology.entities[job].attributes if job in topology.entities else {}),
            **{name: value for name in _PER_STEP if (value := getattr(step, name, None)) is not None},
        }
        for job, step in jobs
    ]
    found: dict[str, float | None] = {}
    for field in fields(Access):
        attribute = "in_flight_configured" if field.name == "in_flight" else field.name
        known = [float(value) for each in attributes if isinstance(value := each.get(attribute), int | float)]
        total = sum(known) if known and len(known) == len(jobs) else None
        found[field.name] = total / len(jobs) if total is not None and field.name in _PER_STEP else total
    return Access(**found)
