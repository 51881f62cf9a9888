"""Parses the log of nbdkit's log filter into completed exchanges.

Format (nbdkit-log-filter(1)): one line when a request arrives, one when it has been served, in any order:

    2026-11-20 04:56:50.236965 connection=2 Read id=2977 offset=0x29b70000 count=0x10000 ...
    2026-11-20 04:56:50.239046 connection=2 ...Read id=2977 return=0

An id is unique within its connection; a restarted nbdkit counts connections from 1 again. Times are local time,
which the lab makes UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

DATA_LINE = re.compile(
    rb"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}) connection=(?P<connection>\d+) "
    rb"(?P<end>\.\.\.)?(?P<action>Read|Write) id=(?P<id>\d+) "
    rb"(?:.*?count=0x(?P<count>[0-9a-f]+)\b|return=(?P<returned>-?\d+)\b)"
)
DISCONNECT_LINE = re.compile(rb"\S+ \S+ connection=(?P<connection>\d+) Disconnect\b")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A completed request. `arrived` at nbdkit and `served` are in microseconds since the epoch."""

    direction: Literal["read", "write"]
    arrived: int
    served: int
    payload_bytes: int

    @property
    def service_microseconds(self) -> int:
        """Service time of the array."""
        return self.served - self.arrived


@dataclass(frozen=True, slots=True)
class _Outstanding:
    arrived: int
    payload_bytes: int


class NbdkitLog:
    """Pairs starts and ends while the log grows. An incomplete last line is kept until it is completed."""

    def __init__(self) -> None:
        self._incomplete_line = b""
        self._outstanding: dict[tuple[int, int], _Outstanding] = {}

    @property
    def outstanding(self) -> int:
        """Number of requests that arrived and are not yet served."""
        return len(self._outstanding)

    def feed(self, added: bytes) -> list[Exchange]:
        """Return the exchanges that `added` completes. Failed ones and ends without a start are left out."""
        *lines, self._incomplete_line = (self._incomplete_line + added).split(b"\n")
        exchanges = []
        for line in lines:
            if data := DATA_LINE.match(line):
                exchange = self._data(data)
                if exchange is not None:
                    exchanges.append(exchange)
            elif gone := DISCONNECT_LINE.match(line):
                self._forget(int(gone["connection"]))
        return exchanges

    def _data(self, line: re.Match[bytes]) -> Exchange | None:
        key = int(line["connection"]), int(line["id"])
        if line["end"] is None:
            if line["count"] is not None:
                self._outstanding[key] = _Outstanding(_microseconds(line["time"]), int(line["count"], 16))
            return None
        request = self._outstanding.pop(key, None)
        if request is None or line["returned"] is None or int(line["returned"]) != 0:
            return None
        return Exchange(
            direction="read" if line["action"] == b"Read" else "write",
            arrived=request.arrived,
            served=_microseconds(line["time"]),
            payload_bytes=request.payload_bytes,
        )

    def _forget(self, connection: int) -> None:
        for key in [key for key in self._outstanding if key[0] == connection]:
            del self._outstanding[key]


def _microseconds(text: bytes) -> int:
    time = datetime.fromisoformat(text.decode("ascii")).replace(tzinfo=UTC)
    return int(time.timestamp()) * 1_000_000 + time.microsecond
