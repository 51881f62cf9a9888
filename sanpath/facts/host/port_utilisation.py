"""Bytes and utilisation of initiator and target ports, by their own counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sanpath.catalogue.link_capacity import Technology, counted_per_payload, full_ratio, link_capacity
from sanpath.facts.samples.step_samples import StepSamples, gauge_or_rates
from sanpath.facts.table import FactValue
from sanpath.model import Scalar
from sanpath.topology.topology import Topology

_AT_HOST = {"read": "rx", "write": "tx"}
"""Direction of the data → direction in which a host's port counts it; a target port counts it in the opposite one."""
_AT_ARRAY = {"read": "tx", "write": "rx"}


def port_use(
    topology: Topology, port: str, samples: Sequence[StepSamples], block_bytes: float | None, at_host: bool
) -> dict[str, FactValue]:
    """Return `bytes_per_second_read` and `_write`, `filled_ratio_read` and `_write`: these bytes over those of a full
    link of the port's speed, and `filled_ratio_max_read` and `_write`: the same ratio in the port's fullest window.

    None: no bytes or no speed is reported. Where only the capable speed is known, the ratio is too low for a port
    that runs slower. `block_bytes`: mean size of the load's I/Os."""
    attributes = topology.entities[port].attributes
    technology = cast(Technology, attributes.get("technology") or "fibre_channel")
    speeds: list[Scalar] = [sample.last_values.get("link_speed_bits_per_second") for sample in samples]
    speeds += [attributes.get(name) for name in ("speed_bits_per_second", "capable_bits_per_second")]
    speed = next((float(sample) for sample in speeds if isinstance(sample, int | float) and sample > 0), None)
    capacity = link_capacity(technology, speed) if speed is not None else None
    used: dict[str, FactValue] = {}
    for direction, port_direction in (_AT_HOST if at_host else _AT_ARRAY).items():
        rates = [
            rate
            for sample in samples
            if (rate := gauge_or_rates(sample, f"bytes_per_second_{port_direction}", f"bytes_{port_direction}_total"))
            is not None
        ]
        windows = [
            rate for sample in samples for rate in sample.rates.get(f"bytes_{port_direction}_total", ()) if rate
        ]
        # A hypervisor counts the payload of an adapter's I/Os. Below a software adapter may be several network ports.
        if not rates and at_host and attributes.get("software") is not True:
            frames = counted_per_payload(technology, block_bytes)
            payloads = [sample for sample in samples if sample.rate(f"bytes_{direction}_total") is not None]
            rates = [frames * (sample.rate(f"bytes_{direction}_total") or 0.0) for sample in payloads]
            windows = [
                frames * rate
                for sample in payloads
                for rate in sample.rates.get(f"bytes_{direction}_total", ())
                if rate
            ]
        full = capacity.data_bytes_per_second * full_ratio(technology, block_bytes) if capacity is not None else None
        used[f"bytes_per_second_{direction}"] = max(rates, default=None)
        used[f"filled_ratio_{direction}"] = max(rates) / full if rates and full else None
        used[f"filled_ratio_max_{direction}"] = max(windows) / full if windows and full else None
    return used
