"""A segment of a load's latency: the time of an I/O between two neighbouring clocks on its path."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sanpath.diagnosis.model import Interval
from sanpath.verdict.places.host_queues import HostQueue

Wait = tuple[float, float, float]
"""Seconds of waiting: (low, likely, high)."""
Times = NDArray[np.float64]
"""Three times in seconds, (low, likely, high), for calculations."""
SegmentKind = Literal[
    "host_queue", "host_receive", "fabric", "before_array_clock", "cap", "array_queue", "array_service", "below"
]
"""`host_receive`: from arrival at the host until the host reads it. `fabric`: transfer by the array's clock, or
everything between the clocks of host and array. `before_array_clock`: the remaining time between those two if the
array, or TCP, times the transfer itself. `below`: everything below the last clock that was read."""
GAPS: tuple[SegmentKind, ...] = ("fabric", "before_array_clock", "below")
"""Kinds of the segments between the host's last clock and the array's, or of everything below the host's."""

ARRAY_CLOCK = "the array's own clock"
TRANSFER_BY_ARRAY = "transfer by the array's clock"
TRANSFER_BY_TCP = "transfer by TCP's clock"
_MIN_SERVICE_SECONDS = 10e-6
"""Shorter service times count as this one: sanpath's own choice, about the time of the fastest drives."""
_USUAL_SERVICE_SECONDS, _SERVICE_LOG_ERROR = 2e-3, 1.2
"""Median service time of storage, and standard error of its natural logarithm. Two thirds lie between 0.6 ms (flash
behind a busy controller) and 6.6 ms (drives of 10,000 and 15,000 rotations a minute). 0.2 ms (cache) and 20 ms (large
drives) are equally rare."""
FLASH_SERVICE_SECONDS, FLASH_LOG_ERROR = 1e-3, 0.9
"""The same for all-flash arrays: data sheets promise 0.15 to 0.25 ms. Vendors expect 0.8 ms of a busy one, and 3 to 4
ms of one with the densest flash."""
_PARTS = 8
"""Number of points at which an integral from the lowest to the highest wait is evaluated."""


@dataclass(frozen=True, slots=True)
class LatencySegment:
    """The time of an I/O between two clocks, in seconds.

    `entity`: the element there, None: unknown. `source`: what reports the time. `wait`: (low, likely, high) seconds
    of waiting. `own_wait`: the same if I/Os wait only for other I/Os of the test; then time that is the same with
    fewer of them in flight is not waiting. `independent_wait`: the same if I/Os wait without others in flight, as for
    a time-out. `remaining_seconds`: from the start of this segment to the end of the path, and of the flush after a
    write. `slots`: I/Os of both directions that it admits at once; `filled_ratio`: share of them in use; both None if
    no source reports them. `hidden_wait_probability`: probability that its reported service time would include the
    wait if it were saturated; 0: its wait is reported separately. `usual_service`: median service time of the element
    there, seconds, and standard error of its natural logarithm. `service_likelihood`: likelihood of its time if none
    of it is waiting, relative to the most usual time; 1 for shorter ones. `filled_odds`: probability, from their
    number alone, that the I/Os inside fill the element, over even odds. `distance`: least and most seconds of it that
    are distance, None: not measured. `other_way_seconds`: most seconds that the commands and responses take on the
    same way, as part of another segment; a transfer over a distance takes no longer than they do. `passing_ratio`:
    share of the load's I/Os that pass it; its time is a mean over all I/Os.
    """

    kind: SegmentKind
    entity: str | None
    seconds: Interval
    source: str
    wait: Wait = (0.0, 0.0, 0.0)
    own_wait: Wait = (0.0, 0.0, 0.0)
    remaining_seconds: float = 0.0
    slots: float | None = None
    filled_ratio: float | None = None
    queue: HostQueue | None = None
    independent_wait: Wait = (0.0, 0.0, 0.0)
    hidden_wait_probability: float = 0.0
    usual_service: tuple[float, float] = (_USUAL_SERVICE_SECONDS, _SERVICE_LOG_ERROR)
    service_likelihood: float = 1.0
    filled_odds: float = 1.0
    distance: Interval | None = None
    other_way_seconds: float = inf
    passing_ratio: float = 1.0

    @property
    def includes_service(self) -> bool:
        """Whether its time includes service and wait together. Then any wait from low to high is possible; how usual
        the remaining service time is makes some waits more probable than others."""
        return self.kind == "below" or (self.kind == "array_service" and self.source != ARRAY_CLOCK)

    @property
    def middle(self) -> float:
        """The middle of its time, in seconds."""
        return sum(self.seconds) / 2

    @property
    def times(self) -> Times:
        """Its time in seconds: low, likely, high."""
        return np.array([self.seconds[0], self.middle, self.seconds[1]])

    def share(self, seconds: float) -> float:
        """Seconds of waiting as a share of the remaining time on the path, at most 1."""
        return min(1.0, seconds / self.remaining_seconds) if self.remaining_seconds else 0.0

    def possible_shares(self, wait: Wait) -> list[tuple[float, float]]:
        """Possible waits: shares of the remaining time, each with its weight. If the time includes service and wait,
        the weight is how usual the remaining service time is."""
        low, likely, high = (self.share(seconds) for seconds in wait)
        if not self.includes_service:
            return [(low, 0.25), (likely, 0.5), (high, 0.25)]
        shares = [low + (high - low) * (part + 0.5) / _PARTS for part in range(_PARTS)]
        return [(share, self._service_likelihood(share) / _PARTS) for share in shares]

    @property
    def is_timed_transfer(self) -> bool:
        """Whether the array or TCP times the transfer: then hardly anything in it is fixed but the time on the
        wire."""
        return self.source in (TRANSFER_BY_ARRAY, TRANSFER_BY_TCP)

    @property
    def is_tcp(self) -> bool:
        """Whether it is the time in TCP, by TCP's own clock."""
        return self.source == TRANSFER_BY_TCP

    def _service_likelihood(self, wait_share: float) -> float:
        """How usual the service time is that a wait leaves, relative to the most usual one possible: at most 1.
        `wait_share`: share of the remaining time."""
        longest = self.middle - (self.distance or (0.0, 0.0))[0]
        served = longest - wait_share * self.remaining_seconds
        return self.likelihood_of(served) / self.likelihood_of(min(longest, self.usual_service[0]))

    def likelihood_of(self, service_seconds: float) -> float:
        """How usual a service time is, at most 1."""
        usual_seconds, log_error = self.usual_service
        deviation = log(max(_MIN_SERVICE_SECONDS, service_seconds) / usual_seconds) / log_error
        return exp(-(deviation**2) / 2)
