"""TCP connections by `ss`: real sockets of this machine, connections that come and go, and what old versions tell."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from sanpath.plugin import SourceEntity
from sanpath_collectors.linux_host.tables import TCP_CONNECTION
from sanpath_collectors.linux_host.tcp import storage_connections
from sanpath_collectors.linux_host.tcp.connections import ConnectionFilter, StorageConnections
from sanpath_collectors.linux_host.tcp.ss import Connection, connections
from sanpath_collectors.linux_host.tcp.storage_connections import TcpView

HOST, TARGET, OTHER = "192.0.2.5", "192.0.2.9", "192.0.2.10"
NAME = "192.0.2.5--192.0.2.9:3260"


def connection(port: int, remote: str = TARGET, **fields: float) -> Connection:
    """A connection of the host by what ss shows of it."""
    shown = {"recv_q": 0.0, "send_q": 0.0, "rtt": 0.5, "mss": 1448.0, "cwnd": 10.0} | fields
    return Connection((HOST, port), (remote, 3260), shown)


def test_a_connection_that_closes_takes_nothing_and_a_new_one_brings_what_it_counted() -> None:
    view = TcpView("write")
    first = view.rows([connection(1, bytes_acked=1000), connection(2, bytes_acked=500)])[NAME]
    # The second one has closed after 100 more bytes that nobody saw, the third one has sent 70.
    second = view.rows([connection(1, bytes_acked=1200), connection(3, bytes_acked=70)])[NAME]
    third = view.rows([connection(1, bytes_acked=1200), connection(3, bytes_acked=90)])[NAME]
    totals = [row["bytes_acknowledged_write_total"] for row in (first, second, third)]
    assert totals == [1500, 1500 + 200 + 70, 1500 + 270 + 20]


def test_a_port_that_is_used_again_counts_from_zero() -> None:
    view = TcpView("write")
    view.rows([connection(1, bytes_acked=1000)])
    assert view.rows([connection(1, bytes_acked=300)])[NAME]["bytes_acknowledged_write_total"] == 1300


def test_a_connection_that_one_answer_lacks_is_not_counted_twice() -> None:
    view = TcpView("write")
    view.rows([connection(1, bytes_acked=1000), connection(2, bytes_acked=500)])
    view.rows([connection(1, bytes_acked=1000)])
    row = view.rows([connection(1, bytes_acked=1000), connection(2, bytes_acked=510)])[NAME]
    assert row["bytes_acknowledged_write_total"] == 1510


def test_gauges_are_those_of_the_connections_in_use() -> None:
    """The admin queue of NVMe sends a hundredth of what the I/O queues send: its old round trip says nothing."""
    view = TcpView("write")
    idle = connection(1, bytes_acked=73, rtt=40.0, minrtt=0.2, cwnd=99.0)
    view.rows([idle, connection(2, bytes_acked=0), connection(3, bytes_acked=0)])
    busy = [
        connection(2, bytes_acked=3000, rtt=0.4, minrtt=0.3),
        connection(3, bytes_acked=1000, rtt=0.8, minrtt=0.3),
    ]
    row = view.rows([idle, *busy])[NAME]
    assert row["round_trip_seconds_write"] == pytest.approx((3 * 0.4 + 0.8) / 4)
    assert row["round_trip_seconds_min_write"] == 0.2
    assert row["congestion_window_bytes_write"] == 2 * 10 * 1448
    assert row["connections_in_use_write"] == 2


def test_where_nothing_was_sent_there_is_no_round_trip() -> None:
    view = TcpView("write")
    view.rows([connection(1, bytes_acked=1000)])
    row = view.rows([connection(1, bytes_acked=1000)])[NAME]
    assert row["round_trip_seconds_write"] is None
    assert row["connections_in_use_write"] == 0


def test_zero_is_not_shown_and_what_is_not_known_is_none() -> None:
    """ss leaves out what is zero: only a field that is always shown with it tells that it is known."""
    view = TcpView("write")
    row = view.rows([connection(1, bytes_acked=1000, bytes_sent=1000, busy=7)])[NAME]
    assert row["bytes_retransmitted_write_total"] == 0
    assert row["receive_window_limited_seconds_write_total"] == 0
    old = TcpView("write").rows([connection(1, bytes_acked=1000)])[NAME]
    assert old["bytes_retransmitted_write_total"] is None
    assert old["receive_window_limited_seconds_write_total"] is None


def test_both_ends_give_the_same_name_and_each_its_own_direction() -> None:
    seen = connection(4000, bytes_acked=10, bytes_received=99)
    at_target = Connection(seen.remote, seen.local, {**seen.fields, "bytes_acked": 99.0, "bytes_received": 10.0})
    of_host, of_target = TcpView("write").rows([seen]), TcpView("read").rows([at_target])
    assert of_host.keys() == of_target.keys() == {NAME}
    assert of_host[NAME].keys().isdisjoint(of_target[NAME].keys())
    assert of_host[NAME]["bytes_received_read_total"] == of_target[NAME]["bytes_acknowledged_read_total"] == 99


@pytest.mark.skipif(shutil.which("ss") is None, reason="no ss on this machine")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_real_sockets_are_counted_byte_by_byte(family: socket.AddressFamily) -> None:
    """A million bytes one way and 72 the other, over a connection of this machine to itself, by both of its ends."""
    address = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.socket(family) as listener:
        try:
            listener.bind((address, 0))
        except OSError:
            pytest.skip("no IPv6 on this machine")
        listener.listen()
        port = listener.getsockname()[1]
        with socket.create_connection((address, port)) as client, listener.accept()[0] as server:
            sending = threading.Thread(target=server.sendall, args=(bytes(1_000_000),))
            sending.start()
            client.sendall(bytes(72))
            assert server.recv(72, socket.MSG_WAITALL) == bytes(72)
            left = 1_000_000
            while left:
                left -= len(client.recv(left))
            sending.join()
            view, name = TcpView("read"), storage_connections.pair_name((address, address, port))
            while not view.rows(shown := _shown(port, "sport")) or shown[0].fields.get("send_q"):
                time.sleep(0.01)  # The last acknowledgement may be delayed.
            at_target = view.rows(shown)
            at_host = TcpView("write").rows(_shown(port, "dport"))
    assert at_target[name]["bytes_acknowledged_read_total"] == at_host[name]["bytes_received_read_total"] == 1_000_000
    assert at_target[name]["bytes_received_write_total"] == 72
    round_trip = at_target[name]["round_trip_seconds_min_read"]
    assert round_trip is not None
    assert 0 < round_trip < 1000


def _shown(port: int, end: storage_connections.End) -> list[Connection]:
    shown = subprocess.run(storage_connections.command({port}, end), capture_output=True, check=True)
    return connections(shown.stdout)


class ThisMachine:
    """Runs commands here; counts them."""

    asked = 0

    async def run(self, command: list[str]) -> SimpleNamespace:
        self.asked += 1
        done = subprocess.run(command, capture_output=True, check=False)
        return SimpleNamespace(exit_code=done.returncode, output=done.stdout)


@pytest.mark.skipif(shutil.which("ss") is None, reason="no ss on this machine")
def test_a_connection_that_the_load_opens_after_the_inventory_is_found_some_polls_later() -> None:
    async def found() -> tuple[list[int], int]:
        machine, clock = ThisMachine(), SimpleNamespace(now_us=lambda: 1)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            connections = StorageConnections(TCP_CONNECTION, "write")
            await connections.find(machine, ConnectionFilter({port: "nbd"}, (), (port,), {}))  # type: ignore[arg-type]
            with socket.create_connection(("127.0.0.1", port)), listener.accept()[0]:
                items = [await connections.poll(machine, clock) for _ in range(8)]  # type: ignore[arg-type]
        entities = [sum(isinstance(item, SourceEntity) for item in poll) for poll in items]
        return entities, machine.asked

    entities, asked = asyncio.run(found())
    assert entities == [0, 0, 0, 0, 1, 0, 0, 0]
    assert asked == 1 + 4, "and at every poll from then on"
