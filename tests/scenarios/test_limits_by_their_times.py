"""What the times between the clocks say of a limit that no counter shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis, Suspect
from tests.scenarios.test_between_switches import ISL, result
from tests.support.san import KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

ON_WIRE = 2e-5


def read_steps(
    folder: Path,
    steps: Sequence[tuple[int, float]],
    at_array: AtArray | Sequence[AtArray],
    *,
    software: float | None = None,
    depth: int | None = None,
) -> Diagnosis:
    """8 KiB reads: (outstanding I/Os, operations a second) of each step. `software`: seconds above the machine's
    disk, None: its clock is not read; `depth`: slots of that disk."""
    san = San(folder, guest_queue_depth=depth, leave_out=set() if software is not None else {"disk"})
    san.ports = [fast(port) for port in san.ports]
    arrays = [at_array] * len(steps) if isinstance(at_array, AtArray) else at_array
    for (n, ops), array in zip(steps, arrays, strict=True):
        counted = ops * (4 * 2076 + 52)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(ops, n / ops),
            ports={port.name: (counted, NOTHING) for port in san.ports},
            disk={"read": Flow(ops, n / ops - (software or 0.0))},
            array={"read": array},
            seconds=30,
        )
    return judged(san.write())


def likelihood(found: Diagnosis, verdict: str, entity: str | None = None) -> float:
    """The probability of the suspects with this verdict, and of this entity if one is given."""
    suspects: Sequence[Suspect] = found.verdict.suspects
    fits = [each for each in suspects if each.verdict == verdict and entity in (None, each.entity)]
    return sum(each.probability for each in fits)


@pytest.mark.parametrize("in_flight", [16, 128])
def test_the_longer_an_array_takes_in_a_single_step_the_more_probably_it_is_full(
    tmp_path: Path, in_flight: int
) -> None:
    """Its clock reports service and no queue. No drive needs more than 20 ms, but a wait may be part of the 20."""
    found = [
        read_steps(
            tmp_path / f"{ms}.sanpath", [(in_flight, in_flight / (ms / 1e3 + 2e-4))], AtArray(ms / 1e3, san=ON_WIRE)
        )
        for ms in (10, 20, 39, 41, 60, 100)
    ]
    of_array = [likelihood(each, "bottleneck", "array:fa1") for each in found]
    assert of_array == sorted(of_array)
    assert of_array[-1] > 2 / 3


def test_the_time_of_the_host_s_software_is_no_wait_for_a_slot(tmp_path: Path) -> None:
    """35,600 IOPS spend 19 µs above a disk of 128 slots: 0.7 I/Os, which wait for nothing. 8 to 128 outstanding I/Os
    take 3.6 ms each: the throughput follows them."""
    steps = [(n, n / 3.6e-3) for n in (8, 32, 64, 128)]
    found = read_steps(tmp_path / "a.sanpath", steps, AtArray(0.0032, san=ON_WIRE), software=1.9e-5, depth=128)
    assert found.verdict.kind == "concurrency_limited"
    assert likelihood(found, "bottleneck", "lun:sqlvm1/sda") < 0.01


def test_a_full_queue_that_is_not_read_is_filled_by_the_array_below_it(tmp_path: Path) -> None:
    """The disk has 128 slots, and no clock of the host was read: of 256 outstanding I/Os 128 are in the array, 11.1
    ms each, and 128 wait above. 64 took 5.5 ms there, for the same 11,500 IOPS."""
    arrays = [AtArray(n, san=ON_WIRE) for n in (0.0023, 0.0055, 0.0111)]
    found = read_steps(tmp_path / "a.sanpath", [(4, 1_700.0), (64, 11_500.0), (256, 11_500.0)], arrays, depth=128)
    (bottleneck,) = found.verdict.bottlenecks
    assert (found.verdict.kind, bottleneck.entity) == ("bottleneck", "array:fa1")


def test_a_transfer_over_a_distance_takes_no_longer_than_the_commands_over_it(tmp_path: Path) -> None:
    """The transfer of 8 KiB takes 23 ms with any number of I/Os, and 0.1 ms pass before the array's clock: no
    distance, and so something delays it, although the throughput follows the load."""
    steps = [(n, n / 0.0236) for n in (4, 16, 32, 64, 128)]
    found = read_steps(tmp_path / "a.sanpath", steps, AtArray(0.0005, san=0.023))
    assert likelihood(found, "concurrency_limited") < 0.3
    assert found.verdict.kind == "cannot_tell"


@pytest.mark.parametrize("growth", [0.0, 0.019, 0.021, 0.03, 0.06, 0.1, 0.12, 0.2])
def test_a_transfer_that_hardly_grew_waits_as_long_as_with_fewer_ios(tmp_path: Path, growth: float) -> None:
    """The transfer of 8 KiB takes 29 ms, and twice the I/Os take up to 20 % longer. Nothing counts what delays it."""
    transfers = [0.029, 0.029 * (1 + growth)]
    steps = [(n, n / (transfer + 0.0081)) for n, transfer in zip((8, 16), transfers, strict=True)]
    found = read_steps(tmp_path / "a.sanpath", steps, [AtArray(0.008, san=transfer) for transfer in transfers])
    assert likelihood(found, "concurrency_limited") < 0.3
    assert found.verdict.kind == "cannot_tell"


def test_a_link_that_never_waits_for_credit_holds_up_nobody(tmp_path: Path) -> None:
    """A slow neighbour's frames cross the full link as well, but its sender waits for no credit: it is just full."""
    found = result(tmp_path, local=9_000, others=3_590, stalls={"sw1/fc1/9": 0.81})
    assert (found.verdict.kind, found.verdict.grade) == ("bottleneck", "A")
    assert [each.entity for each in found.verdict.bottlenecks] == [ISL]


