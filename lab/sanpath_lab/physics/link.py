"""One direction of a cable: a transmit queue, the line, a receive buffer with credits, and port counters.

A transmitter needs one credit of the receiver for each frame (buffer-to-buffer flow control, FC-FS-3). A switch
returns the credit when the frame has left through its egress port, a device when it has consumed the frame. A
transmitter with a frame to send and too few credits is stalled. So a slow device stalls the port before it, whose
frames fill the buffers of that switch, which stalls the link towards that switch, and so on.

Approximations:

- Frames move in bursts (`Scenario.burst_frames`). A burst waits for credits for all of its frames and returns them
  together. Total bytes and stall times are the same, but buffers must hold two bursts, more frames than many real
  ports can hold.
- A switch has one buffer per ingress port and one first-come-first-served queue per egress port. Virtual channels are
  not simulated.
- Commands, transfer-ready and responses to writes are interleaved between frames: they take time on the line, but
  they neither wait nor need a credit.
- No frame is discarded, however long it has waited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sanpath_lab.physics.events import EventQueue
from sanpath_lab.physics.exchange import Exchange
from sanpath_lab.physics.fibre_channel import (
    FRAME_PAYLOAD_BYTES,
    WIRE_OVERHEAD_BYTES,
    Sequence,
    data_bytes_per_second,
)

Arrived = Callable[[Exchange], None]

CREDIT_TICK_SECONDS = 2.5e-6
"""Unit in which switches count the time without transmit credit (tim_txcrd_z, TxWait)."""


@dataclass(slots=True, eq=False)
class Burst:
    """Frames of one exchange on their way over `frame_path`.

    `arrived`: called at its end; None: further bursts of the exchange follow.
    """

    exchange: Exchange
    sequence: Sequence
    frame_path: tuple[LinkDirection, ...]
    arrived: Arrived | None
    hop: int = 0
    came_over: LinkDirection | None = None
    """The link whose receive buffer it occupies; None: no link yet."""


class LinkDirection:
    """One direction of a cable with its counters.

    `credits`: number of frames that the receive buffer holds. `drain_ratio`: rate at which a device at the end
    consumes frames, as a share of the line rate. `forwarding_seconds`: from the arrival of the first frame at the end
    to its place in the next queue.
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
        """Data frames with a wrong checksum: the receiver counts and discards them."""
        self.stalls = 0
        """Number of times it ran out of credits with a frame to send."""
        self._queue: deque[Burst] = deque()
        self._sending = False
        self._free_at = 0.0
        self._drained_at = 0.0
        self._stalled_since: float | None = None
        self._stall_seconds = 0.0

    @property
    def stall_seconds(self) -> float:
        """Total time with frames to send and too few credits, up to now."""
        if self._stalled_since is None:
            return self._stall_seconds
        return self._stall_seconds + self._events.now - self._stalled_since

    @property
    def stall_ticks(self) -> int:
        """The stall time in ticks of `CREDIT_TICK_SECONDS`, as a switch counts it."""
        return int(self.stall_seconds / CREDIT_TICK_SECONDS)

    def send(self, burst: Burst) -> None:
        """Add a burst to the transmit queue."""
        self._queue.append(burst)
        if not self._sending:
            self._send_next()

    def interleave(self, sequence: Sequence) -> None:
        """Send a small frame of another exchange between two frames: it takes time on the line but does not wait."""
        now, free_at = self._events.now, self._free_at
        self._free_at = (free_at if free_at > now else now) + sequence.wire_bytes / self.bytes_per_second
        self.octets += sequence.octets
        self.frames += sequence.frames

    def _send_next(self) -> None:
        # Runs several times for each I/O: comparisons are three times as fast as max().
        queue = self._queue
        if not queue:
            return
        events, burst = self._events, queue[0]
        now, sequence = events.now, burst.sequence
        if sequence.frames > self.credits:
            if self._stalled_since is None:
                self._stalled_since = now
                self.stalls += 1
            return
        if self._stalled_since is not None:
            self._stall_seconds += now - self._stalled_since
            self._stalled_since = None
        queue.popleft()
        self._sending = True
        self.credits -= sequence.frames
        start = now if now >= self._free_at else self._free_at
        self._free_at = finish = start + sequence.wire_bytes / self.bytes_per_second
        before, burst.came_over = burst.came_over, self
        burst.hop = hop = burst.hop + 1
        if hop < len(burst.frame_path):
            following = burst.frame_path[hop]
            # Cut-through. A faster line must not start so early that it runs out of data.
            latest = finish + following.first_frame_seconds - sequence.wire_bytes / following.bytes_per_second
            first = start + self.first_frame_seconds
            events.schedule(finish, self._sent, sequence, before)
            events.schedule((first if first > latest else latest) + self.forwarding_seconds, following.send, burst)
        else:
            events.schedule(finish, self._delivered, burst, before)

    def _sent(self, sequence: Sequence, before: LinkDirection | None) -> None:
        self.octets += sequence.octets
        self.frames += sequence.frames
        self._sending = False
        if before is not None:
            before.credits += sequence.frames
            if before._queue and not before._sending:
                before._send_next()
        if self._queue:
            self._send_next()

    def _delivered(self, burst: Burst, before: LinkDirection | None) -> None:
        if self.drain_ratio == 1.0:
            self._consumed(burst)
        else:
            needed = burst.sequence.wire_bytes / (self.bytes_per_second * self.drain_ratio)
            self._drained_at = max(self._drained_at, self._events.now) + needed
            self._events.schedule(self._drained_at, self._consumed, burst)
        self._sent(burst.sequence, before)

    def _consumed(self, burst: Burst) -> None:
        self.credits += burst.sequence.frames
        if self._queue and not self._sending:
            self._send_next()
        if burst.arrived is not None:
            burst.arrived(burst.exchange)
