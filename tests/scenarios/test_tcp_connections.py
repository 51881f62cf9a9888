"""What TCP tells of the storage connections. Distance, a slow target, a full window and loss look alike to host,
switch and array; the round trips, windows and retransmissions of the connections tell them apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sanpath.diagnosis.model import Diagnosis, Verdict
from sanpath_collectors.linux_host.tables import HOST
from sanpath_collectors.linux_host.tables import TCP_CONNECTION as OF_INITIATOR
from sanpath_collectors.linux_target.tables import CONTROLLER
from sanpath_collectors.linux_target.tables import TCP_CONNECTION as OF_TARGET
from tests.scenarios.test_linux_storage import DEVICES, Storage
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import KIB, AtArray, Flow, Port
from tests.support.stories import NOTHING, judged

PAIR = "192.0.2.5--192.0.2.9:4420"
CONNECTION = f"tcp_connection:{PAIR}"
BLOCK = 48 * KIB
OPS = 4000.0
SEGMENT = 1448
SERVED = 3e-4
"""Seconds that the array needs for an I/O by its own clock."""
PORTS = (
    Port("eth1/7", "eth0", "21000024ff000001", speed=10, capable=10),
    Port("eth1/1", "eth0", "524a937000000001", speed=10, capable=10, host=""),
)


@dataclass(frozen=True, slots=True)
class Tcp:
    """What the sender of the data tells, the same in every step. Times are in seconds.

    `unread`, `unread_commands`: bytes that have arrived and that no program has read, of data at the host and of
    commands at the target. `lost_commands`: share of the host's segments sent again. `waiting`: time that data wait
    in its send buffer, `recovering`: time that sent data wait longer than a round trip to be acknowledged, as shares
    of the time of an I/O between host and array;
    `window_full`, `buffer_full`: shares of the time; `lost`: share of segments sent again; `busy`: share of the time
    with data that are not acknowledged."""

    round_trip: float
    smallest: float
    waiting: float = 0.0
    window_full: float = 0.0
    buffer_full: float = 0.0
    lost: float = 0.0
    busy: float = 0.3
    window: float = 4 << 20
    congestion_window: float = 1 << 20
    unread: float = 0.0
    unread_commands: float = 0.0
    lost_commands: float = 0.0
    recovering: float = 0.0


SLOW_TARGET = Tcp(0.25e-3, 0.1e-3)
"""Segments come and go in a quarter of a millisecond, and none waits to be sent: the target takes its time."""
FULL_WINDOW = Tcp(0.25e-3, 0.2e-3, waiting=0.95, window_full=0.97, busy=1.0, window=48 * KIB)
"""48 KiB in 0.25 ms are the 197 MB/s that 4,000 I/Os of 48 KiB are."""
LOSS = Tcp(0.25e-3, 0.2e-3, waiting=0.95, lost=0.005, busy=1.0, congestion_window=50e3)
"""With 0.5 % lost, a connection moves at most 1.22 x 1448 / sqrt(0.005) = 25 kB in a round trip of 0.25 ms: 100 MB/s,
and the load moves about that with what time-outs leave of it."""


class TcpSan(Storage):
    """A host and a target that tell what TCP does, where `tcp` is given; `silent`: ends that do not."""

    tcp: Tcp | None = None
    silent: frozenset[str] = frozenset()

    def _configuration(self, out: RecordingBuilder) -> None:
        Storage._configuration(self, out)
        if self.tcp is None:
            return
        ends = {"esx7": (OF_INITIATOR, DEVICES, HOST), "srv": (OF_TARGET, CONTROLLER)}
        for source, (table, *others) in ends.items():
            if source in self.silent:
                continue
            out.source(source, "linux_host", *others, table)
            about = {"initiator_address": "192.0.2.5", "portal": "192.0.2.9:4420", "protocol": "nvme_tcp"}
            out.entity(source, "tcp_connection", PAIR, PAIR, {"name": (PAIR,)}, about)
            if source == "esx7":
                out.link(source, "ends_at", (("tcp_connection", PAIR), ("host", "esx7")))
            for second in range(int(self.steps[-1].end + 2)):
                out.samples(source, table, second, {PAIR: self._connection(second, source)})

    def _connection(self, second: int, source: str) -> dict[str, Number]:
        assert self.tcp is not None
        tcp, sent = self.tcp, 0.0
        running, elapsed = None, 0.0
        for step in self.steps:
            seconds = max(0.0, min(second, step.end) - step.begin)
            sent += sum(flow.ops for flow in step.flows.values()) * step.block * seconds
            elapsed += seconds
            running = step if step.begin <= second <= step.end else running
        data, commands = ("read", "write") if source == "srv" else ("write", "read")
        if source == "esx7":  # commands of 72 bytes
            sent = sent / BLOCK * 72
        values: dict[str, Number] = {
            f"bytes_sent_{data}_total": round(sent * (1 + tcp.lost)),
            f"bytes_acknowledged_{data}_total": round(sent),
            f"segments_sent_{data}_total": round(sent / (SEGMENT if source == "srv" else 72)),
            f"segments_retransmitted_{data}_total": round(
                sent / SEGMENT * tcp.lost if source == "srv" else sent / 72 * tcp.lost_commands
            ),
            f"busy_seconds_{data}_total": round(1e3 * elapsed * tcp.busy),
            f"receive_window_limited_seconds_{data}_total": round(1e3 * elapsed * tcp.window_full),
            f"send_buffer_limited_seconds_{data}_total": round(1e3 * elapsed * tcp.buffer_full),
            f"bytes_received_{commands}_total": round(sent / 72 * BLOCK if source == "esx7" else sent / BLOCK * 72),
            f"round_trip_seconds_min_{data}": 1e3 * tcp.smallest,
        }
        if source == "esx7":
            for metric in ("receive_window_limited", "send_buffer_limited"):
                values[f"{metric}_seconds_{data}_total"] = 0
        if running is None:
            return values
        (flow,) = running.flows.values()
        rate = flow.ops * running.block if source == "srv" else flow.ops * 72
        wait_bytes = rate * (flow.latency - SERVED) if source == "srv" else 0.0
        unsent, recovering = wait_bytes * tcp.waiting, wait_bytes * tcp.recovering
        return values | {
            f"round_trip_seconds_{data}": 1e3 * tcp.round_trip,
            f"segment_bytes_{data}": SEGMENT,
            f"connections_in_use_{data}": 1,
            f"unsent_bytes_{data}": round(unsent),
            f"send_queue_bytes_{data}": round(unsent + rate * tcp.round_trip + recovering),
            f"send_window_bytes_{data}": round(tcp.window),
            f"congestion_window_bytes_{data}": round(tcp.congestion_window),
            f"unread_bytes_{commands}": round(tcp.unread if source == "esx7" else tcp.unread_commands),
        }


def san_with(
    folder: Path,
    tcp: Tcp | None,
    leave_out: frozenset[str] = frozenset(),
    of: type[TcpSan] | None = None,
    **settings: Any,
) -> TcpSan:
    san = (of or TcpSan)(folder, leave_out={"disk", *leave_out}, technology="ethernet", **{"ports": PORTS} | settings)
    san.tcp = tcp
    return san


def plateau(
    folder: Path, tcp: Tcp | None, counted: Mapping[str, Mapping[str, float]] | None = None, **settings: Any
) -> Diagnosis:
    """4,000 reads of 48 KiB a second, with 16 and with 64 in flight: 4 and 16 ms, of which the array takes 0.3, and
    the 10 Gb/s links carry a sixth of what they can. `counted`: as of San.step."""
    san = san_with(folder, tcp, **settings)
    for n in (16, 64):
        flow = Flow(OPS, n / OPS)
        ports = {port.name: (1.05 * OPS * BLOCK, NOTHING) for port in san.ports}
        at_array, disk = {"read": AtArray(SERVED)}, {"read": flow}
        san.step(f"q{n}", n, block=BLOCK, read=flow, ports=ports, disk=disk, array=at_array, counted=counted)
    return judged(san.write())


def rising(folder: Path, tcp: Tcp | None, steps: tuple[int, ...] = (4, 16), p99_times: float = 2.0) -> Verdict:
    """An I/O takes 5.4 ms, of which the array takes 0.3, however many are in flight: more bring more.
    `p99_times`: the 99th percentile over the mean."""
    san = san_with(folder, tcp, p99_times=p99_times)
    for n in steps:
        flow = Flow(n / 5.4e-3, 5.4e-3)
        ports = {port.name: (1.05 * flow.ops * 8 * KIB, NOTHING) for port in san.ports}
        at_array = {"read": AtArray(SERVED)}
        san.step(f"q{n}", n, block=8 * KIB, read=flow, ports=ports, disk={"read": flow}, array=at_array)
    return judged(san.write()).verdict


def window_of(verdict: Verdict) -> float:
    """The probability that a window of TCP is full."""
    return sum(suspect.probability for suspect in verdict.suspects if suspect.kind == "tcp_window")


def test_without_tcp_they_cannot_be_told_apart(tmp_path: Path) -> None:
    assert plateau(tmp_path / "plateau", None).verdict.kind == "cannot_tell"


def test_what_is_not_in_the_hands_of_tcp_is_before_the_clock_of_the_target(tmp_path: Path) -> None:
    """Of 16 ms TCP has the data for 0.25: 15.4 ms pass at the target, before its own clock starts."""
    ports = (replace(PORTS[0], speed=5), PORTS[1])
    verdict = plateau(tmp_path / "a", SLOW_TARGET, ports=ports).verdict
    (bottleneck,) = verdict.bottlenecks
    assert (verdict.kind, bottleneck.entity, bottleneck.layer) == ("bottleneck", "array:fa1", "array_front")
    assert "the data of an I/O spends" in " ".join(bottleneck.because)
    assert "the busiest link, link:esx7/eth0--sw1/eth1/7, is at 33.0 %" in bottleneck.because
    others = [
        s.kind for s in verdict.suspects if s.kind in ("link", "retries", "tcp_window") and s.probability > 0.01
    ]
    assert others == []


def test_a_receive_window_that_is_full_limits(tmp_path: Path) -> None:
    found = plateau(tmp_path / "a", FULL_WINDOW)
    verdict = found.verdict
    (bottleneck,) = verdict.bottlenecks
    assert (verdict.kind, bottleneck.kind, bottleneck.entity) == ("bottleneck", "tcp_window", CONNECTION)
    # What is read is received by the host.
    assert bottleneck.layer == "host"
    assert verdict.grade in "AB"
    assert [f.entity for f in found.findings if f.rule == "tcp-receive-window-full" and f.role == "cause"] == [
        CONNECTION
    ]
    assert [element.entity for element in found.summary.path if element.role == "limits"] == [CONNECTION]


def test_what_waits_above_a_full_send_buffer_waits_for_the_same_window(tmp_path: Path) -> None:
    """The target's buffer holds 3 ms of data, and the rest of the 64 I/Os wait in its program for room."""
    verdict = plateau(tmp_path / "a", replace(FULL_WINDOW, waiting=0.2)).verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == [CONNECTION]


