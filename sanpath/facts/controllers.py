"""Facts of array controllers: their state, and whether one took over from another during the run."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.facts.said import Told
from sanpath.facts.table import FactRow
from sanpath.topology.identity import Topology

_SOUND = ("ready", "ok", "healthy")
"""States of a controller that can take I/O, as arrays call them."""


def controller_rows(topology: Topology, events: Told) -> Iterator[FactRow]:
    """One row a controller, of the whole run."""
    for controller in topology.of_kind("controller"):
        status, mode = (str(controller.attributes.get(name) or "").lower() or None for name in ("status", "mode"))
        known = set(controller.known_as)
        taken = sum(
            event.name == "controller-failover" and (source, str(event.detail.get("primary"))) in known
            for source, event in events
        )
        yield {
            "entity": controller.id,
            "step": "whole run",
            "direction": "both",
            "windows": 1,
            "status": status,
            "mode": mode,
            "sound": None if status is None else status in _SOUND,
            "took_over": float(taken),
        }
