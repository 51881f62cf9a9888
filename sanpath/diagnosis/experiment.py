"""The kinds of verdict, and the experiment that would separate the suspects: a part of the diagnosis, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.topology.names import in_words

VerdictKind = Literal[
    "bottleneck",
    "concurrency_limited",
    "demand_limited",
    "generator_limited",
    "configured_cap",
    "healthy",
    "cannot_tell",
]
KIND_WORDS: Mapping[VerdictKind, str] = {
    "bottleneck": "bottleneck",
    "concurrency_limited": "too few outstanding I/Os",
    "demand_limited": "the load asks for no more",
    "generator_limited": "load generator",
    "configured_cap": "configured limit",
    "healthy": "healthy",
    "cannot_tell": "cannot tell",
}
SUSPECT_WORDS: Mapping[VerdictKind, str] = {
    "concurrency_limited": "too few outstanding I/Os",
    "demand_limited": "a load that asks for no more",
    "generator_limited": "the load generator",
}
"""Suspects that are not elements."""
_SHOWN: Mapping[VerdictKind, str] = {
    "concurrency_limited": "too few I/Os were outstanding",
    "demand_limited": "the load asks for no more",
}
"""What an outcome in their favour shows."""
LoadChange = Literal[
    "more_in_flight",
    "fewer_in_flight",
    "one_in_flight",
    "smaller_blocks",
    "more_jobs",
    "cached_range",
    "one_direction",
    "writes_only",
    "one_target",
    "one_path",
    "other_host",
    "pause",
]
"""Experiments that only vary the load."""
Action = Literal[
    LoadChange,
    "read_below",
    "read_switches",
    "read_array",
    "read_host",
    "deeper_queue",
    "quiet_neighbours",
    "lift_limit",
]
"""What an experiment does: it runs another step of the load, reads a source that was not read, or changes a
setting."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an experiment would mean for one suspect.

    `entity`: as of the suspect. `if_seen`, `if_not`: its probability after the experiment showed what it watches for,
    or did not; those of all meanings sum to one.
    """

    verdict: VerdictKind
    entity: str | None
    name: str
    probability: float
    if_seen: float
    if_not: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """The measurement that separates the leading suspects best.

    `text`: what to do; `watch`: what to look for. `in_flight`: I/Os in flight of the step to run. `entity`: what to
    read or change. `command`: the load's command line. Each is None where the action has none, or it is unknown.
    """

    action: Action
    text: str
    watch: str
    meanings: Sequence[Meaning]
    in_flight: int | None = None
    entity: str | None = None
    command: str | None = None

    @property
    def in_words(self) -> str:
        """A sentence: what to do, and which suspect the outcome would support most."""
        command = f": {self.command}" if self.command is not None else ""
        if self.supported.verdict == "cannot_tell" and self.action.startswith("read_"):
            return f"{self.text}; if this shows {self.watch}, that explains the latency{command}"
        return f"{self.text}; {self.pointer}{command}"

    @property
    def pointer(self) -> str:
        """Which suspect the outcome would support most, in words."""
        if (shown := _SHOWN.get(self.supported.verdict)) is not None:
            return f"{self.watch} would show that {shown}"
        return in_words(f"{self.watch} would point to {self.supported.name}")

    @property
    def supported(self) -> Meaning:
        """The suspect that the outcome would support most."""
        return max(self.meanings, key=lambda meaning: meaning.if_seen - meaning.if_not)
