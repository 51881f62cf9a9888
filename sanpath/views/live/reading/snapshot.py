"""A snapshot of a recording: its diagnosis, its lines over time, its I/O path, and the age of each source's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # The screen is drawn before anything is computed.
    from sanpath.diagnosis.model import Diagnosis
    from sanpath.facts.chart_series import Series
    from sanpath.pulse.model import Freshness
    from sanpath.topology.load_path import Stop
    from sanpath.views.live.reading.priority import Processors

TICK_SECONDS = 2.0
"""The shortest time between two snapshots."""
_IDLE_SHARE, _BUSY_SHARE = 0.1, 0.02
"""Snapshots may cost a tenth of one processor, and on a busy machine at most a fiftieth of all of them, so that the
load does not lack processor time."""
_BUSY_IDLE_RATIO = 0.5
"""A machine with a lower idle ratio is busy: hardware threads share a core and slow each other down."""
SILENT_SECONDS = 90.0
"""A recorder without news for longer is dead: the longest back-off of a failing source is 60 s."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The result of reading a recording once.

    `taken` and `newest`: epoch seconds of the reading, and of the last poll in it (0: none). `diagnosis` None:
    `failure` gives the reason. `ended`: every writer has ended normally. `series`: lines over time, None without a
    diagnosis. `io_path`: the stops of the test's I/O, from the load down. `cost_seconds`: processor time of the
    reading. `machine`: the tick counts of all processors at that time. `idle_ratio`: the share of idle ticks since
    the previous snapshot. None: unknown.
    """

    taken: float
    diagnosis: Diagnosis | None
    failure: str = ""
    ended: bool = False
    newest: float = 0.0
    command: Sequence[str] = ()
    freshness: Mapping[str, Freshness] = field(default_factory=dict)
    series: Series | None = None
    io_path: Sequence[Stop] = ()
    cost_seconds: float = 0.0
    machine: Processors | None = None
    idle_ratio: float | None = None

    @property
    def silent(self) -> bool:
        """Whether the recorder has stopped without an end mark, as after a kill."""
        return not self.ended and self.newest > 0 and self.taken - self.newest > SILENT_SECONDS

    @property
    def _has_verdict(self) -> bool:
        return self.diagnosis is not None and any(step.windows_used for step in self.diagnosis.steps)

    @property
    def is_busy(self) -> bool:
        """Whether the load uses most of the machine's processor time."""
        return self.idle_ratio is not None and self.idle_ratio < _BUSY_IDLE_RATIO

    @property
    def pause_seconds(self) -> float:
        """The shortest pause before the next snapshot; see also `Pace`. The first verdict comes without a pause."""
        share = _IDLE_SHARE
        if self.machine is not None and self.is_busy and self._has_verdict:
            share = min(share, _BUSY_SHARE * self.machine.number)
        return max(TICK_SECONDS, self.cost_seconds / share)
