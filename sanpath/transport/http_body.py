"""The body of an HTTP answer: of bounded size, compressed or not."""

from __future__ import annotations

import zlib

from sanpath.plugin import CollectorError, Cost, Failure

_GZIP = 16 + zlib.MAX_WBITS


class Body:
    """Takes the body of an answer from `server` in parts. `encoding`: its Content-Encoding.

    It never unpacks more than `max_bytes`, whatever a few packed bytes stand for. `cost` is charged what is unpacked.
    """

    def __init__(self, server: str, encoding: str, max_bytes: int, cost: Cost) -> None:
        """Raise CollectorError UNREADABLE for an encoding that was not requested."""
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise CollectorError(Failure.UNREADABLE, f"{server} packs its answer in a way that nobody asked for")
        self._server, self._max_bytes, self._cost = server, max_bytes, cost
        self._parts: list[bytes] = []
        self._size = 0
        self._gzip = zlib.decompressobj(_GZIP) if "gzip" in encoding else None
        self._cut = False

    def take(self, part: bytes) -> None:
        """Add a part. Raises CollectorError: UNREADABLE if larger than allowed, UNREACHABLE if damaged."""
        if self._gzip is None:
            self._add(part)
            return
        try:
            while part:
                self._add(self._gzip.decompress(part, 1 + self._max_bytes - self._size))
                self._cut = not self._gzip.eof
                if self._gzip.eof:  # another member may follow (RFC 1952, section 2.2)
                    part, self._gzip = self._gzip.unused_data, zlib.decompressobj(_GZIP)
                else:
                    part = self._gzip.unconsumed_tail
        except zlib.error as error:
            raise self._damaged() from error

    def whole(self) -> bytes:
        """Return the body after its last part. Raises CollectorError UNREACHABLE if its end is missing."""
        if self._cut:
            raise self._damaged()
        return b"".join(self._parts)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        self._cost.bytes_in += len(part)
        if self._size > self._max_bytes:
            raise CollectorError(Failure.UNREADABLE, f"{self._server} answered more than {self._max_bytes} bytes")
        self._parts.append(part)

    def _damaged(self) -> CollectorError:
        return CollectorError(Failure.UNREACHABLE, f"{self._server} answered with a body that is no gzip")