@pytest.mark.parametrize("waiting", [0.95, 0.1])
def test_loss_on_its_connections_limits(tmp_path: Path, waiting: float) -> None:
    """Data wait for 14.9 of 15.7 ms, or for 1.6: then TCP has an I/O a little shorter than what is lost costs."""
    verdict = plateau(tmp_path / "a", replace(LOSS, waiting=waiting)).verdict
    assert (verdict.kind, verdict.bottlenecks[0].kind) == ("bottleneck", "retries")
    assert CONNECTION in " ".join(verdict.bottlenecks[0].because)
    # The switch has received everything intact, and nobody reads what the host's port has received.
    assert verdict.bottlenecks[0].entity == "link:esx7/eth0--sw1/eth1/7"


@pytest.mark.parametrize(("p99_times", "kind"), [(0.1, "bottleneck"), (2.0, "concurrency_limited")])
def test_few_lost_segments_limit_where_few_ios_hold_the_latency(tmp_path: Path, p99_times: float, kind: str) -> None:
    """0.4 % of the segments are sent again: of 8 KiB, 2.3 % of the I/Os wait for that, 0.2 s after a time-out, 4.5 ms
    in the mean. The others take half a millisecond; or all I/Os take 5.4 ms, and it is something else."""
    verdict = rising(tmp_path / "a", Tcp(0.25e-3, 0.2e-3, lost=0.004, waiting=0.9), p99_times=p99_times)
    assert verdict.kind == kind
    assert {bottleneck.kind for bottleneck in verdict.bottlenecks} <= {"retries"}


