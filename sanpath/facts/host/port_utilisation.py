"""How far the ports at the ends of the path are used, as initiators and target ports count it themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sanpath.catalogue.capacity import Technology, full_ratio, link_capacity
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates
from sanpath.facts.table import FactValue
from sanpath.model import Scalar
from sanpath.topology.identity import Topology

_AT_HOST = {"read": "rx", "write": "tx"}
"""Direction of the data → what a host's port counts it as; a target port the other way round."""
_AT_ARRAY = {"read": "tx", "write": "rx"}


def port_use(
    topology: Topology, port: str, samples: Sequence[StepSamples], block_bytes: float | None, at_host: bool
) -> dict[str, FactValue]:
    """`filled_ratio_read` and `filled_ratio_write`: bytes over what a full link of its speed reads; None: no bytes or
    no speed is told. Where only the capable speed is known, a port that runs slower is fuller than that."""
    about = topology.entities[port].attributes
    technology = cast(Technology, about.get("technology") or "fibre_channel")
    speeds: list[Scalar] = [sample.last_values.get("link_speed_bits_per_second") for sample in samples]
    speeds += [about.get(name) for name in ("speed_bits_per_second", "capable_bits_per_second")]
    speed = next((float(s) for s in speeds if isinstance(s, int | float) and s > 0), None)
    capacity = link_capacity(technology, speed) if speed is not None else None
    found: dict[str, FactValue] = {}
    for direction, way in (_AT_HOST if at_host else _AT_ARRAY).items():
        counted = [
            c
            for s in samples
            if (c := gauge_or_rates(s, f"bytes_per_second_{way}", f"bytes_{way}_total")) is not None
        ]
        full = capacity.data_bytes_per_second * full_ratio(technology, block_bytes) if capacity is not None else None
        found[f"filled_ratio_{direction}"] = max(counted) / full if counted and full else None
    return found
