"""Only a load and a switch are read, and the switch names no device at its ports: the bytes tell which carry the
test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Verdict
from sanpath.model import Scalar
from sanpath_collectors.fio.tables import LOAD
from sanpath_collectors.snmp_switch.tables import SWITCH_PORT
from tests.support.recording import RecordingBuilder
from tests.support.stories import judged

BLOCK, OPS = 65536, 18_000
COUNTED = 1.045 * BLOCK * OPS
"""Bytes a second that a port counts of the test: 1.233 GB/s, 98.6 % of 10 Gb/s."""
SECONDS = 20
STEPS = (8, 32)


def verdict_of(
    folder: Path, ports: Mapping[str, tuple[float, float, float]], directions: Sequence[str] = ("read",)
) -> Verdict:
    """18,000 I/Os of 64 KiB a second, with 8 and with 32 outstanding, as many in each direction. `ports`: name →
    bytes a second received, and sent, and speed in Gb/s."""
    out = RecordingBuilder(folder / "r.sanpath")
    out.source("fio", "fio", LOAD)
    out.source("sw1", "snmp_switch", SWITCH_PORT)
    out.entity("fio", "load", "fio", attributes={"block_bytes": BLOCK})
    out.entity("sw1", "switch", "sw1")
    for port in ports:
        out.entity("sw1", "switch_port", port, port, {}, {"technology": "ethernet"})
        out.link("sw1", "member_of", (("switch_port", port), ("switch", "sw1")))
    waited = 0
    for index, in_flight in enumerate(STEPS):
        begin = index * SECONDS
        detail: dict[str, Scalar] = {
            "step": f"q{in_flight}",
            "group": index,
            "loads": "fio",
            "offered": in_flight,
            "block_bytes": BLOCK,
        }
        out.event("fio", begin, "step-begin", **detail)
        out.event("fio", begin + 1, "ramp-end", **detail)
        out.event("fio", begin + SECONDS, "step-end", **detail)
        for second in range(begin, begin + SECONDS + 1):
            done = OPS // len(directions) * second
            total = (waited + in_flight * (second - begin) * 10**9) // len(directions)
            counters = {"in_flight_configured": in_flight}
            for direction in directions:
                counters |= {
                    f"ops_{direction}_total": done,
                    f"bytes_{direction}_total": BLOCK * done,
                    f"latency_seconds_{direction}_total": total,
                }
            out.samples("fio", LOAD, second, {"fio": counters})
            of_ports = {
                port: {
                    "bytes_rx_total": round(rx * second),
                    "bytes_tx_total": round(tx * second),
                    "link_speed_bits_per_second": speed * 1000,
                }
                for port, (rx, tx, speed) in ports.items()
            }
            out.samples("sw1", SWITCH_PORT, second, of_ports)
        waited += in_flight * SECONDS * 10**9
    return judged(out.write()).verdict


@pytest.mark.parametrize(("host", "array", "full"), [(10, 25, "eth1"), (25, 10, "eth2")], ids=["host", "array"])
def test_the_full_port_that_moves_what_the_test_does_limits_it(
    tmp_path: Path, host: float, array: float, full: str
) -> None:
    """Another host reads 300 MB/s over the third port: the test's 1.2 GB/s cannot have left there."""
    ports = {
        "eth1": (1e6, COUNTED, host),
        "eth2": (COUNTED + 300e6 * (array > 10), 1e6, array),
        "eth3": (1e6, 300e6, 10.0),
    }
    verdict = verdict_of(tmp_path, ports)
    assert [each.entity for each in verdict.bottlenecks] == [f"switch_port:sw1/{full}"]


def test_ports_with_room_are_no_limit(tmp_path: Path) -> None:
    ports = {"eth1": (1e6, COUNTED, 25.0), "eth2": (COUNTED, 1e6, 25.0)}
    assert verdict_of(tmp_path, ports).kind == "cannot_tell"


def test_a_full_port_of_another_host_is_not_the_test_s(tmp_path: Path) -> None:
    """Two hosts read as much each: the first over 25 Gb/s. Which of them is the test's is not known."""
    ports = {"eth1": (1e6, COUNTED, 25.0), "eth2": (2 * COUNTED, 1e6, 25.0), "eth3": (1e6, COUNTED, 10.0)}
    assert verdict_of(tmp_path, ports).grade not in ("A", "B")


@pytest.mark.parametrize("more", [0.999, 1.001])
def test_with_as_many_writes_as_reads_the_full_port_is_named_whichever_end_it_faces(
    tmp_path: Path, more: float
) -> None:
    half = COUNTED / 2
    ports = {"eth1": (half, more * half, 5.0), "eth2": (more * half, half, 25.0)}
    verdict = verdict_of(tmp_path, ports, ("read", "write"))
    assert {each.entity for each in verdict.bottlenecks} == {"switch_port:sw1/eth1"}
    assert verdict.grade != "A"
