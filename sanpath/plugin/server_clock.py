"""The offset of a server's clock from the recorder's, bounded by all of the server's dated answers."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal

from sanpath.model import Event
from sanpath.plugin.connections import Clock, Http, HttpReply

_SECOND_US = 1_000_000


class ServerClock:
    """Bounds the offset of a server's clock.

    The server dates an answer between its request and its arrival, so each answer gives a lower and an upper bound.
    """

    def __init__(self) -> None:
        self._bounds: tuple[float, float] | None = None
        self._reported_uncertainty_us: float | None = None

    def add_reading(self, server_us: int, requested_us: int, answered_us: int, resolution_us: int = 0) -> None:
        """Add the server's time in an answer, which may be truncated by up to `resolution_us`."""
        low, high = float(server_us - answered_us), float(server_us + resolution_us - requested_us)
        previous = self._bounds or (low, high)
        common = max(low, previous[0]), min(high, previous[1])
        # Contradictory bounds: one of the clocks was set, or they drift; the latest bounds count.
        self._bounds = common if common[0] <= common[1] else (low, high)

    @property
    def offset_us(self) -> float | None:
        """The server's clock minus the recorder's; None: no answer has had a date yet."""
        return None if self._bounds is None else sum(self._bounds) / 2

    @property
    def uncertainty_us(self) -> float | None:
        """By how much `offset_us` may be off in either direction."""
        return None if self._bounds is None else (self._bounds[1] - self._bounds[0]) / 2

    def event(self, seen_us: int) -> Event | None:
        """Return the offset and its uncertainty for the recording.

        None: there is no reading yet, or the uncertainty is within a factor of two of the last event's.
        """
        uncertainty_us = self.uncertainty_us
        if uncertainty_us is None or self.offset_us is None:
            return None
        reported_us = self._reported_uncertainty_us
        if reported_us is not None and reported_us / 2 <= uncertainty_us <= reported_us:
            return None
        self._reported_uncertainty_us = uncertainty_us
        return Event(
            seen_us,
            "clock",
            {"offset_seconds": round(self.offset_us / 1e6, 6), "uncertainty_seconds": round(uncertainty_us / 1e6, 6)},
        )


class DatedHttp:
    """An HTTP connection that adds the dates of its answers (RFC 9110, field Date, in seconds) to a ServerClock."""

    def __init__(self, http: Http, clock: Clock, server_clock: ServerClock) -> None:
        self._http, self._clock, self._server_clock = http, clock, server_clock

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        """See Http."""
        requested_us = self._clock.now_us()
        reply = await self._http.request(method, path, params, headers, body)
        try:
            date = parsedate_to_datetime(reply.headers.get("date", ""))
        except ValueError:
            return reply
        self._server_clock.add_reading(round(date.timestamp() * 1e6), requested_us, self._clock.now_us(), _SECOND_US)
        return reply

    async def close(self) -> None:
        """See Http."""
        await self._http.close()
