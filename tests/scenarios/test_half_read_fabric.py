"""A switch between host and array is not read: what the others count of their links to it still tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from tests.support.half_read import COUNTED_BYTES, CountingHost, FarSwitchRead, HalfRead, SpeedOfInitiator
from tests.support.recording import Number
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, Port, San
from tests.support.stories import NOTHING, SECOND_HBA, SECOND_TARGET, X, fast


def result(tmp_path: Path, ops: float, transfer_share: float, isl_speed: float = 8) -> Diagnosis:
    ports = [fast(HOST_PORT), replace(fast(ARRAY_PORT), on="sw2")]
    san = HalfRead(tmp_path / "a.sanpath", ports=ports, inter_switch_link=True, isl_speed=isl_speed)
    for in_flight in (16, 128):
        san.step(
            f"t{in_flight}",
            in_flight,
            read=Flow(ops, in_flight / ops),
            seconds=30,
            ports={"fc1/7": (ops * COUNTED_BYTES, NOTHING), "sw1/fc1/31": (ops * COUNTED_BYTES, NOTHING)},
            array={"read": AtArray(0.0004, san=transfer_share * in_flight / ops)},
        )
    return diagnose(san.write())


def test_the_port_that_leads_there_is_named_when_it_is_full(tmp_path: Path) -> None:
    """12,590 reads a second are 836.4 MB/s counted; 8GFC carries 836.7."""
    found = result(tmp_path, 12590, 0.8)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.kind == "link"
    assert "sw1/fc1/31" in bottleneck.entity
    assert bottleneck.utilisation == pytest.approx(836.4 / 850, rel=1e-2)


def test_it_is_not_named_when_it_has_room(tmp_path: Path) -> None:
    found = result(tmp_path, 12590, 0.8, isl_speed=32)
    assert all("fc1/31" not in bottleneck.entity for bottleneck in found.verdict.bottlenecks)


def test_the_initiator_at_a_counted_link_is_not_counted_as_another_link(tmp_path: Path) -> None:
    suspects = result(tmp_path, 12590, 0.8).verdict.suspects
    assert not {"hba:esx7/vmhba2"} & {entity for s in suspects for entity in (s.entity, *s.coincident)}


def test_an_idle_link_whose_switch_is_read_is_not_the_full_one(tmp_path: Path) -> None:
    """The test moves what a 4 Gb/s link carries, over a switch that nobody reads. On the other path nothing moves."""
    unread = [replace(HOST_PORT, on="sw2"), replace(fast(ARRAY_PORT), on="sw2")]
    ports = [*unread, SECOND_HBA, fast(SECOND_TARGET)]
    san = HalfRead(tmp_path / "a.sanpath", ports=ports)
    for in_flight in (16, 128):
        counted = dict.fromkeys((SECOND_HBA.name, SECOND_TARGET.name), (0.0, 0.0))
        san.step(
            f"t{in_flight}", in_flight, read=Flow(X, in_flight / X), ports=counted, array={"read": AtArray(4e-4)}
        )
    suspects = diagnose(san.write()).verdict.suspects
    assert all(SECOND_HBA.name not in str(suspect.entity) for suspect in suspects)


@pytest.mark.parametrize("silent", [False, True])
def test_a_link_does_not_carry_what_another_initiator_moves(tmp_path: Path, silent: bool) -> None:
    """What both carry together would fill one of the host's two links of 8 Gb/s. The array's port of 4 Gb/s is full,
    where the host counts what goes there. sw1 is asked too seldom to count in any step, sw2 never."""
    unread = [replace(fast(SECOND_HBA, 8), on="sw2"), replace(fast(SECOND_TARGET, 4), on="sw2")]
    ports = [fast(HOST_PORT, 8), fast(ARRAY_PORT, 4), *unread]
    san = CountingHost(
        tmp_path / "a.sanpath", ports=ports, leave_out={"array_samples"}, switch_every=25, silent=silent
    )
    for in_flight in (16, 64):
        san.step(f"t{in_flight}", in_flight, read=Flow(2 * X, in_flight / (2 * X)))
    verdict = diagnose(san.write()).verdict
    accused = [bottleneck.entity for bottleneck in verdict.bottlenecks]
    assert accused == ([] if silent else ["link:sw1/fc1/1--fa1/CT0.FC0"])


def test_a_port_whose_switch_does_not_tell_its_bytes_is_counted_by_the_initiator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host's link of 4 Gb/s is full. Its switch answers, but its counters wrap too often to tell anything."""
    of_port = San._port

    def without_bytes(san: San, port: Port, at: float) -> dict[str, Number]:
        return of_port(san, port, at) | (dict.fromkeys(("bytes_rx_total", "bytes_tx_total")) if port.host else {})

    monkeypatch.setattr(San, "_port", without_bytes)
    san = CountingHost(tmp_path / "a.sanpath", ports=[HOST_PORT, fast(ARRAY_PORT)])
    for in_flight in (16, 64):
        carried = {ARRAY_PORT.name: (X * COUNTED_BYTES, NOTHING)}
        at_array = {"read": AtArray(4e-4, san=in_flight / X - 5e-4)}
        san.step(f"t{in_flight}", in_flight, read=Flow(X, in_flight / X), ports=carried, array=at_array)
    (bottleneck,) = diagnose(san.write()).verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity) == ("link", "hba:esx7/vmhba2")


