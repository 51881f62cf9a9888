"""Fibre Channel on the wire: line rates, frames and one direction of a cable (FC-PI-5, FC-FS-3, FCP-4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

LINE_BAUD = {1: 1.0625e9, 2: 2.125e9, 4: 4.25e9, 8: 8.5e9, 16: 14.025e9, 32: 28.05e9}
"""Signalling rate by nominal gigabit (FC-PI-5 table of speeds; 16 and 32 from FC-PI-6)."""

FRAME_PAYLOAD_BYTES = 2048
"""Payload of a full data frame: initiators and targets agree on 2,048 of the 2,112 bytes FC-FS-3 allows."""

HEADER_BYTES = 24
CRC_BYTES = 4
DELIMITER_BYTES = 8
"""SOF and EOF."""
FILL_BYTES = 24
"""Six fill words between frames, the minimum a sender has to leave (FC-FS-3)."""

COUNTED_OVERHEAD_BYTES = HEADER_BYTES + CRC_BYTES
"""What port counters add to the payload of a frame."""
WIRE_OVERHEAD_BYTES = COUNTED_OVERHEAD_BYTES + DELIMITER_BYTES + FILL_BYTES

FCP_CMND_BYTES = 32
FCP_XFER_RDY_BYTES = 12
FCP_RSP_BYTES = 24
"""Information units of an exchange without sense data (FCP-4)."""


def data_bytes_per_second(gigabit: int) -> float:
    """Decoded bytes per second and direction: 8 of 10 bits up to 8GFC (8b/10b), 64 of 66 above (64b/66b)."""
    bits = LINE_BAUD[gigabit] * (8 / 10 if gigabit <= 8 else 64 / 66)
    return bits / 8


@dataclass(frozen=True, slots=True)
class Sequence:
    """A run of frames: how many, what the port counters make of them, and what they take on the wire in bytes."""

    frames: int
    octets: int
    wire_bytes: int

    def __add__(self, other: Sequence) -> Sequence:
        return Sequence(self.frames + other.frames, self.octets + other.octets, self.wire_bytes + other.wire_bytes)


@lru_cache(maxsize=256)
def sequence_of(payload_bytes: int) -> Sequence:
    """The frames that carry one information unit."""
    frames = -(-payload_bytes // FRAME_PAYLOAD_BYTES)
    return Sequence(
        frames, payload_bytes + frames * COUNTED_OVERHEAD_BYTES, payload_bytes + frames * WIRE_OVERHEAD_BYTES
    )


class LinkDirection:
    """One direction of a cable: a FIFO server as fast as the line, with the counters of the port at its end."""

    def __init__(self, gigabit: int) -> None:
        self.bytes_per_second = data_bytes_per_second(gigabit)
        self.octets = 0
        self.frames = 0
        self._free_at = 0.0
        self.first_frame_seconds = (FRAME_PAYLOAD_BYTES + WIRE_OVERHEAD_BYTES) / self.bytes_per_second

    def reserve(self, sequence: Sequence, earliest: float) -> tuple[float, float]:
        """Queue behind what was reserved before; returns when the first byte starts and when the last has passed."""
        start = max(earliest, self._free_at)
        self._free_at = start + sequence.wire_bytes / self.bytes_per_second
        return start, self._free_at

    def count(self, sequence: Sequence) -> None:
        """The frames have passed: advance the port counters."""
        self.octets += sequence.octets
        self.frames += sequence.frames

    def interleave(self, sequence: Sequence, now: float) -> None:
        """One small frame of another exchange slips in between two frames: it costs its bytes and waits for none."""
        self.reserve(sequence, now)
        self.count(sequence)


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable between a device's port and a switch port."""

    towards_switch: LinkDirection
    from_switch: LinkDirection

    @classmethod
    def of_speed(cls, gigabit: int) -> Cable:
        """A cable whose two ends have agreed on a speed."""
        return cls(LinkDirection(gigabit), LinkDirection(gigabit))
