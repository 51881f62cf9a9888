"""Load tests with a known answer, as recordings; every number in them is worked out beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.recording.reading.recording import Recording
from sanpath.rulebook.model import Rule
from sanpath.rulebook.rule_files import load_rulebook
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, Port, San

# 64 KiB are 32 frames of 2,048 bytes, each counted as 2,076: 6,250 IOPS are 409.6 MB/s of payload and 415.2 MB/s
# counted, 97.7 % of the 425 MB/s of a 4GFC link.
X = 6250.0
COUNTED = 415.2e6
NOTHING = 0.3e6
"""Commands and responses in the other direction."""

OTHER_HOST = Port("fc1/9", "vmhba2", "21000024ff000009", host="esx9")
SECOND_HBA = Port("fc1/8", "vmhba3", "21000024ff000002")
SECOND_TARGET = Port("fc1/2", "CT1.FC0", "524a937000000002", host="")


def fast(port: Port, speed: float = 16) -> Port:
    """The same port at another speed, and able to do no more."""
    return replace(port, speed=speed, capable=speed)


def published(san: San, direction: str = "read", in_flight: tuple[int, ...] = (16, 128, 512, 800)) -> San:
    """The 4GFC test: N/X = 2.56, 20.48, 81.92 and 128 ms. The guest admits 32, so that its disk sees 32/X = 5.12 ms;
    the array takes 0.35 ms and 4.7 ms for the transfer (2.1 where only 16 are in flight)."""
    bytes_counted = (COUNTED, NOTHING) if direction == "read" else (NOTHING, COUNTED)
    for n in in_flight:
        load, disk = Flow(X, n / X), {direction: Flow(X, min(n, 32) / X)}
        array = {direction: AtArray(0.00035, san=0.0047 if n > 16 else 0.0021)}
        ports = {port.name: bytes_counted for port in (HOST_PORT, ARRAY_PORT)}
        if direction == "read":
            san.step(f"t{n}", n, read=load, ports=ports, disk=disk, array=array)
        else:
            san.step(f"t{n}", n, write=load, ports=ports, disk=disk, array=array)
    return san


def published_write(san: San) -> San:
    """The same towards the array."""
    return published(san, "write")


def mixed(san: San) -> San:
    """Reads and writes at once on one full-duplex link: 512 + 512 in flight, 6,200 IOPS each, 1024 / 12,400 =
    82.6 ms; 6,200 x 32 x 2,076 = 411.9 MB/s counted = 96.9 % in each direction."""
    flow, counted = Flow(6200, 1024 / 12400), 6200 * 32 * 2076.0
    san.step(
        "rw",
        1024,
        read=flow,
        write=flow,
        ports={"fc1/7": (counted, counted), "fc1/1": (counted, counted)},
        disk={"read": Flow(6200, 32 / 12400), "write": Flow(6200, 32 / 12400)},
        array={"read": AtArray(0.00035, san=0.002), "write": AtArray(0.0003, san=0.002)},
    )
    return san


def guest_queue(san: San) -> San:
    """The twin of the published test at 8 KiB on 32GFC: the guest admits 32 and each takes 0.5 ms, 32 / 0.5 ms =
    64,000 IOPS. They are 64,000 x (4 x 2,076 + 52) = 534.8 MB/s counted, 15.7 % of 3,400."""
    san.ports = [fast(p, 32) for p in san.ports]
    for n, ops in ((16, 32_000.0), (32, 64_000.0), (512, 64_000.0)):
        counted = ops * (4 * 2076 + 52)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(ops, n / ops),
            ports={"fc1/7": (counted, NOTHING), "fc1/1": (counted, NOTHING)},
            disk={"read": Flow(ops, 0.0005)},
            array={"read": AtArray(0.0004, san=0.00005)},
        )
    return san


def saturated_array(san: San) -> San:
    """8 KiB on 16GFC: 40,000 IOPS at N 8, 100,000 at 64, 101,000 at 256. The array's own time grows from 0.18 over
    0.6 to 2.4 ms, 13.3 times; 101,000 x (4 x 2,076 + 52) = 844 MB/s counted, 49.6 % of 1,700."""
    san.ports = [fast(p) for p in san.ports]
    for n, ops, service, queue in ((8, 4e4, 1.8e-4, 0.0), (64, 1e5, 4e-4, 2e-4), (256, 1.01e5, 5e-4, 1.9e-3)):
        counted, flow = ops * (4 * 2076 + 52), Flow(ops, n / ops)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=flow,
            ports={"fc1/7": (counted, NOTHING), "fc1/1": (counted, NOTHING)},
            disk={"read": flow},
            array={"read": AtArray(service, san=2e-5, queue=queue)},
        )
    return san


def full_before_it_began(san: San) -> San:
    """The guest admits 32 and the array is full with 32 already: 6,250 IOPS at every N, 5 ms of the disk's 5.12 ms in
    the array. Nothing has grown, and still nobody may say that the array is free. 8 KiB: links at 3 %."""
    san.ports = [fast(p) for p in san.ports]
    for n in (64, 512):
        counted = X * (4 * 2076 + 52)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(X, n / X),
            ports={"fc1/7": (counted, NOTHING), "fc1/1": (counted, NOTHING)},
            disk={"read": Flow(X, 32 / X)},
            array={"read": AtArray(0.005, san=2e-5)},
        )
    return san


def calm(
    san: San,
    in_flight: float = 1,
    ops: float = 2000.0,
    latency: float = 0.0005,
    cpu: float | None = 0.2,
    rate_limited: bool = False,
    seconds: float = 12.0,
) -> San:
    """64 KiB on 16GFC, far from any limit: 2,000 IOPS are 133 MB/s counted, 7.8 % of 1,700."""
    san.ports = [fast(p) for p in san.ports]
    counted, flow = ops * 32 * 2076, Flow(ops, latency)
    san.step(
        "calm",
        in_flight,
        read=flow,
        ports={p.name: (counted, NOTHING) for p in (HOST_PORT, ARRAY_PORT)},
        disk={"read": flow},
        array={"read": AtArray(0.6 * latency, san=0.2 * latency)},
        cpu=cpu,
        rate_limited=rate_limited,
        seconds=seconds,
    )
    return san


def one_in_flight(san: San) -> San:
    """iodepth 1: 1 / 0.5 ms = 2,000 IOPS."""
    return calm(san)


def rate_limited(san: San) -> San:
    """32 could be in flight, and a rate of 2,000 IOPS keeps it at 2,000 x 0.5 ms = 1."""
    return calm(san, in_flight=32, rate_limited=True)


def cpu_bound(san: San) -> San:
    """One process at 99 % of its core keeps 31 of 32 in flight: 31 / 62,000 = 0.5 ms, and 62,000 x 32 x 2,076 would
    be 4 GB/s; with 8,000 IOPS, 31 / 8,000 = 3.9 ms, 531 MB/s, 31 % of 1,700."""
    return calm(san, in_flight=32, ops=8000, latency=31 / 8000, cpu=0.99)


def unequal(san: San) -> San:
    """Round robin over 4GFC and 8GFC: each carries 6,250 IOPS, 415.2 MB/s: 97.7 % of 425 and 48.8 % of 850. Two of
    the slower one are the ceiling, 825 MB/s of payload and not 413 + 826. The array's one port is 16GFC, 48.8 %."""
    san.ports = [HOST_PORT, replace(SECOND_HBA, speed=8), fast(ARRAY_PORT)]
    for n in (64, 256):
        ports = {"fc1/7": (COUNTED, NOTHING), "fc1/8": (COUNTED, NOTHING), "fc1/1": (2 * COUNTED, NOTHING)}
        flow = Flow(2 * X, n / (2 * X))
        san.step(f"q{n}", n, read=flow, ports=ports, array={"read": AtArray(0.0004, san=0.003)})
    return san