def test_loss_speaks_for_a_full_link_that_nobody_counts(tmp_path: Path) -> None:
    suspects = plateau(tmp_path / "a", replace(LOSS, lost=0.02), leave_out=frozenset({"switch"})).verdict.suspects
    (link,) = (suspect for suspect in suspects if suspect.kind == "link")
    assert "2.0 % of the data were lost" in " ".join(link.because)


def test_a_full_link_that_drops_what_it_cannot_queue_is_full_and_not_lossy(tmp_path: Path) -> None:
    """Links of 1.85 Gb/s are busy to 90 %, as their senders slow down after each loss, and their queue makes a round
    trip of 5 ms out of 0.2. With 0.0013 % lost a connection moves about what it moves here, as it does wherever a
    queue drops what it cannot hold."""
    slow = tuple(replace(port, speed=1.85) for port in PORTS)
    dropped = replace(LOSS, round_trip=5e-3, lost=1.3e-5, congestion_window=2e6)
    (bottleneck,) = plateau(tmp_path / "a", dropped, ports=slow).verdict.bottlenecks
    assert bottleneck.kind == "link"


@pytest.mark.parametrize("port", [port.name for port in PORTS])
def test_of_two_links_the_one_lost_them_whose_ends_count_damaged_frames(tmp_path: Path, port: str) -> None:
    """0.5 % of 4,000 x 48 KiB are 679 segments a second, 8,100 in a step. A few damaged frames are not these."""
    (other,) = (each.name for each in PORTS if each.name != port)
    counted = {f"sw1/{name}": {"errors_rx_total": frames} for name, frames in ((port, 8000.0), (other, 8.0))}
    (bottleneck,) = plateau(tmp_path / "a", LOSS, counted=counted).verdict.bottlenecks
    assert bottleneck.kind == "retries"
    assert port in bottleneck.entity


