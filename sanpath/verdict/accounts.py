"""Who recorded what: the part of a diagnosis that accounts for sources, recorders and marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class SourceAccount:
    """What reading a source came to. `gaps`: polls that were left out. `cost_seconds`: time spent on its polls.
    `last_answer`: when it last gave something, None: never. `clock_offset_seconds`: its clock minus the recorder's,
    `clock_uncertainty_seconds` either way, told by `clock_told_by`: the clocks were compared in its protocol, its
    newest sample, or the edges of the load (imported files); all None: none of its own, or not known. `recorder`: who
    read it, None: no recorder (imported), or an earlier sanpath."""

    name: str
    kind: str
    polls: int
    failures: int
    gaps: int
    clock_offset_seconds: float | None
    cost_seconds: float
    requests: int
    last_failure: str
    every_seconds: float
    last_answer: str | None
    clock_uncertainty_seconds: float | None = None
    clock_told_by: Literal["protocol", "newest_sample", "load_edges"] | None = None
    recorder: str | None = None


@dataclass(frozen=True, slots=True)
class Absence:
    """Time in which a recorder was not there, ISO 8601 in UTC. `until` None: it never came back. `way`: it joined
    after the load had begun; it was killed or cut off and started again; so, and not started again; it was ended
    before the load."""

    since: str
    until: str | None
    way: Literal["joined", "restarted", "stopped", "ended"]
    sources: Sequence[str]


@dataclass(frozen=True, slots=True)
class RecorderAccount:
    """One of those who recorded. `starts`: how often it was started. `began` and `last`: its first and last sign of
    life (ISO 8601, UTC); `ended`: it ended as it should. `clock_offset_seconds`: its clock minus that of the recorder
    of the load, by which everything is told; `clock_uncertainty_seconds` either way; None: they were not compared."""

    name: str
    host: str
    sources: Sequence[str]
    starts: int
    began: str
    last: str
    ended: bool
    clock_offset_seconds: float | None
    clock_uncertainty_seconds: float | None
    absences: Sequence[Absence] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """What a person noted while the test ran, and when (ISO 8601, UTC)."""

    at: str
    text: str
