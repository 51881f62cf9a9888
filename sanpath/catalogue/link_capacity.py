"""The capacity of a link: the data rate of a speed, and the rate that the byte counter of a full link shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sanpath.catalogue.catalogue import capacities

Technology = Literal["fibre_channel", "ethernet"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """One direction of a link.

    `data_bytes_per_second`: the rate that utilisation refers to. `name`: the usual name of the speed.
    """

    name: str
    technology: Technology
    data_bytes_per_second: float


def link_capacity(technology: Technology, nominal_bits_per_second: float) -> Capacity | None:
    """Return the capacity of a negotiated speed. None: a Fibre Channel speed that is not in the table (e.g. 0)."""
    if nominal_bits_per_second <= 0:
        return None
    if technology == "ethernet":
        return Capacity(_ethernet_name(nominal_bits_per_second), technology, nominal_bits_per_second / 8)
    for speed in capacities()["fibre_channel"]["speeds"]:
        if math.isclose(speed["nominal_bits_per_second"], nominal_bits_per_second, rel_tol=0.01):
            return Capacity(speed["name"], technology, float(speed["data_bytes_per_second"]))
    return None


def full_ratio(technology: Technology, block_bytes: float | None) -> float:
    """Return counted bytes over data rate of a full link that carries blocks of this size.

    Frame model of capacities.yaml: a block is split into frames, the last one shorter. `block_bytes` None: large.
    """
    _, counted, wire = _block_bytes(technology, block_bytes)
    return counted / wire


def counted_per_payload(technology: Technology, block_bytes: float | None) -> float:
    """Return the bytes that a port counts for one byte of payload, by the same frame model."""
    payload, counted, _ = _block_bytes(technology, block_bytes)
    return counted / payload


def payload_ratio(technology: Technology, block_bytes: float | None) -> float:
    """Return payload over data rate of a full link, by the same frame model."""
    payload, _, wire = _block_bytes(technology, block_bytes)
    return payload / wire


def _block_bytes(technology: Technology, block_bytes: float | None) -> tuple[float, float, float]:
    """Return the bytes of a block: its payload, what a port counts for it, and what it occupies on the wire."""
    frame = capacities()[technology]["frame"]
    payload = block_bytes or frame["payload"]
    frames = math.ceil(payload / frame["payload"])
    counted = payload + frames * frame["header_and_crc"]
    if block_bytes and frame["response"]:
        frames, counted = frames + 1, counted + frame["response"] + frame["header_and_crc"]
    return payload, counted, counted + frames * frame["delimiters_and_fill"]


def _ethernet_name(bits_per_second: float) -> str:
    if bits_per_second >= 1e9:
        return f"{bits_per_second / 1e9:g} Gb/s Ethernet"
    return f"{bits_per_second / 1e6:g} Mb/s Ethernet"