def neighbour(san: San) -> San:
    """Another host takes 40 % of the array's 4GFC port: 3,750 IOPS are left, 245.8 MB/s of payload and 249.1 counted
    on the test's own host port (58.6 %), and 415.2 at the array's."""
    san.ports = [HOST_PORT, ARRAY_PORT, OTHER_HOST]
    local, others = 0.6 * COUNTED, 0.4 * COUNTED
    for n in (16, 64):
        san.step(
            f"q{n}",
            n,
            read=Flow(3750, n / 3750),
            ports={"fc1/7": (local, NOTHING), "fc1/9": (others, NOTHING), "fc1/1": (COUNTED, NOTHING)},
            array={"read": AtArray(0.0004, san=0.003, others=2500)},
        )
    return san


def array_front(san: San) -> San:
    """16GFC to the host, 8GFC at both target ports, each with 12,500 IOPS: 830.4 MB/s of 850, 97.7 %; 830.4 of 1,700
    at the host's ports, 48.8 %."""
    san.ports = [
        *(fast(p) for p in (HOST_PORT, SECOND_HBA)),
        *(replace(fast(p, 8), switch=16) for p in (ARRAY_PORT, SECOND_TARGET)),
    ]
    for n in (64, 256):
        san.step(
            f"q{n}",
            n,
            read=Flow(4 * X, n / (4 * X)),
            ports={p.name: (2 * COUNTED, NOTHING) for p in san.ports},
            array={"read": AtArray(0.0004, san=0.002)},
        )
    return san