@pytest.mark.parametrize("is_full", [True, False])
def test_a_full_link_that_leads_from_the_array_s_switch_to_the_test_s_is_named(tmp_path: Path, is_full: bool) -> None:
    """Others leave the test little of the 8GFC link: its I/Os stand in their queue, and more of them get more of it.
    Only the array's switch is read, where the test's initiator has not logged in."""
    ports = [fast(HOST_PORT), replace(fast(ARRAY_PORT), on="sw2")]
    san = FarSwitchRead(tmp_path / "a.sanpath", ports=ports, inter_switch_link=True, leave_out={"array"})
    for in_flight in (4, 8, 16):
        latency = 10e-3 + in_flight * 79e-6
        counted = {"fc1/1": (in_flight / latency * COUNTED_BYTES, NOTHING)}
        counted["sw2/fc1/31"] = (836.4e6 if is_full else 400e6, NOTHING)
        san.step(f"t{in_flight}", in_flight, read=Flow(in_flight / latency, latency), seconds=30, ports=counted)
    suspects = diagnose(san.write()).verdict.suspects
    assert (suspects[0].entity == "switch_port:sw2/fc1/31") is is_full
    assert (sum(suspect.probability for suspect in suspects if suspect.kind == "link") > 0.5) is is_full


def test_the_initiator_on_a_switch_that_is_not_read_is_in_a_row_with_no_other_full_link(tmp_path: Path) -> None:
    """Every link of 4 Gb/s is full. On the path over sw1 these are both, so that either alone brings nothing; on the
    other one it is the initiator alone."""
    unread = [replace(SECOND_HBA, on="sw2"), replace(fast(SECOND_TARGET, 32), on="sw2")]
    paths = [(HOST_PORT.device, ARRAY_PORT.device), (SECOND_HBA.device, SECOND_TARGET.device)]
    san = CountingHost(tmp_path / "a.sanpath", ports=[HOST_PORT, ARRAY_PORT, *unread], lun_paths=paths)
    for in_flight in (16, 64):
        carried = dict.fromkeys((HOST_PORT.name, ARRAY_PORT.name), (X * COUNTED_BYTES, NOTHING))
        at_array = {"read": AtArray(4e-4, san=in_flight / X / 2 - 5e-4)}
        san.step(f"t{in_flight}", in_flight, read=Flow(2 * X, in_flight / X / 2), ports=carried, array=at_array)
    (bottleneck,) = diagnose(san.write()).verdict.bottlenecks
    assert bottleneck.entity == f"hba:esx7/{SECOND_HBA.device}"
    assert {"link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"} <= set(bottleneck.coincident)


@pytest.mark.parametrize("speed", [4, 8])
@pytest.mark.parametrize("is_reported", [True, False])
def test_a_link_runs_at_the_speed_of_its_initiator(tmp_path: Path, speed: float, is_reported: bool) -> None:
    """Its switch answered only once, so it counts nothing and tells no speed in any step: the initiator's does, or
    else what it supports. 409.6 MB/s of payload are all that 4GFC carries."""
    port = replace(HOST_PORT, speed=speed, capable=8 if is_reported else speed)
    san = SpeedOfInitiator(tmp_path / "a.sanpath", ports=[port, fast(ARRAY_PORT)], switch_every=1000)
    san.is_reported = is_reported
    for in_flight in (16, 128):
        san.step(f"t{in_flight}", in_flight, read=Flow(X, in_flight / X), array={"read": AtArray(4e-4)}, seconds=30)
    verdict = diagnose(san.write()).verdict
    named = [bottleneck.entity for bottleneck in verdict.bottlenecks if bottleneck.kind == "link"]
    assert named == ["link:esx7/vmhba2--sw1/fc1/7"] * (speed == 4)


@pytest.mark.parametrize("is_read", [True, False])
def test_a_fabric_that_is_not_read_may_delay_one_direction(tmp_path: Path, is_read: bool) -> None:
    """The transfer of a read takes 29 ms and that of a write 30 µs, with any number of I/Os. Adapters and drivers do
    not tell them apart, but a link that loses frames does: the second path's, if its switch is not read."""
    second = [replace(fast(port), on="sw1" if is_read else "sw2") for port in (SECOND_HBA, SECOND_TARGET)]
    ports = [fast(HOST_PORT), fast(ARRAY_PORT), *second]
    san = HalfRead(tmp_path / "a.sanpath", ports=ports)
    for in_flight in (8, 16):
        ops = in_flight / 0.0381
        flows = {"read": Flow(0.8 * ops, 0.0371), "write": Flow(0.2 * ops, 0.0081)}
        carried = 0.4 * ops * COUNTED_BYTES, 0.1 * ops * COUNTED_BYTES
        san.step(
            f"t{in_flight}",
            in_flight,
            seconds=30,
            read=flows["read"],
            write=flows["write"],
            ports={port.name: carried for port in ports if port.on == "sw1"},
            array={"read": AtArray(0.008, san=0.029), "write": AtArray(0.008, san=0.00003)},
        )
    found = diagnose(san.write()).verdict
    unseen = [suspect for suspect in found.suspects if suspect.kind == "unseen"]
    words = [each for suspect in unseen for each in suspect.against if "and writes" in each]
    assert bool(words) == is_read
