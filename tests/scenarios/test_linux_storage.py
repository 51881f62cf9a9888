"""A Linux host on a Linux storage server: what their kernels tell, and what they do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sanpath.diagnose import judge_recording
from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Column, Table
from sanpath.verdict.places.host_queues import host_queues
from sanpath_collectors.linux_host.tables import HOST
from sanpath_collectors.linux_target.tables import CONTROLLER
from tests.scenarios.test_without_a_generator import LUN
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import KIB, NAA, SECOND_NAA, AtArray, Flow, San
from tests.support.stories import NOTHING, judged

SERVED = 0.005
"""Seconds that the media need for an I/O; they take four at a time."""
OPS = 4 / SERVED
DEVICES = replace(LUN, columns=(*LUN.columns, Column("latency_seconds_flush_total", 64, 1e-3)))


class Storage(San):
    """fio on a device of the host that it calls by a link of its own: dm-0 and its two paths count the I/Os.

    `busy` and `host_busy`: share of the processors of server and host; `busy_before`: of the server before the load
    begins; `core`: of the server's busiest core, None:
    not reported; `host_busy_per_io`: processor seconds of the
    host for each I/O instead; `sent_again`, `host_sent_again`: of the TCP
    segments of server and host. `path_seconds`: what an I/O takes on the paths, None: as long as in the map; `depth`:
    slots of each map; `flushing`: outstanding flushes. `maps`: map → its paths, which carry the I/Os in equal parts;
    `named`: the load names each of these devices as its target, as fio's list of disks does."""

    busy: float = 0.1
    busy_before: float = 0.02
    core: float | None = None
    host_busy: float = 0.1
    host_busy_per_io: float | None = None
    sent_again: float = 0.0
    host_sent_again: float = 0.0
    path_seconds: float | None = None
    depth: int | None = 128
    flushing: float = 0.0
    maps: Mapping[str, tuple[str, ...]] = {"dm-0": ("sda", "sdb")}
    named: bool = False

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.source("esx7", "linux_host", DEVICES, HOST)
        out.entity("esx7", "host", "esx7", ids={"name": ("esx7",)})
        identifiers = dict(zip(self.maps, (NAA, SECOND_NAA), strict=False))
        for device in (*self.maps, *(path for paths in self.maps.values() for path in paths)):
            naa = (identifiers[device],) if device in self.maps else ()
            about = {"queue_depth": self.depth, "kind": "multipath map"} if device in self.maps else {}
            out.entity("esx7", "lun", device, f"esx7/{device}", {"device": (device,), "naa": naa}, about)
            out.link("esx7", "attached_to", (("lun", device), ("host", "esx7")))
            if self.named:
                out.configure_link(f"load:fio targets lun:esx7/{device}")
        for name, paths in self.maps.items():
            for path in paths:
                out.link("esx7", "member_of", (("lun", path), ("lun", name)), "slaves")
        last = self.steps[-1].end + 2
        for second in range(int(last)):
            out.poll("esx7", second)
            whole = {**self._disk(second)}
            whole |= {f"bytes_{d}_total": 8 * KIB * int(whole[f"ops_{d}_total"] or 0) for d in ("read", "write")}
            whole["latency_seconds_flush_total"] = round(second * 1e3 * self.flushing)
            samples: dict[str, dict[str, Number]] = {}
            for name, paths in self.maps.items():
                of_map = {metric: int(value or 0) // len(self.maps) for metric, value in whole.items()}
                samples[name] = of_map | self._counted_by(name, second)
                part = {metric: int(value or 0) // len(paths) for metric, value in samples[name].items()}
                if self.path_seconds is not None:
                    part["latency_seconds_read_total"] = round(part["ops_read_total"] * 1e3 * self.path_seconds)
                samples |= {path: {**part} for path in paths}
            out.samples("esx7", DEVICES, second, samples)
            busy = self.host_busy
            if self.host_busy_per_io is not None:
                busy = int(whole["ops_read_total"] or 0) * self.host_busy_per_io / max(1, second)
            out.samples("esx7", HOST, second, {"esx7": ticks(second, busy, self.host_sent_again)})
        out.source("srv", "linux_target", CONTROLLER)
        out.entity("srv", "controller", "srv", "srv")
        out.link("srv", "member_of", (("controller", "srv"), ("array", "fa1")))
        for second in range(int(last)):
            out.poll("srv", second)
            before = min(float(second), self.steps[0].begin)
            busy = (self.busy_before * before + self.busy * (second - before)) / max(1, second)
            counters = ticks(second, busy, self.sent_again)
            core = self.core if second > before or self.core is None else self.busy_before
            out.samples("srv", CONTROLLER, second, {"srv": {**counters, "cpu_busiest_core_ratio": core}})

    def _counted_by(self, _name: str, _second: float) -> dict[str, Number]:
        """What a map has counted, if it is not an equal part of the whole."""
        return {}


def ticks(second: int, busy: float, sent_again: float) -> dict[str, Number]:
    """Counters of a machine's processors and of its TCP after so many seconds."""
    return {
        "cpu_busy_seconds_total": round(100 * second * busy),
        "cpu_seconds_total": 100 * second,
        "tcp_segments_tx_total": 10_000 * second,
        "tcp_retransmits_total": round(10_000 * second * sent_again),
    }


def load_of(
    folder: Path, served: float, damaged: float = 0.0, block: int = 8 * KIB, others: float = 0.0, **settings: Any
) -> Diagnosis:
    """16 and 64 in flight give the same; the host's device waits nearly all of it. `damaged`: frames in a step;
    `others`: I/Os of other hosts at the array, over the test's."""
    san = Storage(folder, leave_out={"disk"})
    for name, value in settings.items():
        setattr(san, name, value)
    for in_flight in (16, 64):
        latency = in_flight / OPS
        counted = OPS * (block / 2048 * 2076 + 52)
        san.step(
            f"q{in_flight}",
            in_flight,
            block=block,
            read=Flow(OPS, latency),
            disk={"read": Flow(OPS, latency - 1e-4)},
            ports={"fc1/7": (counted, NOTHING), "fc1/1": (counted, NOTHING)},
            array={"read": AtArray(served, queue=None, others=others * OPS)},
            counted={"sw1/fc1/7": {"crc_errors_total": damaged}} if damaged else {},
        )
    return judged(san.write())


@pytest.mark.parametrize(
    ("counted_by", "kind"),
    [
        (None, "demand_limited"),
        ("flushing", "concurrency_limited"),
        ("flushes_in_flight", "concurrency_limited"),
        ("metadata_in_flight", "concurrency_limited"),
    ],
    ids=["a pause", "the device counts flushes", "the load counts flushes", "the load opens and creates files"],
)
def test_a_load_that_waits_for_a_flush_or_a_file_does_not_ask_for_less(
    tmp_path: Path, counted_by: str | None, kind: str
) -> None:
    """One I/O at a time, which takes 0.3 of the time; the rest is a flush, a file to open, or a pause."""
    san = Storage(tmp_path, leave_out={"disk"})
    if counted_by is not None:
        setattr(san, counted_by, 0.7)
    counted = 100 * (4 * 2076 + 52)
    san.step(
        "q1",
        1,
        block=8 * KIB,
        write=Flow(100, 0.003),
        disk={"write": Flow(100, 0.0029)},
        ports={"fc1/7": (NOTHING, counted), "fc1/1": (NOTHING, counted)},
        array={"write": AtArray(0.0028, queue=None)},
        rate_limited=counted_by is None,
    )
    assert judged(san.write()).verdict.kind == kind


def keeping(
    folder: Path, threads: int, above: float, configured: float, *, thinks: bool = False, cpu: float = 0.05
) -> Diagnosis:
    """16 I/Os with the device, `above` of them not yet there, of so many that the load was given. `thinks`: it was
    given time to think as well. `cpu`: how busy its busiest process is."""
    san = Storage(folder, leave_out={"disk"}, about={"threads": threads, "rate_limited": thinks})
    rate, below = 16_000.0, 0.001
    reads = Flow(rate, below + above / rate)
    counted = rate * (4 * 2076 + 52)
    san.step(
        "q",
        configured,
        block=8 * KIB,
        cpu=cpu,
        rate_limited=thinks,
        read=reads,
        disk={"read": Flow(rate, below)},
        ports={"fc1/7": (counted, NOTHING), "fc1/1": (counted, NOTHING)},
        array={"read": AtArray(0.0009, queue=None)},
    )
    return judged(san.write())


@pytest.mark.parametrize("cpu", [0.05, 0.999])
def test_a_load_that_nothing_was_set_to_hold_back_hardly_asks_for_less(tmp_path: Path, cpu: float) -> None:
    """Without a rate it starts an I/O when one ends: less probable than with time to think, and with a full core its
    generator is what keeps it."""
    free, thinking = (
        keeping(tmp_path / str(thinks), 1, 0.2, 64, thinks=thinks, cpu=cpu).verdict for thinks in (False, True)
    )
    asks_for_less = [
        sum(suspect.probability for suspect in verdict.suspects if suspect.verdict == "demand_limited")
        for verdict in (free, thinking)
    ]
    odds = [probability / (1 - probability) for probability in asks_for_less]
    assert odds[0] < odds[1] / 5
    assert (free.kind == "generator_limited") == (cpu > 0.9)


@pytest.mark.parametrize(
    ("threads", "above", "kind"),
    [(1, 1.0, "bottleneck"), (4, 4.0, "bottleneck"), (1, 0.2, "demand_limited"), (8, 1.0, "demand_limited")],
)
def test_threads_that_wait_to_submit_are_held_by_the_device(
    tmp_path: Path, threads: int, above: float, kind: str
) -> None:
    """Of 64 I/Os 16 or so are outstanding. One above the device for each thread: it takes no more of them. Fewer: the
    threads have time left to think, and ask for no more."""
    verdict = keeping(tmp_path, threads, above, 64, thinks=kind == "demand_limited").verdict
    assert verdict.kind == kind
    assert [b.entity for b in verdict.bottlenecks] == (["lun:esx7/dm-0"] if kind == "bottleneck" else [])


def test_a_load_that_has_all_its_ios_outstanding_is_not_held_at_submission(tmp_path: Path) -> None:
    verdict = keeping(tmp_path, 1, 1.0, 17).verdict
    assert not any(suspect.kind == "lun" and suspect.probability > 0.3 for suspect in verdict.suspects)


def test_a_device_that_nobody_names_is_the_one_that_carries_the_load(tmp_path: Path) -> None:
    """The host's clock is read and its device has free slots: no queue of the host is suspected, and what waits
    before the server's own clock is the server's."""
    found = load_of(tmp_path, SERVED)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == "array:fa1"
    assert not any(suspect.kind == "lun" for suspect in found.verdict.suspects)


@pytest.mark.parametrize("busy", [0.3, 0.99])
def test_processors_of_a_controller_that_have_no_room_left_make_it_surer(tmp_path: Path, busy: float) -> None:
    found = load_of(tmp_path, SERVED, busy=busy)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == "array:fa1"
    speaks = [words for words in found.verdict.suspects[0].because if "processors" in words]
    assert bool(speaks) == (busy > 0.9)


def test_processors_of_a_controller_that_polls_make_nothing_surer(tmp_path: Path) -> None:
    """They are as busy before the load begins."""
    found = load_of(tmp_path, SERVED, busy=0.995, busy_before=0.995)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == "array:fa1"
    assert not [words for words in found.verdict.suspects[0].because if "processors" in words]


@pytest.mark.parametrize("others", [0.0, 0.02, 0.1, 0.5])
def test_how_full_the_processors_of_an_array_are_does_not_depend_on_whose_ios_they_serve(
    tmp_path: Path, others: float
) -> None:
    """The array's times are means over all I/Os; the test's own cannot be told from others'."""
    verdict = load_of(tmp_path, SERVED, busy=0.995, others=others).verdict
    assert [b.entity for b in verdict.bottlenecks] == ["array:fa1"]
    assert any("the processors of the busiest controller" in words for words in verdict.bottlenecks[0].because)


@pytest.mark.parametrize("depth", [4, None])
def test_what_waits_above_the_paths_waits_for_the_queue_of_their_map(tmp_path: Path, depth: int | None) -> None:
    """800 I/Os a second take 5.1 ms on the paths: 4.1 are there, whoever tells how many there may be."""
    found = load_of(tmp_path, SERVED, path_seconds=SERVED + 1e-4, depth=depth)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == "lun:esx7/dm-0"
    assert bottleneck.ceiling_ops_per_second == pytest.approx(OPS, rel=0.05)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(("depth", "path_seconds"), [(2, None), (None, SERVED), (2, SERVED)])
def test_the_queues_of_several_maps_are_those_of_all_of_them(
    tmp_path: Path, depth: int | None, path_seconds: float | None, named: bool
) -> None:
    """64 reads on two maps, 4 of them on the paths, by the maps' slots or by the paths' own clocks: 800 a second take
    5 ms there, so that 75 of the 80 ms wait above. Paths that the load names beside their maps do not count twice."""
    san = Storage(tmp_path / "a.sanpath", leave_out={"disk"})
    san.maps = {"dm-0": ("sda", "sdb"), "dm-1": ("sdc", "sdd")}
    san.named, san.depth, san.path_seconds = named, depth, path_seconds
    reads = Flow(OPS, 64 / OPS)
    san.step("q64", 64, block=8 * KIB, read=reads, disk={"read": reads}, seconds=30)
    facts, _ = judge_recording(san.write())
    (load,) = facts.loads
    queue = host_queues(facts, load)[-1]
    assert queue.entity in {"lun:esx7/dm-0", "lun:esx7/dm-1"}
    assert queue.wait_seconds == pytest.approx((64 - 4) / OPS, rel=0.02)
    assert queue.admitted == pytest.approx(4, rel=0.02)


def test_reads_and_writes_wait_equally_long_for_the_slots_of_their_device(tmp_path: Path) -> None:
    """16 slots for 55 I/Os: (55.2 - 16) / 9,300 a second = 4.2 ms for each. Reads take 3.3 ms below and hold nearly
    all slots, writes that a cache answers take 0.2 ms."""
    san = Storage(tmp_path / "a.sanpath", leave_out={"disk"})
    san.depth = 16
    flows = {"read": Flow(4600.0, 0.0075), "write": Flow(4700.0, 0.0044)}
    san.step("q55", 55, block=8 * KIB, read=flows["read"], write=flows["write"], disk=flows, seconds=30)
    facts, _ = judge_recording(san.write())
    queues = {load.direction: host_queues(facts, load)[-1] for load in facts.loads}
    waits = {direction: queue.wait_seconds for direction, queue in queues.items()}
    assert waits["read"] == pytest.approx(waits["write"], rel=0.02)
    assert waits["read"] == pytest.approx(0.0042, rel=0.02)
    assert sum(queue.admitted for queue in queues.values()) == pytest.approx(16, rel=0.02)


def test_a_host_whose_processors_are_all_busy_is_the_limit(tmp_path: Path) -> None:
    found = load_of(tmp_path, SERVED, host_busy=0.995)
    assert found.verdict.kind == "generator_limited"
    assert "host:esx7" in found.verdict.headline
    assert found.summary.verdict.startswith("The load generator's machine is CPU-bound")
    assert "The processors of esx7 are 99.6 % busy" in (found.summary.consequence or "")
    assert [element.entity for element in found.summary.path if element.role == "limits"] == ["host:esx7"]


def test_busy_processors_do_not_hold_back_a_load_that_hardly_wants_any(tmp_path: Path) -> None:
    """Others keep them busy. A thread that waited for them would get its share of a core, and want more than 1 %."""
    san = Storage(tmp_path / "a", leave_out={"disk"})
    san.host_busy = 0.995
    for n in (16, 64):
        flow = Flow(OPS, n / OPS)
        array = {"read": AtArray(n / OPS - 1e-3, queue=None)}
        san.step(f"q{n}", n, block=8 * KIB, read=flow, disk={"read": flow}, array=array, cpu=0.01)
    verdict = judged(san.write()).verdict
    assert (verdict.kind, verdict.bottlenecks[0].entity) == ("bottleneck", "array:fa1")
    assert sum(s.probability for s in verdict.suspects if s.kind in ("generator_limited", "core")) < 0.05


@pytest.mark.parametrize("in_proportion", [True, False])
def test_processors_that_are_busy_in_proportion_to_the_ios_work_for_them(tmp_path: Path, in_proportion: bool) -> None:
    """A quarter of the I/Os keeps them busy for a quarter of the time: interrupts, which no process pays for. I/Os
    wait between the host's clock and the array's. Where the processors are always busy, others fill them."""
    san = Storage(tmp_path / "a", leave_out={"disk"})
    san.host_busy, san.host_busy_per_io = 0.995, 0.995 / OPS if in_proportion else None
    for n, ops in ((4, OPS / 4), (16, OPS), (64, OPS)):
        flow = Flow(ops, n / ops)
        array = {"read": AtArray(SERVED, queue=None)}
        san.step(f"q{n}", n, block=8 * KIB, read=flow, disk={"read": flow}, array=array, cpu=0.01)
    verdict = judged(san.write()).verdict
    likely = sum(s.probability for s in verdict.suspects if s.kind == "generator_limited")
    assert (likely > 0.5) == in_proportion
    assert likely > 0.5 or likely < 0.1


@pytest.mark.parametrize("sent_again", [0.0, 0.03])
def test_tcp_segments_that_are_sent_again_are_lost_on_the_way(tmp_path: Path, sent_again: float) -> None:
    found = load_of(tmp_path, SERVED, technology="ethernet", sent_again=sent_again)
    lost = [suspect for suspect in found.verdict.suspects if suspect.kind == "retries"]
    assert bool(lost) == (sent_again > 0)
    assert all("3.0 % of its TCP segments" in suspect.because[0] for suspect in lost)


@pytest.mark.parametrize(("block", "is_suspected"), [(8 * KIB, False), (256 * KIB, True)])
def test_a_small_share_of_lost_segments_is_suspected_where_it_allows_no_more_than_the_load_moves(
    tmp_path: Path, block: int, is_suspected: bool
) -> None:
    """With 0.1 % lost, a connection moves 56 kB in a round trip: 56 MB/s over 1 ms. The load moves 7, or 210."""
    found = load_of(tmp_path, SERVED, block=block, technology="ethernet", sent_again=0.001)
    likely = [
        suspect for suspect in found.verdict.suspects if suspect.kind == "retries" and suspect.probability > 0.05
    ]
    assert bool(likely) == is_suspected
    assert all("0.1 % of its TCP segments" in suspect.because[0] for suspect in likely)


def test_a_reading_host_that_sends_little_loses_no_data(tmp_path: Path) -> None:
    """Its commands and acknowledgements say nothing of what the server's data lose."""
    found = load_of(tmp_path, SERVED, block=256 * KIB, technology="ethernet", host_sent_again=0.001)
    assert not any(suspect.kind == "retries" and suspect.probability > 0.05 for suspect in found.verdict.suspects)


@pytest.mark.parametrize(("sent_again", "is_first"), [(0.0005, False), (0.05, True)])
def test_damaged_frames_cost_what_is_sent_again_for_them(tmp_path: Path, sent_again: float, is_first: bool) -> None:
    found = load_of(tmp_path, SERVED, damaged=600.0, technology="ethernet", sent_again=sent_again)
    assert (found.verdict.suspects[0].kind == "retries") == is_first


def test_a_lost_frame_costs_an_io_no_longer_than_the_test_lasts(tmp_path: Path) -> None:
    """Nine of 24,000 I/Os meet a damaged frame. If each took the whole step of 30 s, that were 11 ms of 80."""
    suspects = load_of(tmp_path, SERVED, damaged=9.0).verdict.suspects
    assert suspects[0].entity == "array:fa1"
    assert not any(suspect.kind == "retries" and suspect.probability > 0.05 for suspect in suspects)


class TwoCards(Storage):
    """The host names a card for its management first, which moves none of the test's bytes."""

    def _configuration(self, out: RecordingBuilder) -> None:
        Storage._configuration(self, out)
        table = Table("hba", (Column("bytes_rx_total", 64), Column("bytes_tx_total", 64)))
        out.source("cards", "linux_host", table)
        out.entity("cards", "host", "esx7", ids={"name": ("esx7",)})
        for card in ("eth0", "eth1"):
            out.entity("cards", "hba", card, f"esx7/{card}", attributes={"technology": "ethernet"})
            out.link("cards", "attached_to", (("hba", card), ("host", "esx7")))
        for second in range(int(self.steps[-1].end + 2)):
            moved = round(OPS * 8 * KIB * second)
            counted = {card: {"bytes_rx_total": moved if card == "eth1" else 0} for card in ("eth0", "eth1")}
            out.samples("cards", table, second, counted)


def test_a_port_of_the_host_that_moves_none_of_the_test_loses_none_of_it(tmp_path: Path) -> None:
    san = TwoCards(tmp_path, leave_out={"disk", "switch"}, ports=())
    san.sent_again = 0.05
    for in_flight in (16, 64):
        latency = in_flight / OPS
        san.step(
            f"q{in_flight}",
            in_flight,
            block=8 * KIB,
            read=Flow(OPS, latency),
            disk={"read": Flow(OPS, latency - 1e-4)},
            array={"read": AtArray(3e-4, queue=None)},
        )
    lost = [suspect.entity for suspect in judged(san.write()).verdict.suspects if suspect.kind == "retries"]
    assert lost == ["hba:esx7/eth1"]


class Guest(San):
    """fio in a virtual machine whose own kernel counts its I/Os; nobody names the device. `requests`: how many the
    kernel has for it."""

    requests: int = 4

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.source("guest", "linux_host", LUN)
        out.entity("guest", "vm", "sqlvm1", ids={"name": ("sqlvm1",)})
        out.entity("guest", "lun", "vdb", "sqlvm1/vdb", {"device": ("vdb",)}, {"nr_requests": self.requests})
        out.link("guest", "attached_to", (("lun", "vdb"), ("vm", "sqlvm1")))
        for second in range(int(self.steps[-1].end + 2)):
            out.poll("guest", second)
            whole = {**self._disk(second)}
            whole |= {f"bytes_{d}_total": 8 * KIB * int(whole[f"ops_{d}_total"] or 0) for d in ("read", "write")}
            out.samples("guest", LUN, second, {"vdb": whole})


def test_the_device_of_the_guest_that_runs_the_load_carries_it(tmp_path: Path) -> None:
    """4 and 16 I/Os bring 4,000 a second, and take 1 ms once the kernel has a request for them: it has four."""
    san = Guest(tmp_path, leave_out={"disk"})
    for in_flight in (4.2, 16):
        flow = Flow(4000, in_flight / 4000)
        moved = 4000 * (4 * 2076 + 52)
        san.step(
            f"q{in_flight:g}",
            in_flight,
            block=8 * KIB,
            read=flow,
            disk={"read": Flow(4000, 1e-3)},
            ports={"fc1/7": (moved, NOTHING), "fc1/1": (moved, NOTHING)},
            array={"read": AtArray(0.9e-3, queue=None)},
        )
    verdict = judged(san.write()).verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == ["lun:sqlvm1/vdb"]
    assert any("4 slots are in use" in words for words in verdict.suspects[0].because)


@pytest.mark.parametrize(
    ("slots", "core", "layer", "sure"),
    [
        (4, None, "array_back", True),
        (64, 0.97, "array_front", True),
        (64, 0.3, "array_front", False),
        (None, None, "array_front", False),
    ],
    ids=["full", "free beside a full core", "free beside idle cores", "not reported"],
)
def test_ios_wait_for_a_slot_of_the_device_behind_the_server_or_for_its_cores(
    tmp_path: Path, slots: int | None, core: float | None, layer: str, sure: bool
) -> None:
    """Four of 16 and of 64 I/Os are inside the device, the others before its clock. Where it takes more, a session or
    a thread of the target may still be full."""
    verdict = load_of(tmp_path, SERVED, device_slots=slots, core=core).verdict
    assert [(bottleneck.entity, bottleneck.layer) for bottleneck in verdict.bottlenecks] == [("array:fa1", layer)]
    assert (verdict.grade in "AB") == sure


@pytest.mark.parametrize(("busy", "others", "sure"), [(0.2, 0.0, True), (0.99, 0.0, True), (0.99, 4000.0, False)])
def test_processors_of_an_array_that_are_as_busy_with_fewer_ios_are_not_filled_by_them(
    tmp_path: Path, busy: float, others: float, sure: bool
) -> None:
    """They poll. One, two and four I/Os take as long, so more would bring more. Or `others` fill them all the time,
    with so many I/Os a second."""
    san = Storage(tmp_path, leave_out={"disk"})
    san.busy = busy
    for n in (1, 2, 4):
        flow = Flow(n / 0.0212, 0.0212)
        ports = {port.name: (flow.ops * (4 * 2076 + 52), NOTHING) for port in san.ports}
        disk, at_array = {"read": Flow(flow.ops, 0.021)}, {"read": AtArray(0.0202, queue=None, others=others)}
        san.step(f"q{n}", n, block=8 * KIB, read=flow, disk=disk, ports=ports, array=at_array)
    verdict = judged(san.write()).verdict
    assert (verdict.kind == "concurrency_limited" and (verdict.probability or 0.0) > 0.9) == sure
