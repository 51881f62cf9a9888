"""Facts of the hosts under test and of their initiator ports: processors, failed ports, queues and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from sanpath.catalogue.link_capacity import Technology, link_capacity
from sanpath.facts.host.other_traffic import other_traffic
from sanpath.facts.host.port_utilisation import port_use
from sanpath.facts.host.tested_machines import (
    UnderTest,
    as_bool,
    as_number,
    as_text,
    cpu_busy_ratio,
    gauge,
    in_flight_below_queue,
    is_always,
    platform,
    rate,
)
from sanpath.facts.samples.step_samples import sum_of_known, tcp_retransmit_ratio
from sanpath.facts.table import FactRow, FactValue
from sanpath.model import DIRECTIONS
from sanpath.topology.topology import Topology

_ERRORS = ("invalid_crc_total", "invalid_words_total", "errors_rx_total", "errors_tx_total")
_LINK_LOSSES = ("link_failures_total", "loss_of_sync_total", "loss_of_signal_total")
_CREDIT_NOTICES = ("lost_credit_notices_total", "credit_stall_notices_total")
_UP = ("online", "up", "link up")


def host_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each machine of the load and step. Machines without any known fact have no row."""
    for step in steps:
        for machine in step.machines:
            samples, attributes = step.samples_of(machine), topology.entities[machine].attributes
            ports = _fibre_channel(topology, machine)
            verified = as_bool(attributes.get("mpio_path_verification"))
            if verified is None and (verification := as_text(attributes.get("mpio_path_verification"))) is not None:
                verified = verification.lower() == "enabled"
            if not samples and not ports and verified is None:
                continue
            up = [_is_up(topology, step, port) for port in ports]
            yield {
                "entity": machine,
                "step": step.load.step,
                "direction": step.load.direction,
                "windows": min((sample.windows for sample in samples), default=0),
                "platform": platform(topology, machine),
                "cores": as_number(attributes.get("cores")) or rate(samples, "cpu_seconds_total"),
                "cpu_ratio": cpu_busy_ratio(samples),
                "tcp_retransmit_ratio": next(
                    (ratio for sample in samples if (ratio := tcp_retransmit_ratio(sample)) is not None), None
                ),
                "busiest_core_ratio": gauge(samples, "cpu_busiest_core_ratio"),
                "busiest_core_interrupt_ratio": gauge(samples, "cpu_busiest_core_interrupt_ratio"),
                "load_thread_run_ratio": gauge(samples, "load_thread_run_ratio"),
                "load_thread_wait_ratio": gauge(samples, "load_thread_wait_ratio"),
                "fc_ports": float(len(ports)) if ports else None,
                "fc_ports_down": float(up.count(False)) if ports and None not in up else None,
                "fc_port_down": next(
                    (topology.entities[port].label for port, is_up in zip(ports, up, strict=True) if is_up is False),
                    None,
                ),
                "path_verification": verified,
                "iscsi_sessions": as_number(attributes.get("iscsi_sessions")),
                "busiest_utilisation": step.busiest_utilisation,
            }


_FULL_PORT_RATIO = 0.9
"""Share of what a saturated link carries from which a port is full: that of the rule initiator-port-full."""


