"""A server's clock beside the recorder's: the bounds that all of its dated answers leave together."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal

from sanpath.model import Event
from sanpath.plugin.connections import Clock, Http, HttpReply

_SECOND_US = 1_000_000


class ServerClock:
    """An answer was dated after it was asked for and before it arrived; many of them narrow each other's bounds."""

    def __init__(self) -> None:
        self._bounds: tuple[float, float] | None = None
        self._said: float | None = None

    def told(self, server_us: int, asked_us: int, answered_us: int, resolution_us: int = 0) -> None:
        """The server's clock in an answer; it may have gone on by `resolution_us` since the date."""
        low, high = float(server_us - answered_us), float(server_us + resolution_us - asked_us)
        before = self._bounds or (low, high)
        both = max(low, before[0]), min(high, before[1])
        # Bounds that exclude each other: one of the clocks was set, or they run apart; the present counts.
        self._bounds = both if both[0] <= both[1] else (low, high)

    @property
    def ahead_us(self) -> float | None:
        """The server's clock minus ours; None: it has not told it."""
        return None if self._bounds is None else sum(self._bounds) / 2

    def event(self, seen: int) -> Event | None:
        """What is known of it, for the recording. None: hardly more than was said before."""
        if self._bounds is None or self.ahead_us is None:
            return None
        within = (self._bounds[1] - self._bounds[0]) / 2
        if self._said is not None and self._said / 2 <= within <= self._said:
            return None
        self._said = within
        return Event(
            seen,
            "clock",
            {"offset_seconds": round(self.ahead_us / 1e6, 6), "uncertainty_seconds": round(within / 1e6, 6)},
        )


class DatedHttp:
    """An HTTP connection that notes when its server dates its answers (RFC 9110, field Date, whole seconds)."""

    def __init__(self, http: Http, ours: Clock, server: ServerClock) -> None:
        self._http, self._ours, self._server = http, ours, server

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        """See Http."""
        asked = self._ours.now_us()
        reply = await self._http.request(method, path, params, headers, body)
        try:
            dated = parsedate_to_datetime(reply.headers.get("date", ""))
        except ValueError:
            return reply
        self._server.told(round(dated.timestamp() * 1e6), asked, self._ours.now_us(), _SECOND_US)
        return reply

    async def close(self) -> None:
        """See Http."""
        await self._http.close()