def test_a_port_that_counts_a_part_of_what_was_sent_again_is_the_place(tmp_path: Path) -> None:
    """700 of 8,100: more is sent again than was lost. Nobody reads what the host's port has received."""
    (bottleneck,) = plateau(tmp_path / "a", LOSS, {"sw1/eth1/1": {"errors_rx_total": 700.0}}).verdict.bottlenecks
    assert bottleneck.kind == "retries"
    assert "eth1/1" in bottleneck.entity


def test_no_link_that_counts_lost_frames_is_cleared_while_lost_frames_limit(tmp_path: Path) -> None:
    counted = {"sw1/eth1/7": {"errors_rx_total": 8000.0}, "sw1/eth1/1": {"errors_rx_total": 80.0}}
    found = plateau(tmp_path / "a", LOSS, counted)
    assert [bottleneck.kind for bottleneck in found.verdict.bottlenecks] == ["retries"]
    assert not [cleared.entity for cleared in found.cleared if cleared.entity.startswith("link:")]


def test_a_receiver_that_has_more_to_read_than_is_on_the_way_does_not_wait_for_lost_segments(tmp_path: Path) -> None:
    """1 MB is unread at the host, where 49 kB are on the way: its processor or its program is late."""
    by_unread = [
        sum(
            suspect.probability
            for suspect in plateau(tmp_path / str(unread), replace(LOSS, unread=unread)).verdict.suspects
            if suspect.kind == "retries"
        )
        for unread in (0.0, 1e6)
    ]
    assert by_unread[1] < 0.2 < 0.5 < by_unread[0]


def test_what_is_unread_says_nothing_of_loss_where_no_round_trip_was_measured(tmp_path: Path) -> None:
    """How much is on the way is not known then."""
    found = plateau(tmp_path / "a", replace(LOSS, round_trip=0.0, unread=1e6))
    assert "retries" in {suspect.kind for suspect in found.verdict.suspects}


def test_links_are_not_cleared_while_segments_queue_on_the_way(tmp_path: Path) -> None:
    """A round trip of 12 ms out of 0.2 on links that are used to a sixth: something between them carries no more."""
    shaped = Tcp(12e-3, 0.2e-3, waiting=0.2, busy=1.0, congestion_window=4e6)
    found = plateau(tmp_path / "a", shaped)
    assert found.verdict.kind == "cannot_tell"
    assert found.summary.verdict.startswith("Not proven; most likely the network between sqlvm1 and fa1 (")
    assert len(found.summary.verdict.split()) <= 12
    assert all("array:" not in experiment.text for experiment in found.verdict.experiments[:1])
    assert not [cleared.entity for cleared in found.cleared if cleared.entity.startswith("link:")]
    assert "No link on the path is saturated" not in (found.summary.acquittal or "")


