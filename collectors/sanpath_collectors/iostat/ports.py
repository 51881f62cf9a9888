"""Network interfaces in the table of `sar -n DEV`: which are ports, and how fast their links are. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_NO_PORT = re.compile(
    r"lo|(?:veth|vnet|docker|virbr|vmbr|br-|br\d|tun|tap|vxlan|vlan|cali|flannel|cni|ifb|dummy|bond|team|ib\d).*"
)
"""Interfaces that are virtual, InfiniBand's, or made of others whose bytes they count again, by the names that the
kernel and its usual tools give them."""
_GIGABIT = 10**9
_SPEEDS = (
    _GIGABIT // 10,
    _GIGABIT,
    5 * _GIGABIT // 2,
    *(n * _GIGABIT for n in (5, 10, 20, 25, 40, 50, 100, 200, 400)),
)
"""Bits a second of Ethernet, and of the usual shares of it."""
_LEAST_SHARE = 5.0
"""Per cent of a link from which %ifutil, which has two decimals, gives its speed to 0.1 %: sanpath's own choice."""
_EQUAL = 0.02
"""Relative difference up to which a speed is one of the usual ones: sanpath's own choice."""
_BITS = 8 * 1024.0
"""In a kB of sar."""


def is_port(name: str, names: Collection[str]) -> bool:
    """Whether an interface is a port, among all those of the table: eth0.100 is a VLAN of eth0.

    >>> [name for name in ("eth0", "eth0.100", "bond0", "br-3f2a") if is_port(name, ("eth0",))]
    ['eth0']
    """
    base, dot, _ = name.partition(".")
    return not _NO_PORT.fullmatch(name) and not (dot and base in names)


def link_speed(values: Mapping[str, float]) -> int | None:
    """Bits a second of a port's link, by the kB that it moved and their share of it. None: not known.

    The share is of the greater direction, and of both together on a half-duplex link (sysstat, compute_ifutil), which
    Ethernet has up to 1 Gb/s.
    """
    share, moved = values.get("%ifutil", 0.0), [_BITS * values.get(column, 0.0) for column in ("rxkB/s", "txkB/s")]
    if share < _LEAST_SHARE:
        return None
    for used, speeds in ((max(moved), _SPEEDS), (sum(moved), _SPEEDS[:2])):
        for speed in speeds:
            if abs(100 * used / share - speed) <= _EQUAL * speed:
                return speed
    return None
