"""Ports that count bytes where words are expected: the host's disks tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanpath.facts.host.port_units import correct_port_units
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

RATES = st.floats(1e7, 3e9)


def host(technology: str = "fibre_channel", driver: str | None = None) -> Topology:
    """Two ports, two paths to a LUN, and their map. `driver`: of the ports, None: not read."""
    about = {"technology": technology} | ({} if driver is None else {"driver": driver})
    at_host = ("host", "h")
    ends = [("hba", "host0"), ("hba", "host1"), ("lun", "sdb"), ("lun", "sdc"), ("lun", "dm-0")]
    return resolve(
        [
            ("h", 0, SourceEntity(*at_host, "h")),
            *(
                ("h", 0, SourceEntity(kind, name, f"h/{name}", {"device": (name,)}, about))
                if kind == "hba"
                else ("h", 0, SourceEntity(kind, name, f"h/{name}", {"device": (name,)}))
                for kind, name in ends
            ),
            *(("h", 0, SourceLink("attached_to", end, at_host, "/sys")) for end in ends),
        ]
    )


def counted(
    reads: float, writes: float, times: float, technology: str = "fibre_channel", driver: str | None = None
) -> list[float]:
    """Received and sent bytes of both ports together, where they count `times` what the disks do."""

    def sample(name: str, share: float, read: str, write: str) -> StepSamples:
        rates = {read: [share * reads], write: [share * writes]}
        return StepSamples("h", name, "s", seconds=[1.0], ended_us=[1], rates=rates)

    at_disk, at_port = ("bytes_read_total", "bytes_write_total"), ("bytes_rx_total", "bytes_tx_total")
    luns = [sample(name, share, *at_disk) for name, share in (("sdb", 0.5), ("sdc", 0.5), ("dm-0", 1.0))]
    ports = [sample(name, times * share, *at_port) for name, share in (("host0", 0.7), ("host1", 0.3))]
    found = correct_port_units(host(technology, driver), {"lun": luns, "hba": ports})["hba"]
    return [sum(port.rate(counter) or 0.0 for port in found) for counter in at_port]


@given(RATES, RATES, st.floats(3.8, 4.3))
def test_ports_that_count_four_times_what_the_disks_move_count_bytes(
    reads: float, writes: float, times: float
) -> None:
    assert counted(reads, writes, times) == pytest.approx([times * reads / 4, times * writes / 4])


@given(RATES, RATES, st.one_of(st.floats(0.1, 3.4), st.floats(4.6, 50)))
def test_any_other_ratio_is_the_traffic_of_others(reads: float, writes: float, times: float) -> None:
    assert counted(reads, writes, times) == pytest.approx([times * reads, times * writes])


def test_idle_disks_and_other_networks_tell_nothing() -> None:
    assert counted(1e4, 0.0, 4.0) == pytest.approx([4e4, 0.0])
    assert counted(1e8, 0.0, 4.0, "ethernet") == pytest.approx([4e8, 0.0])


def test_a_driver_that_is_known_to_count_words_does() -> None:
    assert counted(1e8, 1e8, 4.0, driver="lpfc") == pytest.approx([4e8, 4e8])
    assert counted(1e8, 1e8, 4.0, driver="qla2xxx") == pytest.approx([1e8, 1e8])
