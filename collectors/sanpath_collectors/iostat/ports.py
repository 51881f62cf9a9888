"""Network interfaces of `sar -n DEV`: which of them are ports, and the speed of their links. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_NOT_A_PORT = re.compile(
    r"lo|(?:veth|vnet|docker|virbr|vmbr|br-|br\d|tun|tap|vxlan|vlan|cali|flannel|cni|ifb|dummy|bond|team|ib\d).*"
)
"""Interfaces that are virtual, of InfiniBand, or made of other interfaces whose bytes they count again. The names are
those that the kernel and its usual tools give."""
_GIGABIT = 10**9
_ETHERNET_SPEEDS = (
    _GIGABIT // 10,
    _GIGABIT,
    5 * _GIGABIT // 2,
    *(n * _GIGABIT for n in (5, 10, 20, 25, 40, 50, 100, 200, 400)),
)
"""Speeds of Ethernet, and usual limits of virtual ports, in bits per second."""
_MIN_UTILISATION_PERCENT = 5.0
"""Utilisation in per cent from which %ifutil, with its two decimals, gives the speed with an error of 0.1 %:
sanpath's own choice."""
_SPEED_TOLERANCE_RATIO = 0.02
"""Ratio by which an estimated speed may differ from one of the usual speeds: sanpath's own choice."""
_BITS_PER_KB = 8 * 1024.0
"""Bits in a kB of sar."""


def is_port(name: str, names: Collection[str]) -> bool:
    """Whether an interface is a port. `names`: all interfaces of the table, because eth0.100 is a VLAN of eth0.

    >>> [name for name in ("eth0", "eth0.100", "bond0", "br-3f2a") if is_port(name, ("eth0",))]
    ['eth0']
    """
    base, dot, _ = name.partition(".")
    return not _NOT_A_PORT.fullmatch(name) and not (dot and base in names)


def estimate_link_speed(values: Mapping[str, float]) -> int | None:
    """Speed of a port's link in bits per second, from its throughput and utilisation. None: not known.

    The utilisation is that of the larger direction or, on a half-duplex link, of both together (sysstat,
    compute_ifutil). Ethernet has half-duplex links up to 1 Gb/s.
    """
    utilisation_percent, bits_per_second = (
        values.get("%ifutil", 0.0),
        [_BITS_PER_KB * values.get(column, 0.0) for column in ("rxkB/s", "txkB/s")],
    )
    if utilisation_percent < _MIN_UTILISATION_PERCENT:
        return None
    for used, speeds in ((max(bits_per_second), _ETHERNET_SPEEDS), (sum(bits_per_second), _ETHERNET_SPEEDS[:2])):
        for speed in speeds:
            if abs(100 * used / utilisation_percent - speed) <= _SPEED_TOLERANCE_RATIO * speed:
                return speed
    return None
