"""One direction of a cable: a queue before the line, a buffer behind it that is lent as credits, and port counters.

A transmitter may send only what the receiver has lent it credits for (buffer-to-buffer flow control, FC-FS-3): one a
frame, given back by a switch when the frame has left through its next port, by a device when it has consumed it. A
transmitter that has a frame to send and too few credits is stalled. So a device that consumes slowly stalls the port
before it, whose frames fill the buffers of that switch, which stalls the link towards that switch, and so on.

What is approximated:

- Frames move in bursts (`Scenario.burst_frames`): a burst waits until there are credits for all of its frames, and
  gives them back together. Bytes and stall times add up to the same, but buffers must have room for two bursts, more
  frames than many real ports have.
- A switch has one buffer a port of entry and a first-come-first-served queue a port of exit; there are no virtual
  channels.
- Commands, transfer-ready and responses to writes slip in between two frames of others: they take time on the line,
  wait for none and need no credit.
- No frame is ever discarded, however long it has waited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sanpath_lab.events import EventQueue
from sanpath_lab.exchange import Exchange
from sanpath_lab.fibre_channel import (
    FRAME_PAYLOAD_BYTES,
    WIRE_OVERHEAD_BYTES,
    Sequence,
    data_bytes_per_second,
)

Arrived = Callable[[Exchange], None]

CREDIT_TICK_SECONDS = 2.5e-6
"""In which switches count the time without transmit credit (tim_txcrd_z, TxWait)."""


class Burst:
    """Frames of one exchange on their way over `way`. `arrived` is called at its end; None: more of it will come."""

    __slots__ = ("arrived", "came_over", "exchange", "hop", "sequence", "way")

    def __init__(
        self, exchange: Exchange, sequence: Sequence, way: tuple[LinkDirection, ...], arrived: Arrived | None
    ) -> None:
        self.exchange, self.sequence, self.way, self.arrived = exchange, sequence, way, arrived
        self.hop = 0
        self.came_over: LinkDirection | None = None
        """Whose receiver's buffer it takes up."""


class LinkDirection:
    """As fast as the line. `credits` are frames; `drain_ratio` is how fast a device at the end consumes what comes.

    `forwarding_seconds`: from the head's arrival at the end to its place in the next queue.
    """

    def __init__(
        self,
        events: EventQueue,
        gigabit: int,
        credits: int,  # noqa: A002  the standard's word
        forwarding_seconds: float = 0.0,
        drain_ratio: float = 1.0,
    ) -> None:
        self._events = events
        self.bytes_per_second = data_bytes_per_second(gigabit)
        self.first_frame_seconds = (FRAME_PAYLOAD_BYTES + WIRE_OVERHEAD_BYTES) / self.bytes_per_second
        self.forwarding_seconds = forwarding_seconds
        self.drain_ratio = drain_ratio
        self.lent = self.credits = credits
        self.octets = 0
        self.frames = 0
        self.damaged_frames = 0
        """Data frames that came with a wrong checksum: the receiver counts them and throws them away."""
        self.stalls = 0
        """How often it ran out of credits with a frame to send."""
        self._queue: deque[Burst] = deque()
        self._sending = False
        self._free_at = 0.0
        self._drained_at = 0.0
        self._stalled_since: float | None = None
        self._stall_seconds = 0.0

    @property
    def stall_seconds(self) -> float:
        """How long there have been frames to send and no credit, up to now."""
        if self._stalled_since is None:
            return self._stall_seconds
        return self._stall_seconds + self._events.now - self._stalled_since

    @property
    def stall_ticks(self) -> int:
        """The same as a switch counts it."""
        return int(self.stall_seconds / CREDIT_TICK_SECONDS)

    def send(self, burst: Burst) -> None:
        """Queue a burst; it goes out in its turn."""
        self._queue.append(burst)
        if not self._sending:
            self._send_next()

    def interleave(self, sequence: Sequence) -> None:
        """One small frame of another exchange slips in between two frames: it costs its bytes and waits for none."""
        self._free_at = max(self._free_at, self._events.now) + sequence.wire_bytes / self.bytes_per_second
        self._count(sequence)

    def _send_next(self) -> None:
        if not self._queue:
            return
        events, burst = self._events, self._queue[0]
        now, sequence = events.now, burst.sequence
        if sequence.frames > self.credits:
            if self._stalled_since is None:
                self._stalled_since = now
                self.stalls += 1
            return
        if self._stalled_since is not None:
            self._stall_seconds += now - self._stalled_since
            self._stalled_since = None
        self._queue.popleft()
        self._sending = True
        self.credits -= sequence.frames
        start = max(now, self._free_at)
        self._free_at = finish = start + sequence.wire_bytes / self.bytes_per_second
        before, burst.came_over = burst.came_over, self
        burst.hop += 1
        if burst.hop < len(burst.way):
            following = burst.way[burst.hop]
            # Cut-through; into a faster line only so early that it will not run dry.
            latest = finish + following.first_frame_seconds - sequence.wire_bytes / following.bytes_per_second
            ready = max(start + self.first_frame_seconds, latest) + self.forwarding_seconds
            events.at(finish, self._sent, sequence, before)
            events.at(ready, following.send, burst)
        else:
            events.at(finish, self._delivered, burst, before)

    def _sent(self, sequence: Sequence, before: LinkDirection | None) -> None:
        self._count(sequence)
        self._sending = False
        if before is not None:
            before._give_back(sequence.frames)
        self._send_next()

    def _delivered(self, burst: Burst, before: LinkDirection | None) -> None:
        if self.drain_ratio == 1.0:
            self._consumed(burst)
        else:
            needed = burst.sequence.wire_bytes / (self.bytes_per_second * self.drain_ratio)
            self._drained_at = max(self._drained_at, self._events.now) + needed
            self._events.at(self._drained_at, self._consumed, burst)
        self._sent(burst.sequence, before)

    def _consumed(self, burst: Burst) -> None:
        self._give_back(burst.sequence.frames)
        if burst.arrived is not None:
            burst.arrived(burst.exchange)

    def _give_back(self, frames: int) -> None:
        self.credits += frames
        if not self._sending:
            self._send_next()

    def _count(self, sequence: Sequence) -> None:
        self.octets += sequence.octets
        self.frames += sequence.frames