def test_a_congestion_window_that_a_queue_fills_says_no_more_than_one_that_is_not_full(tmp_path: Path) -> None:
    """A sender enlarges its window until segments queue, and then fills whatever it has: 2.4 of 2.4 MB, or of 4."""
    filled, unfilled = (
        window_of(
            plateau(tmp_path / str(size), Tcp(12e-3, 0.2e-3, waiting=0.2, busy=1.0, congestion_window=size)).verdict
        )
        for size in (2.4e6, 4e6)
    )
    assert filled < 1.25 * unfilled


def test_a_few_damaged_frames_on_one_link_are_not_what_another_may_have_lost(tmp_path: Path) -> None:
    """8 of the 8,100 segments. The host's port receives the data, and nobody reads what it has received."""
    (bottleneck,) = plateau(tmp_path / "a", LOSS, {"sw1/eth1/1": {"errors_rx_total": 8.0}}).verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.entity) == ("retries", "link:esx7/eth0--sw1/eth1/7")


def test_a_full_send_buffer_limits_at_the_sender(tmp_path: Path) -> None:
    tcp = replace(FULL_WINDOW, window_full=0.0, buffer_full=0.97)
    (bottleneck,) = plateau(tmp_path / "a", tcp).verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.layer) == ("tcp_window", "array_front")


def test_a_window_that_is_full_because_segments_queue_is_not_the_limit(tmp_path: Path) -> None:
    """1.05 x 197 MB/s fill links of 1.7 Gb/s to 97 %, and segments queue for them: 5 ms against 0.2."""
    slow = tuple(replace(port, speed=1.7) for port in PORTS)
    queueing = replace(FULL_WINDOW, round_trip=5e-3)
    (bottleneck,) = plateau(tmp_path / "full", queueing, ports=slow).verdict.bottlenecks
    assert bottleneck.kind == "link"
    # Where the links have room, a queue still speaks against the window: something else is full, and fills it.
    windows = [window_of(plateau(tmp_path / str(n), tcp).verdict) for n, tcp in enumerate((queueing, FULL_WINDOW))]
    assert windows[0] < windows[1] - 0.15


def test_what_waits_above_a_full_send_buffer_waits_for_the_link_that_it_fills(tmp_path: Path) -> None:
    """Links of 1.7 Gb/s are full, and what the buffer holds is all on the way: 5 ms of 16. The other I/Os wait in the
    sender's program as long as its buffer is full, or in a queue of the host that no source reads, and not at the
    array."""
    slow = tuple(replace(port, speed=1.7) for port in PORTS)
    of_array = []
    for share in (0.0, 0.3, 0.6, 0.9):
        tcp = Tcp(5e-3, 0.2e-3, buffer_full=share, busy=1.0)
        verdict = plateau(tmp_path / str(share), tcp, ports=slow).verdict
        of_array.append(sum(s.probability for s in verdict.suspects if s.entity == "array:fa1"))
    assert of_array == sorted(of_array, reverse=True)
    assert of_array[0] < 0.01
    assert [bottleneck.kind for bottleneck in verdict.bottlenecks] == ["link"]
    assert verdict.probability > 0.95


def test_a_longer_hold_up_speaks_more_for_a_window(tmp_path: Path) -> None:
    """The evidence grows with the share of time, without a step from one verdict to another."""
    shares = (0.05, 0.2, 0.35, 0.5, 0.7, 0.97)
    verdicts = [plateau(tmp_path / str(n), replace(FULL_WINDOW, window_full=n)).verdict for n in shares]
    probabilities = [window_of(verdict) for verdict in verdicts]
    assert probabilities == sorted(probabilities)
    assert probabilities[-1] > 0.8