def off_the_path(san: San) -> San:
    """The published test, while another host fills its own 4GFC port and the other target port."""
    san.ports = [HOST_PORT, ARRAY_PORT, OTHER_HOST, SECOND_TARGET]
    for n in (16, 128):
        san.step(
            f"t{n}",
            n,
            read=Flow(X, n / X),
            ports={p.name: (COUNTED, NOTHING) for p in san.ports},
            array={"read": AtArray(0.00035, san=0.0021, others=X)},
            pairs={
                f"{HOST_PORT.wwpn}>{ARRAY_PORT.device}": 1000,
                f"{OTHER_HOST.wwpn}>{SECOND_TARGET.device}": 1000,
            },
        )
    return san


def too_short(san: San) -> San:
    """Four seconds, one of them ramp: three windows of the load, two whole ones of the switch."""
    san.ports = [HOST_PORT, ARRAY_PORT]
    ports = {p.name: (COUNTED, NOTHING) for p in san.ports}
    san.step("s", 16, read=Flow(X, 16 / X), ports=ports, array={"read": AtArray(0.00035, san=0.002)}, seconds=4)
    return san


def array_slower_than_the_load(san: San) -> San:
    """The array says 0.9 + 0.2 ms, the load saw 0.5 ms: 0.6 ms too much."""
    calm(san)
    san.steps[0] = replace(san.steps[0], array={"read": AtArray(0.0009, san=0.0002)})
    return san


def split_on_the_way(san: San) -> San:
    """1 MiB at the load, 256 KiB at the array: 200 against 800 operations a second, 209.7 MB/s both."""
    san.ports = [fast(p) for p in san.ports]
    flow, counted = Flow(200, 0.005), 200 * 512 * 2076.0
    san.step(
        "large",
        1,
        block=1024 * KIB,
        read=flow,
        ports={"fc1/7": (counted, NOTHING), "fc1/1": (counted, NOTHING)},
        array={"read": AtArray(0.0011, san=0.0001, ops=800, size=200 * 1024 * KIB)},
    )
    return san


def switch_not_observed(san: San) -> San:
    """The published test without the switch."""
    san.leave_out = {"switch"}
    return published(san)


def array_not_observed(san: San) -> San:
    """The published test without the array: nothing tells of the target port either."""
    san.leave_out = {"array"}
    return published(san)


def ethernet(san: San) -> San:
    """64 KiB over a 400 Mb/s Ethernet port: 45 frames of 1,460 bytes, 65,536 + 45 x 58 = 68,146 counted; 728 IOPS are
    49.6 MB/s of 50, 99.2 %."""
    san.technology = "ethernet"
    san.ports = [replace(HOST_PORT, speed=0.4, capable=None), replace(ARRAY_PORT, speed=10, capable=10)]
    for n in (16, 64):
        counted = 728 * 68146.0
        ports = {"fc1/7": (counted, NOTHING), "fc1/1": (counted, NOTHING)}
        san.step(f"q{n}", n, read=Flow(728, n / 728), ports=ports, array={"read": AtArray(0.0021)})
    return san


def quality_of_service(san: San) -> San:
    """A limit of 400 MB/s on the volume, just below what 4GFC carries: 6,104 IOPS, 405.5 MB/s counted, 95.4 %. Of
    the 32 / 6,104 = 5.24 ms an I/O waits 4.6 ms for the limit."""
    ops = 400e6 / 65536
    for n in (32, 128):
        wait = AtArray(0.00035, san=0.0002, qos=0.0046)
        ports = {p.name: (ops * 32 * 2076, NOTHING) for p in san.ports}
        disk = {"read": Flow(ops, 32 / ops)}
        san.step(f"q{n}", n, read=Flow(ops, n / ops), ports=ports, disk=disk, array={"read": wait})
    return san


STORIES: dict[str, Callable[[San], San]] = {
    story.__name__: story
    for story in (
        *(published, published_write, mixed, guest_queue, saturated_array, full_before_it_began, one_in_flight),
        *(quality_of_service, rate_limited, cpu_bound, unequal, neighbour, array_front, off_the_path, too_short),
        *(array_slower_than_the_load, split_on_the_way, switch_not_observed, array_not_observed, ethernet),
    )
}

_FOLDER = tempfile.TemporaryDirectory(prefix="sanpath-stories-")


@cache
def recorded(name: str) -> Recording:
    """The recording of a story; made once a test run."""
    return STORIES[name](San(Path(_FOLDER.name) / name)).write()


@cache
def computed(name: str) -> Facts:
    """The facts of a story; made once a test run."""
    return compute(recorded(name))


@cache
def diagnosed(name: str) -> Diagnosis:
    """The diagnosis of a story; made once a test run."""
    return judged(recorded(name))


@cache
def _rules() -> tuple[Rule, ...]:
    return tuple(load_rulebook())


def judged(recording: Recording) -> Diagnosis:
    """The diagnosis by the built-in rules, which are read once a test run."""
    return diagnose(recording, _rules())
