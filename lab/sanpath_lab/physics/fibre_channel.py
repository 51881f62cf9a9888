"""Fibre Channel on the wire: line rates, and sizes of frames (FC-PI-5, FC-FS-3, FCP-4)."""

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
"""Bytes of a frame that port counters count in addition to its payload."""
WIRE_OVERHEAD_BYTES = COUNTED_OVERHEAD_BYTES + DELIMITER_BYTES + FILL_BYTES

FCP_CMND_BYTES = 32
FCP_XFER_RDY_BYTES = 12
FCP_RSP_BYTES = 24
"""Information units of an exchange without sense data (FCP-4)."""


def data_bytes_per_second(gigabit: int) -> float:
    """Return decoded bytes per second and direction: 8 of 10 bits up to 8GFC (8b/10b), 64 of 66 above (64b/66b)."""
    bits = LINE_BAUD[gigabit] * (8 / 10 if gigabit <= 8 else 64 / 66)
    return bits / 8


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence of frames: number of frames, bytes in port counters (`octets`), and bytes on the wire."""

    frames: int
    octets: int
    wire_bytes: int

    def __add__(self, addend: Sequence) -> Sequence:
        return Sequence(self.frames + addend.frames, self.octets + addend.octets, self.wire_bytes + addend.wire_bytes)


@lru_cache(maxsize=256)
def sequence_of(payload_bytes: int) -> Sequence:
    """Return the frames that carry one information unit."""
    frames = -(-payload_bytes // FRAME_PAYLOAD_BYTES)
    return Sequence(
        frames, payload_bytes + frames * COUNTED_OVERHEAD_BYTES, payload_bytes + frames * WIRE_OVERHEAD_BYTES
    )


@lru_cache(maxsize=256)
def bursts_of(payload_bytes: int, frames: int, trailer: Sequence | None = None) -> tuple[Sequence, ...]:
    """Return the frames in bursts of at most `frames`. `trailer` is added to the last burst."""
    full_bursts, remaining_bytes = divmod(payload_bytes, frames * FRAME_PAYLOAD_BYTES)
    bursts = [sequence_of(frames * FRAME_PAYLOAD_BYTES)] * full_bursts + (
        [sequence_of(remaining_bytes)] if remaining_bytes else []
    )
    if trailer is not None:
        bursts[-1] += trailer
    return tuple(bursts)
