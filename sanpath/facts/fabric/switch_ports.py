"""Facts of switch ports: errors, resets, drops and optics of those that carry the test, and of those in trouble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactRow, FactTable, FactValue
from sanpath.model import Step
from sanpath.topology.identity import Topology

_MINUTE = 60.0
_COUNTED: Mapping[str, tuple[str, ...]] = {
    "crc_errors_per_minute": ("crc_errors_total",),
    "invalid_words_per_minute": ("encoding_errors_total",),
    "link_resets_per_minute": ("link_resets_rx_total", "link_resets_tx_total"),
    "link_failures_per_minute": ("link_failures_total",),
    "sync_losses_per_minute": ("sync_losses_total",),
    "signal_losses_per_minute": ("signal_losses_total",),
    "state_changes_per_minute": ("state_changes_total",),
    "timeout_discards_per_minute": ("discards_timeout_total",),
    "credit_losses_per_minute": ("credit_losses_total",),
    "errors_per_minute": ("errors_rx_total", "errors_tx_total"),
    "discards_per_minute": ("discards_rx_total", "discards_tx_total"),
}
"""Fact → the counters that it sums."""
_TROUBLE = frozenset(counter for counters in _COUNTED.values() for counter in counters)
_OPTICS = ("optics_rx_power_dbm", "optics_tx_power_dbm", "optics_temperature_celsius")
_SISTERS = 3
"""Fewer other ports of a switch tell no usual power."""


def switch_port_rows(
    topology: Topology, steps: Sequence[Step], links: FactTable, samples: Sequence[StepSamples]
) -> Iterator[FactRow]:
    """One row a port and step, of both directions: of ports that carry the test or may, and of any other that counted
    trouble in the step. Counts are a minute, where a shorter step stands for a whole one."""
    carries = _carrying(links)
    logins = _logins(topology)
    for step in steps:
        here = [sample for sample in samples if sample.step == step.name]
        usual = _usual_power(here)
        for sample in here:
            port = topology.known_as.get((sample.source, "switch_port", sample.entity))
            if port is None:
                continue
            # Most ports of a large site are neither: that is seen without a row for each.
            if (step.name, port) not in carries and not sample.moved(_TROUBLE):
                continue
            counted = {fact: _a_minute(sample, counters) for fact, counters in _COUNTED.items()}
            optics = {name: sample.last_values.get(name) for name in _OPTICS}
            power, others = optics["optics_rx_power_dbm"], usual.get(sample.source)
            about = topology.entities[port].attributes
            yield {
                "entity": port,
                "step": step.name,
                "direction": "both",
                "windows": sample.windows,
                "switch_port": topology.entities[port].label.partition("/")[2] or None,
                "technology": _text(about.get("technology")),
                "rate_mode": _text(about.get("rate_mode")),
                "carries_test": carries.get((step.name, port), False),
                "logins": float(logins.get(port, 0)),
                **counted,
                **optics,
                "optics_below_others_db": others - power if power is not None and others is not None else None,
            }


def _a_minute(sample: StepSamples, counters: Sequence[str]) -> float | None:
    """None: no port tells any of them."""
    rates = [rate for counter in counters if (rate := sample.rate(counter)) is not None]
    # One loss of light in a step of ten seconds is one, not six a minute.
    return sum(rates) * min(_MINUTE, sample.length_seconds) if rates else None


def _carrying(links: FactTable) -> dict[tuple[str, str], bool | None]:
    """Step and switch port → whether the test crosses its link in either direction. None: not known."""
    found: dict[tuple[str, str], bool | None] = {}
    for row in links:
        for port in (row["near_port"], row["far_port"]):
            if port is None:
                continue
            key, crosses = (str(row["step"]), str(port)), row["on_loaded_path"]
            before = found.get(key, False)
            found[key] = True if before or crosses else None if before is None or crosses is None else False
    return {key: crosses for key, crosses in found.items() if crosses is not False}


def _usual_power(samples: Sequence[StepSamples]) -> dict[str, float]:
    """Source → median of the optical power that its ports receive."""
    told: dict[str, list[float]] = {}
    for sample in samples:
        if (power := sample.last_values.get("optics_rx_power_dbm")) is not None:
            told.setdefault(sample.source, []).append(power)
    return {source: median(powers) for source, powers in told.items() if len(powers) > _SISTERS}


def _logins(topology: Topology) -> dict[str, int]:
    """Switch port → devices that have logged in there."""
    found: dict[str, int] = {}
    for link in topology.links:
        if link.relation == "logged_in":
            for end in (link.from_entity, link.to_entity):
                if topology.entities[end].kind == "switch_port":
                    found[end] = found.get(end, 0) + 1
    return found


def _text(value: FactValue) -> str | None:
    return value if isinstance(value, str) and value else None