def test_a_queue_of_both_directions_does_not_let_one_of_them_wait_alone(tmp_path: Path) -> None:
    """Nobody reads the array: below the machine's disk reads take 0.9 ms and writes 19 ms, 6,500 a second of each, as
    many as with half the outstanding I/Os. A slot of the adapter would let both wait."""

    def of_adapter(name: str, read_seconds: float) -> float:
        san = San(tmp_path / name, leave_out={"array"}, guest_queue_depth=None)
        san.ports = [fast(port) for port in san.ports]
        for part in (0.5, 1.0):
            seconds = {"read": part * read_seconds, "write": part * (0.0199 - read_seconds)}
            flows = {direction: Flow(6500, each) for direction, each in seconds.items()}
            counted = 6500 * (4 * 2076.0 + 52)
            ports = {port.name: (counted, counted) for port in san.ports}
            in_flight = round(6500 * sum(seconds.values()))
            san.step(
                f"q{in_flight}",
                in_flight,
                block=8 * KIB,
                read=flows["read"],
                write=flows["write"],
                ports=ports,
                disk=flows,
                seconds=30,
            )
        return likelihood(judged(san.write()), "bottleneck", "hba:esx7/vmhba2")

    assert of_adapter("one", 0.0009) < of_adapter("both", 0.00995) / 3


def test_a_time_that_is_split_for_reads_alone_is_not_compared_with_that_of_writes(tmp_path: Path) -> None:
    """The array reports the transfer of reads only: what writes spend before its clock is not known, and not none."""
    san = San(tmp_path / "a", guest_queue_depth=None)
    san.ports = [fast(port) for port in san.ports]
    for n in (16, 64):
        flow = Flow(8000, n / 16000)
        counted = 8000 * (4 * 2076.0 + 52)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=flow,
            write=flow,
            ports={port.name: (counted, counted) for port in san.ports},
            disk={"read": flow, "write": flow},
            array={"read": AtArray(0.0003, san=0.0001), "write": AtArray(0.0003)},
        )
    against = [words for suspect in judged(san.write()).verdict.suspects for words in suspect.against]
    assert not [words for words in against if "spend" in words]


def test_what_serves_ios_at_a_rate_takes_a_time_for_each_even_alone(tmp_path: Path) -> None:
    """Only 3,500 a second, with 64 outstanding and with 128; the array takes 1 ms for each. Whatever serves one
    every 286 µs needs as long for one that is alone; a queue does not. With two outstanding, an I/O spends 60 µs
    outside the array, or 340."""

    def of_others(alone_seconds: float) -> float:
        steps = [(2, 2 / (1e-3 + alone_seconds)), (64, 3_500.0), (128, 3_500.0)]
        found = read_steps(tmp_path / f"{alone_seconds}", steps, AtArray(1e-3, san=ON_WIRE), software=1e-6)
        return likelihood(found, "cannot_tell")

    assert of_others(6e-5) < of_others(3.4e-4) / 3