def test_what_has_arrived_and_is_not_read_waits_at_the_host(tmp_path: Path) -> None:
    """TCP is quick, and 15.4 of 16 ms pass outside it: at the target as far as no bytes wait to be read at the host,
    bytes over rate. 3 MiB unread at 197 MB/s are all of it."""
    unread = (0.0, 0.5, 1.0, 2.0, 3.0)
    verdicts = [plateau(tmp_path / str(n), replace(SLOW_TARGET, unread=n * (1 << 20))).verdict for n in unread]
    of_array = [sum(s.probability for s in v.suspects if s.entity == "array:fa1") for v in verdicts]
    assert of_array == sorted(of_array, reverse=True)
    assert of_array[0] > 0.7
    assert of_array[-1] < 0.02
    (bottleneck,) = verdicts[-1].bottlenecks
    assert (bottleneck.kind, bottleneck.entity, bottleneck.layer) == ("core", "host:esx7", "host")
    assert bottleneck.utilisation is None, "nobody has read the cores"
    assert "host:esx7 is slow to read received data" in verdicts[-1].headline


def test_a_target_that_cannot_send_reads_no_commands_for_that_reason(tmp_path: Path) -> None:
    """Its send buffer is full 97 % of the time. It has not read 4.4 kB of commands, 15 ms, as if it were busy."""
    tcp = replace(FULL_WINDOW, window_full=0.0, buffer_full=0.97, unread_commands=4400.0)
    (bottleneck,) = plateau(tmp_path / "a", tcp).verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.layer) == ("tcp_window", "array_front")


def test_what_tcp_has_in_its_hands_waits_in_no_queue_of_the_host(tmp_path: Path) -> None:
    """Segments queue on the way for 15 ms of 16, and neither the host's queues nor the array were read."""
    queueing = replace(SLOW_TARGET, round_trip=15e-3)
    suspects = plateau(tmp_path / "a", queueing, leave_out=frozenset({"array"})).verdict.suspects
    assert sum(suspect.probability for suspect in suspects if suspect.kind in ("lun", "hba")) < 0.01


def test_commands_that_were_sent_again_and_waited_in_no_hands_of_tcp_are_no_limit(tmp_path: Path) -> None:
    """The host sent 4 % of its segments again, as to a server that is too busy to acknowledge in time. What is lost
    waits in its sender's TCP, and there an I/O was for a quarter of a millisecond."""
    verdict = plateau(tmp_path / "a", replace(SLOW_TARGET, lost_commands=0.04)).verdict
    assert verdict.bottlenecks[0].entity == "array:fa1"
    assert sum(suspect.probability for suspect in verdict.suspects if suspect.kind == "retries") < 0.01


@pytest.mark.parametrize("port", [port.name for port in PORTS])
def test_the_link_without_damaged_frames_lost_nothing(tmp_path: Path, port: str) -> None:
    (other,) = (each.name for each in PORTS if each.name != port)
    counted = {f"sw1/{name}": {"errors_rx_total": frames} for name, frames in ((port, 8000.0), (other, 8.0))}
    suspects = plateau(tmp_path / "a", LOSS, counted=counted).verdict.suspects
    assert not [s for s in suspects if s.kind == "retries" and other in str(s.entity)]


def test_how_long_commands_wait_for_the_target_is_stated(tmp_path: Path) -> None:
    verdict = plateau(tmp_path / "a", replace(SLOW_TARGET, unread_commands=4400.0)).verdict
    assert "commands and data wait 15.3 ms at the target" in " ".join(verdict.suspects[0].because)


def test_commands_that_the_target_has_not_read_wait_for_it(tmp_path: Path) -> None:
    """4,000 commands of 72 bytes a second: 4.4 kB unread are 15.4 ms, all that passes before the array's clock."""
    unread = (0.0, 1100.0, 2200.0, 4400.0)
    verdicts = [plateau(tmp_path / str(n), replace(SLOW_TARGET, unread_commands=n)).verdict for n in unread]
    of_array = [sum(s.probability for s in v.suspects if s.entity == "array:fa1") for v in verdicts]
    assert of_array == sorted(of_array)
    assert (verdicts[-1].bottlenecks[0].entity, verdicts[-1].grade) == ("array:fa1", "A")
    assert "at the target until it reads them" in " ".join(verdicts[-1].suspects[0].because)


