"""TCP connections of storage: what each end counts belongs to one row a direction. Figures are worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.table import FactRow
from sanpath_collectors.fio.tables import LOAD
from sanpath_collectors.linux_host.tables import TCP_CONNECTION as OF_INITIATOR
from sanpath_collectors.linux_target.tables import TCP_CONNECTION as OF_TARGET
from tests.support.recording import RecordingBuilder

PAIR = "192.0.2.5--192.0.2.9:3260"
RATE = 1_000_000
"""Bytes a second that the target sends."""


def row_of(
    folder: Path,
    direction: str,
    address: str = "192.0.2.5",
    ends: tuple[str, ...] = ("host",),
    sources: tuple[str, ...] = ("h1", "srv"),
    duplicates: int | None = None,
) -> FactRow:
    """20 s of reads. In each second the target sends 1 MB and 5 kB of it again, in 695 segments, 3 of them again. Its
    two connections carry data 0.8 s each; in 0.4 s of the 1.6 the receive window is full, in 0.08 s the send buffer.
    `duplicates`: segments a second that the initiator reports to have had already.
    """
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.entity("fio", "load", "fio", ids={"name": ("fio",)})
    out.configure_link("load:fio runs_on host:h1")
    out.entity("config", "host", "h1", ids={"name": ("h1",)})
    out.entity("config", "hba", "h1/eth0", ids={"ip": ("192.0.2.7",)})
    out.configure_link("hba:h1/eth0 attached_to host:h1")
    out.entity("config", "host", "h2", ids={"name": ("h2",)})
    out.source("h1", "linux_host", OF_INITIATOR)
    out.source("srv", "linux_target", OF_TARGET)
    about = {"initiator_address": address, "portal": "192.0.2.9:3260", "protocol": "iscsi"}
    for source in sources:
        out.entity(source, "tcp_connection", PAIR, PAIR, {"name": (PAIR,)}, about)
    for end in ends:
        out.link(sources[0], "ends_at", (("tcp_connection", PAIR), ("host", "h1" if end == "host" else "h2")))
    for second in range(21):
        total = {"ops_read_total": 100 * second, "bytes_read_total": RATE * second}
        out.poll("fio", second)
        out.samples("fio", LOAD, second, {"fio": {**total, "latency_seconds_read_total": 10**8 * second}})
        out.poll("srv", second)
        sent = {
            "bytes_sent_read_total": (RATE + 5000) * second,
            "bytes_acknowledged_read_total": RATE * second,
            "segments_sent_read_total": 695 * second,
            "segments_retransmitted_read_total": 3 * second,
            "duplicates_reported_read_total": None if duplicates is None else duplicates * second,
            "busy_seconds_read_total": 1600 * second,
            "receive_window_limited_seconds_read_total": 400 * second,
            "send_buffer_limited_seconds_read_total": 80 * second,
            "round_trip_seconds_read": 2.0,
            "round_trip_seconds_min_read": 0.5,
            "congestion_window_bytes_read": 4000,
            "send_window_bytes_read": 8000,
            "unsent_bytes_read": 30_000,
            "send_queue_bytes_read": 32_000,
            "connections_in_use_read": 2,
            "bytes_received_write_total": 4800 * second,
        }
        if "srv" in sources:
            out.samples("srv", OF_TARGET, second, {PAIR: sent})
        out.poll("h1", second)
        received = {"bytes_received_read_total": RATE * second, "unread_bytes_read": 700}
        commands = {"bytes_acknowledged_write_total": 4800 * second, "round_trip_seconds_write": 9.0}
        if "h1" in sources:
            out.samples("h1", OF_INITIATOR, second, {PAIR: received | commands})
    (row,) = compute(out.write()).tables["tcp_connection"].select(direction=direction)
    return row


def test_what_the_sender_and_the_receiver_of_a_direction_count_is_one_row(tmp_path: Path) -> None:
    row = row_of(tmp_path / "a", "read")
    assert row["entity"] == f"tcp_connection:{PAIR}"
    wanted = {
        "bytes_per_second": RATE,
        "connections": 2,
        "round_trip_seconds": 2e-3,
        "round_trip_seconds_min": 0.5e-3,
        "retransmit_ratio": 3 / 695,
        "busy_connections": 1.6,
        "receive_window_ratio": 0.25,
        "send_buffer_ratio": 0.05,
        "congestion_window_ratio": 2000 / 4000,  # 1 MB/s x 2 ms are 2,000 bytes on the way
        "unsent_seconds": 0.03,
        "sending_seconds": 0.032,
        "unread_bytes": 700,
    }
    assert {name: row[name] for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(("duplicates", "lost"), [(0, 3), (2, 1), (3, 0), (5, 0)])
def test_what_the_receiver_had_already_was_not_lost(tmp_path: Path, duplicates: int, lost: int) -> None:
    row = row_of(tmp_path / "a", "read", duplicates=duplicates)
    assert row["retransmit_ratio"] == pytest.approx(lost / 695, abs=1e-9)


def test_the_other_direction_is_what_the_other_end_sends(tmp_path: Path) -> None:
    row = row_of(tmp_path / "a", "write")
    assert row["bytes_per_second"] == pytest.approx(4800)
    assert row["round_trip_seconds"] == pytest.approx(9e-3)
    assert row["retransmit_ratio"] is None


def test_a_receiver_alone_tells_the_bytes_and_no_round_trip(tmp_path: Path) -> None:
    row = row_of(tmp_path / "a", "read", sources=("h1",))
    assert row["bytes_per_second"] == pytest.approx(RATE)
    assert row.get("round_trip_seconds") is None


@pytest.mark.parametrize(
    ("address", "ends", "expected"),
    [
        ("192.0.2.5", ("host",), True),
        ("192.0.2.5", ("neighbour",), False),
        ("192.0.2.7", (), True),  # the address of a port of the host
        ("192.0.2.8", (), None),
    ],
)
def test_they_carry_the_load_if_they_end_at_its_host(
    tmp_path: Path, address: str, ends: tuple[str, ...], expected: bool | None
) -> None:
    assert row_of(tmp_path / "a", "read", address, ends, ("srv",))["on_loaded_path"] is expected