def initiator_rows(topology: Topology, steps: Sequence[UnderTest]) -> Iterator[FactRow]:
    """Yield one row for each initiator port of the hosts under test and step, if a source samples the port."""
    for step in steps:
        for host in step.hosts:
            # A port of ESXi may be two adapters, for SCSI and for NVMe: the busier one has the relevant queue.
            read = {
                port: sorted(samples, key=lambda sample: -(sample.means.get("in_flight") or 0.0))
                for port in topology.related(host, "attached_to", "hba")
                if (samples := step.samples_of(port))
            }
            uses = {
                port: port_use(topology, port, read[port], step.load.operation_bytes, at_host=True) for port in read
            }
            others = other_traffic(topology, step, uses)
            for port, samples in read.items():
                entity = topology.entities[port]
                depth, flying = gauge(samples, "queue_depth"), gauge(samples, "in_flight")
                if flying is None:
                    flying = in_flight_below_queue(samples)
                yield {
                    "entity": port,
                    "step": step.load.step,
                    "direction": step.load.direction,
                    "windows": min(sample.windows for sample in samples),
                    "platform": platform(topology, port) or platform(topology, host),
                    "adapter": entity.label.rpartition("/")[2] or None,
                    "technology": as_text(entity.attributes.get("technology")),
                    "queue_depth": depth,
                    "in_flight": flying,
                    "queue_filled_ratio": flying / depth if flying is not None and depth else None,
                    "queued": gauge(samples, "queued"),
                    "errors_per_second": sum_of_known(rate(samples, counter) for counter in _ERRORS),
                    "crc_errors_per_second": rate(samples, "invalid_crc_total"),
                    "link_losses_per_second": sum_of_known(rate(samples, counter) for counter in _LINK_LOSSES),
                    "credit_notices_per_second": sum_of_known(rate(samples, counter) for counter in _CREDIT_NOTICES),
                    "oversubscription_notices_per_second": rate(samples, "oversubscription_notices_total"),
                    "aborts_per_second": rate(samples, "aborts_total"),
                    "resets_per_second": rate(samples, "resets_total"),
                    **uses[port],
                    **others[port],
                    "other_ports_full": _other_ports_full(topology, port, uses, step.load.direction),
                    **_pcie(topology, port, uses),
                    "busiest_utilisation": step.busiest_utilisation,
                    "links_counted": step.links_counted,
                }


def _other_ports_full(
    topology: Topology, port: str, uses: Mapping[str, Mapping[str, FactValue]], direction: str
) -> bool | None:
    """Return whether no other port of the host of this technology has room in a direction: all of them are full as
    well, or there is none. None: not known. `uses`: those of each port of the host that is read."""
    hosts = topology.related(port, "attached_to", "host")
    ports = [each for host in hosts for each in topology.related(host, "attached_to", "hba")]
    technologies = {each: topology.entities[each].attributes.get("technology") for each in ports}
    own = technologies.pop(port, None)
    alike = [each for each, technology in technologies.items() if None in (own, technology) or own == technology]
    filled = [as_number(uses.get(each, {}).get(f"filled_ratio_{direction}")) for each in alike]
    if any(ratio is not None and ratio < _FULL_PORT_RATIO for ratio in filled):
        return False
    return None if not hosts or None in filled else True


def _pcie(topology: Topology, port: str, uses: Mapping[str, Mapping[str, FactValue]]) -> FactRow:
    """Return the facts of the PCIe lanes of a port's adapter; nothing where they are not read. `uses`: those of each
    port of the host."""
    attributes = topology.entities[port].attributes
    lanes = as_number(attributes.get("pcie_bits_per_second"))
    if not lanes:
        return {}
    speed = as_number(attributes.get("speed_bits_per_second")) or as_number(attributes.get("capable_bits_per_second"))
    technology = cast(Technology, attributes.get("technology") or "fibre_channel")
    capacity = link_capacity(technology, speed) if speed else None
    device = attributes.get("pci_device")
    ports = [each for each in uses if device and topology.entities[each].attributes.get("pci_device") == device]
    moved = {d: [uses[each][f"bytes_per_second_{d}"] for each in ports or (port,)] for d in DIRECTIONS}
    rates = [
        sum(known) for each in moved.values() if (known := [rate for r in each if (rate := as_number(r)) is not None])
    ]
    return {
        "pcie_bits_per_second": lanes,
        "pcie_capable_bits_per_second": as_number(attributes.get("pcie_capable_bits_per_second")),
        "pcie_port_ratio": lanes / 8 / capacity.data_bytes_per_second if capacity is not None else None,
        "pcie_used_ratio": max(rates) * 8 / lanes if rates else None,
    }


def _fibre_channel(topology: Topology, machine: str) -> list[str]:
    ports = topology.related(machine, "attached_to", "hba")
    return [port for port in ports if topology.entities[port].attributes.get("technology") == "fibre_channel"]


def _is_up(topology: Topology, step: UnderTest, port: str) -> bool | None:
    """Return whether a port was up during the entire step. None: not known."""
    if (share := gauge(step.samples_of(port), "link_up")) is not None:
        return is_always(share)
    state, speed = (topology.entities[port].attributes.get(name) for name in ("port_state", "speed_bits_per_second"))
    if as_number(speed):
        return True
    return str(state).lower() in _UP if state is not None else None