def test_one_io_that_the_host_is_reading_waits_for_none(tmp_path: Path) -> None:
    """One I/O at a time is unread for half of its time: so long the host needs to read it, however long that is."""
    san = san_with(tmp_path / "a", replace(SLOW_TARGET, unread=4 * KIB))
    flow = Flow(1000.0, 1e-3)
    ports = {port.name: (1.05 * flow.ops * 8 * KIB, NOTHING) for port in san.ports}
    san.step("q1", 1, block=8 * KIB, read=flow, ports=ports, disk={"read": flow}, array={"read": AtArray(SERVED)})
    suspects = judged(san.write()).verdict.suspects
    assert suspects[0].verdict == "concurrency_limited"
    assert sum(suspect.probability for suspect in suspects if suspect.kind == "core") < 0.05


def test_a_host_that_reads_late_closes_the_window_itself(tmp_path: Path) -> None:
    """1 MiB has arrived that no program has read: where the receiver reads late, its window is no fault of TCP."""
    late = plateau(tmp_path / "late", replace(FULL_WINDOW, unread=1 << 20)).verdict
    assert window_of(late) < 0.1
    assert [(b.kind, b.entity) for b in late.bottlenecks] == [("core", "host:esx7")]


@pytest.mark.parametrize(("smallest", "is_confirmed"), [(5e-3, True), (0.1e-3, False)])
def test_distance_is_read_and_not_assumed(tmp_path: Path, smallest: float, is_confirmed: bool) -> None:
    """5 of 5.4 ms pass between the clocks, and more I/Os bring more. A round trip of 5 ms accounts for them; one of
    0.1 ms does not, and something may be slow."""
    verdict = rising(tmp_path / "a", Tcp(smallest * 1.05, smallest))
    assert verdict.kind == "concurrency_limited"
    assert (verdict.grade == "A") == is_confirmed
    assert rising(tmp_path / "unread", None).grade != "A"


def test_an_array_that_idles_limits_nothing_however_much_slower_it_gets(tmp_path: Path) -> None:
    """18 ms are distance. With twice the I/Os the array takes 1.6 ms for 0.9, but it has 130 x 1.6 ms = 0.2 of the 4
    I/Os inside: it idles four fifths of the time."""
    san = san_with(tmp_path / "a", Tcp(26e-3, 18e-3))
    for n, ops, served in ((2, 79.0, 0.9e-3), (4, 130.0, 1.6e-3)):
        flow = Flow(ops, n / ops)
        ports = {port.name: (1.05 * ops * 8 * KIB, NOTHING) for port in san.ports}
        array = {"read": AtArray(served, queue=None)}
        san.step(f"q{n}", n, block=8 * KIB, read=flow, ports=ports, disk={"read": flow}, array=array)
    suspects = judged(san.write()).verdict.suspects
    assert sum(s.probability for s in suspects if s.entity == "array:fa1") < 0.2


def test_a_single_step_tells_distance_from_waiting(tmp_path: Path) -> None:
    assert rising(tmp_path / "near", Tcp(0.12e-3, 0.1e-3), (16,)).kind != "concurrency_limited"
    far = rising(tmp_path / "far", Tcp(5.1e-3, 5e-3), (16,))
    assert far.suspects[0].verdict == "concurrency_limited"
    assert rising(tmp_path / "unread", None, (16,)).suspects[0].verdict != "concurrency_limited"


def test_the_distance_of_a_connection_is_told_once(tmp_path: Path) -> None:
    """Both ends measure it, each as the sender of one direction."""
    san = san_with(tmp_path / "a", Tcp(5.2e-3, 5e-3))
    flow = Flow(4 / 5.4e-3, 5.4e-3)
    san.step("q4", 4, block=8 * KIB, read=flow, disk={"read": flow}, array={"read": AtArray(SERVED)})
    (finding,) = [f for f in judged(san.write()).findings if f.rule == "tcp-distance"]
    assert (finding.outcome, finding.direction, finding.steps) == ("hit", "both", ("q4",))


def test_the_host_alone_tells_the_distance(tmp_path: Path) -> None:
    """Its acknowledgements may wait for the target's answer, so that its smoothed round trip is that of the I/O."""
    san = san_with(tmp_path / "a", Tcp(5.4e-3, 5e-3))
    san.silent = frozenset({"srv"})
    for n in (4, 16):
        flow = Flow(n / 5.4e-3, 5.4e-3)
        san.step(f"q{n}", n, block=8 * KIB, read=flow, disk={"read": flow}, array={"read": AtArray(SERVED)})
    verdict = judged(san.write()).verdict
    assert (verdict.kind, verdict.grade) == ("concurrency_limited", "A")
