"""Facts of switch ports: errors, resets, discards and optics of ports that carry the test or have errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from sanpath.facts.host.tested_machines import as_text
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactRow, FactTable
from sanpath.model import Step
from sanpath.topology.topology import Topology

_MINUTE_SECONDS = 60.0
_COUNTERS: Mapping[str, tuple[str, ...]] = {
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
_ERROR_COUNTERS = frozenset(counter for counters in _COUNTERS.values() for counter in counters)
_PAUSES = {f"pause_frames_per_second_{way}": f"pause_frames_{way}_total" for way in ("rx", "tx")}
"""Fact → the counter of which it is the rate."""
_OPTICS = ("optics_rx_power_dbm", "optics_tx_power_dbm", "optics_temperature_celsius")
_RX_POWER = "optics_rx_power_dbm"
_MIN_PORTS = 3
"""With fewer other ports, a switch has no typical optical power."""
_DARK_DBM = -24.0
"""At or below this, the receiver of a link that is down reports its own noise: the most sensitive ones, made for
80 km (10GBASE-ZR), need -24 dBm."""


def switch_port_rows(
    topology: Topology, steps: Sequence[Step], links: FactTable, samples: Sequence[StepSamples]
) -> Iterator[FactRow]:
    """Yield one row for each port and step, both directions together.

    Rows are of ports that carry the test or may carry it, and of others with errors in the step. Counts are per
    minute; a step shorter than a minute counts as a full minute. If several sources read a port, each value is that
    of the first source that reports it: they count the same frames."""
    carries = _carrying(links)
    logins = _logins(topology)
    for step in steps:
        step_samples = [sample for sample in samples if sample.step == step.name]
        typical_power = _typical_power(step_samples)
        may_carry = {
            local for name, port in carries if name == step.name for local in topology.entities[port].known_as
        }
        by_local = {(sample.source, sample.entity): sample for sample in step_samples}
        built: set[str] = set()
        for sample in step_samples:
            # Most ports of a large site neither carry the test nor have errors: they are skipped before a row is
            # built.
            if (sample.source, sample.entity) not in may_carry and not sample.moved(_ERROR_COUNTERS):
                continue
            port = topology.known_as.get((sample.source, "switch_port", sample.entity))
            if port is None or port in built:
                continue
            built.add(port)
            same = [by_local[local] for local in topology.entities[port].known_as if local in by_local]
            counted = {fact: _first(_per_minute(s, counters) for s in same) for fact, counters in _COUNTERS.items()}
            pauses = {fact: _first(s.rate(counter) for s in same) for fact, counter in _PAUSES.items()}
            optics = {name: _first(s.last_values.get(name) for s in same) for name in _OPTICS}
            optics[_RX_POWER] = power = _first(map(_received_power, same))
            lit_sources = (s.source for s in same if _received_power(s) is not None)
            typical = typical_power.get(next(lit_sources, ""))
            attributes = topology.entities[port].attributes
            yield {
                "entity": port,
                "step": step.name,
                "direction": "both",
                "windows": same[0].windows,
                "switch": topology.entities[port].label.partition("/")[0],
                "switch_port": topology.entities[port].label.partition("/")[2] or None,
                "technology": as_text(attributes.get("technology")),
                "rate_mode": as_text(attributes.get("rate_mode")),
                "carries_test": carries.get((step.name, port), False),
                "logins": float(logins.get(port, 0)),
                **counted,
                **pauses,
                **optics,
                "optics_below_others_db": typical - power if power is not None and typical is not None else None,
            }


def _first(values: Iterable[float | None]) -> float | None:
    return next((value for value in values if value is not None), None)


def _per_minute(sample: StepSamples, counters: Sequence[str]) -> float | None:
    """Return the sum of counters a minute. None: the port reports none of them."""
    rates = [rate for counter in counters if (rate := sample.rate(counter)) is not None]
    # One loss of light in a step of ten seconds counts as one, not as six a minute.
    return sum(rates) * min(_MINUTE_SECONDS, sample.length_seconds) if rates else None


def _carrying(links: FactTable) -> dict[tuple[str, str], bool | None]:
    """Return (step, switch port) → whether the test crosses its link in either direction. None: not known."""
    carries: dict[tuple[str, str], bool | None] = {}
    for row in links:
        for port in (row["near_port"], row["far_port"]):
            if port is None:
                continue
            key, crosses = (str(row["step"]), str(port)), row["on_loaded_path"]
            previous = carries.get(key, False)
            carries[key] = True if previous or crosses else None if previous is None or crosses is None else False
    return {key: crosses for key, crosses in carries.items() if crosses is not False}


def _received_power(sample: StepSamples) -> float | None:
    """Return the optical power that a port receives, dBm. None: not known, or no light."""
    power = sample.last_values.get(_RX_POWER)
    return None if power is None or (_is_down(sample) and power <= _DARK_DBM) else power


def _is_down(sample: StepSamples) -> bool:
    return sample.last_values.get("link_up") == 0


def _typical_power(samples: Sequence[StepSamples]) -> dict[str, float]:
    """Return source → median of the optical power that those of its ports receive whose link is up, dBm."""
    powers_by_source: dict[str, list[float]] = {}
    for sample in samples:
        if (power := _received_power(sample)) is not None and not _is_down(sample):
            powers_by_source.setdefault(sample.source, []).append(power)
    return {source: median(powers) for source, powers in powers_by_source.items() if len(powers) > _MIN_PORTS}


def _logins(topology: Topology) -> dict[str, int]:
    """Return switch port → number of devices that have logged in at it."""
    counts: dict[str, int] = {}
    for link in topology.links:
        if link.relation == "logged_in":
            for end in (link.from_entity, link.to_entity):
                if topology.entities[end].kind == "switch_port":
                    counts[end] = counts.get(end, 0) + 1
    return counts
