"""Shares of the test's bytes on links whose path cannot be followed to its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import isclose

from sanpath.facts.fabric.test_shares import LOADED, OVERHEAD_TOLERANCE, Shares
from sanpath.topology.identity import Topology
from sanpath.topology.paths import Cable, switch_of

_SAME_FLOW = 0.01
"""Counters of two ports of one switch, read in one poll, differ by less where they count the same frames."""


def shares_of_open_links(
    topology: Topology,
    open_links: Sequence[Cable],
    byte_rates: Mapping[Cable, float],
    test: float,
    test_cables: Mapping[str, Collection[str]],
) -> Shares:
    """Return the share of the test's bytes on each of these links; None: not known.

    The only busy link of a switch carries the test, and so does the only one that moves what the links of the test's
    own initiators or target ports bring to that switch: a switch keeps no bytes. Of several others it is not known
    which does. `test`: the test's bytes a second; `test_cables`: of its initiators and target ports, by side.
    """
    busy: defaultdict[str | None, list[Cable]] = defaultdict(list)
    for cable in open_links:
        if byte_rates.get(cable, 0.0) >= LOADED * test > 0:
            busy[switch_of(topology, cable.switch_port)].append(cable)
    shares: Shares = {}
    for switch, cables in busy.items():
        brought = _brought_to(topology, switch, byte_rates, test_cables)
        same_flow = [cable for cable in cables if isclose(byte_rates[cable], brought, rel_tol=_SAME_FLOW)]
        if len(cables) == 1 and byte_rates[cables[0]] * OVERHEAD_TOLERANCE >= test:
            shares[cables[0].id] = 1.0
        elif len(same_flow) == 1:
            shares |= {cable.id: min(1.0, brought / test) if cable in same_flow else 0.0 for cable in cables}
        else:
            shares |= {cable.id: None for cable in cables}
    return shares


def _brought_to(
    topology: Topology,
    switch: str | None,
    byte_rates: Mapping[Cable, float],
    test_cables: Mapping[str, Collection[str]],
) -> float:
    """Return the bytes a second on the cables of the test's initiators and target ports at a switch."""
    own = {*test_cables.get("host", ()), *test_cables.get("array", ())}
    return sum(
        rate
        for cable, rate in byte_rates.items()
        if cable.id in own and switch_of(topology, cable.switch_port) == switch
    )
