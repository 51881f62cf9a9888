"""The part of a diagnosis that accounts for sources, recorders and marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class SourceAccount:
    """The result of reading one source.

    `gaps`: polls that were skipped. `cost_seconds`: time spent on its polls. `last_answer`: when it last returned
    data, None: never. `clock_offset_seconds`: its clock minus the recorder's, with an error of
    `clock_uncertainty_seconds` either way. `clock_told_by`: how the clocks were compared: in its protocol, by its
    newest sample, or by the edges of the load (imported files). All three are None if it has no clock or the offset
    is unknown. `recorder`: the recorder that read it, None: imported, or recorded by an earlier sanpath.
    """

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
    """A time in which a recorder did not run, ISO 8601 in UTC. `until` None: it never came back.

    `way`: `joined`: it joined after the load had begun. `restarted`: it was killed or cut off, and started again.
    `stopped`: it was killed or cut off, and not started again. `ended`: it was ended before the load.
    """

    since: str
    until: str | None
    way: Literal["joined", "restarted", "stopped", "ended"]
    sources: Sequence[str]


@dataclass(frozen=True, slots=True)
class RecorderAccount:
    """One of the recorders.

    `starts`: how often it was started. `began` and `last`: its first and last sign of life (ISO 8601, UTC). `ended`:
    it ended normally. `clock_offset_seconds`: its clock minus that of the load's recorder, which all times follow,
    with an error of `clock_uncertainty_seconds` either way; None: they were not compared.
    """

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
    """A note that a person made while the test ran, and its time (ISO 8601, UTC)."""

    at: str
    text: str