def test_what_delays_one_direction_alone_is_no_place_of_both(tmp_path: Path) -> None:
    """Below the machine's disk writes take 18 ms, and reads 0.9 ms or as long: adapter, driver and links with room
    serve both alike, an array need not. Nobody reads the array's times."""

    def of_array(name: str, read_seconds: float) -> float:
        san = San(tmp_path / name, leave_out={"array_samples"}, guest_queue_depth=None)
        san.ports = [fast(port) for port in san.ports]
        for part in (0.5, 1.0):
            flows = {"read": Flow(6500, part * read_seconds), "write": Flow(6500, part * 0.018)}
            counted = 6500 * (4 * 2076.0 + 52)
            san.step(
                f"q{part}",
                round(sum(flow.ops * flow.latency for flow in flows.values())),
                block=8 * KIB,
                read=flows["read"],
                write=flows["write"],
                ports={port.name: (counted, counted) for port in san.ports},
                disk=flows,
                seconds=30,
            )
        return likelihood(judged(san.write()), "bottleneck", "array:fa1")

    one, both = of_array("one", 0.0009), of_array("both", 0.018)
    assert one > max(0.8, both + 0.05)


def test_a_service_time_that_grows_with_the_ios_inside_is_a_wait(tmp_path: Path) -> None:
    """128 of the disk's 128 slots are in use, and as many I/Os wait above. The array takes 1.9 times as long for 128
    as for 64: they wait for what is behind its controllers, although its own queue is empty."""
    arrays = [AtArray(n, san=ON_WIRE) for n in (0.0026, 0.005, 0.005)]
    san = San(tmp_path / "a", guest_queue_depth=128)
    san.ports = [fast(port) for port in san.ports]
    for (n, ops), array in zip([(64, 23_500.0), (128, 24_700.0), (256, 24_700.0)], arrays, strict=True):
        counted = ops * (4 * 2076 + 52)
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(ops, n / ops),
            ports={port.name: (counted, NOTHING) for port in san.ports},
            disk={"read": Flow(ops, min(128, n) / ops)},
            array={"read": array},
            seconds=30,
        )
    assert [bottleneck.entity for bottleneck in judged(san.write()).verdict.bottlenecks] == ["array:fa1"]


def mixed(folder: Path, media: str | None, ops: float, of_reads: float, of_writes: float) -> Diagnosis:
    """The diagnosis of one step with as many reads as writes; the array's own queue holds none of them."""
    san = San(folder, guest_queue_depth=None, leave_out={"disk"}, array_media=media)
    san.ports = [fast(port) for port in san.ports]
    flows = {"read": Flow(ops, of_reads + 1e-4), "write": Flow(ops, of_writes + 1e-4)}
    counted = ops * (4 * 2076.0 + 52)
    san.step(
        "mixed",
        round(sum(flow.ops * flow.latency for flow in flows.values())),
        block=8 * KIB,
        read=flows["read"],
        write=flows["write"],
        ports={port.name: (counted, counted) for port in san.ports},
        array={"read": AtArray(of_reads, san=ON_WIRE), "write": AtArray(of_writes, san=ON_WIRE)},
        seconds=30,
    )
    return judged(san.write())


@pytest.mark.parametrize("seconds", [0.009, 0.025])
def test_writes_need_no_longer_than_the_reads_beside_them(tmp_path: Path, seconds: float) -> None:
    """An array acknowledges writes from its cache. Where its reads are fast, its media do not explain slow writes."""
    fast_reads, slow_reads = (
        likelihood(mixed(tmp_path / name, None, 5000, of_reads, seconds), "bottleneck", "array:fa1")
        for name, of_reads in (("fast", 0.0005), ("slow", seconds))
    )
    assert fast_reads > slow_reads + 0.1


@pytest.mark.parametrize("media", ["flash", None])
@pytest.mark.parametrize(("ops", "seconds"), [(40_000, 0.005), (20_000, 0.007), (5_000, 0.009)])
def test_a_mirror_makes_writes_take_far_longer_than_reads(
    tmp_path: Path, media: str | None, ops: float, seconds: float
) -> None:
    """The other array of a synchronous mirror is 5 to 9 ms away; without a second step that is no saturated array."""
    assert mixed(tmp_path / "a", media, ops, 0.0004, seconds).verdict.kind == "cannot_tell"
