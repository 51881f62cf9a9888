"""Each I/O of a host counts once, whatever stands on what, where names and bytes are all that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanpath.facts.load.host_loads import busiest_devices, host_loads
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

Figures = tuple[float, float, float, float]
"""Reads and writes a second of a device, of 4 KiB, and seconds of each read and write."""
BLOCK = 4096.0
RATES = st.floats(300, 3000)


def host(devices: Mapping[str, Figures], parts: Sequence[tuple[str, str]] = ()) -> tuple[Topology, list[StepSamples]]:
    """A host with these devices. `parts`: (lower, upper), where a source says so. A name with "=" is a map's."""
    inventory: list[tuple[str, int, SourceEntity | SourceLink]] = [("h", 0, SourceEntity("host", "h", "h"))]
    samples = []
    for name, (reads, writes, read_seconds, write_seconds) in devices.items():
        attributes = {"map": name} if "=" in name else {}
        inventory += [
            ("h", 0, SourceEntity("lun", name, f"h/{name}", {"device": (name,)}, attributes)),
            ("h", 0, SourceLink("attached_to", ("lun", name), ("host", "h"), "/sys")),
        ]
        rates = {
            "ops_read_total": reads,
            "ops_write_total": writes,
            "bytes_read_total": reads * BLOCK,
            "bytes_write_total": writes * BLOCK,
            "latency_seconds_read_total": reads * read_seconds,
            "latency_seconds_write_total": writes * write_seconds,
        }
        windows = {counter: [rate, rate] for counter, rate in rates.items()}
        samples.append(StepSamples("h", name, "s", seconds=[1.0, 1.0], ended_us=[1, 2], rates=windows))
    links = [("h", 0, SourceLink("member_of", ("lun", lower), ("lun", upper), "slaves")) for lower, upper in parts]
    return resolve([*inventory, *links]), samples


def loads(devices: Mapping[str, Figures], parts: Sequence[tuple[str, str]] = ()) -> dict[str, LoadFacts]:
    topology, samples = host(devices, parts)
    return {load.direction: load for load in host_loads(topology, {"lun": samples})}


def ios(devices: Mapping[str, Figures], parts: Sequence[tuple[str, str]] = ()) -> tuple[float, float]:
    """Reads and writes a second of the load."""
    found = loads(devices, parts)
    return tuple(found[each].ops_per_second if each in found else 0.0 for each in ("read", "write"))  # type: ignore[return-value]


@given(
    st.sampled_from([(2, 2.0, 0.0), (4, 2.0, 0.0), (3, 2.0, 2.0), (4, 2.0, 2.0), (5, 1.25, 0.0), (6, 3.0, 3.0)]),
    st.floats(0, 2000),
    RATES,
    RATES,
)
def test_the_ios_of_software_raid_are_the_load_whatever_its_members_do(
    array: tuple[int, float, float], reads: float, writes: float, others: float
) -> None:
    """Mirrors of two and four disks, small and full writes of RAID 5, small ones of RAID 6, beside a plain disk."""
    count, copies, parity_reads = array
    member = (reads + parity_reads * writes) / count, copies * writes * 1.01 / count
    disks = {f"sd{letter}": (*member, 0.004, 0.006) for letter in "bcdefg"[:count]}
    own = (others, 0.0, 0.05, 0.0)
    assert ios({"sda": own, **disks, "md0": (reads, writes, 0.005, 0.011)}) == pytest.approx((reads + others, writes))


@given(RATES, RATES)
def test_a_disk_beside_a_volume_counts_whatever_both_do(volume: float, disk: float) -> None:
    """The plain disk is slow: it would be missed."""
    at_volume, at_disk = (volume, 0.0, 0.00102, 0.0), (disk, 0.0, 0.05, 0.0)
    devices = {"sda": (volume, 0.0, 0.001, 0.0), "sdb": at_disk, "dm-0": at_volume}
    load = loads(devices)["read"]
    assert load.ops_per_second == pytest.approx(volume + disk)
    assert load.in_flight_measured == pytest.approx(0.00102 * volume + 0.05 * disk)


@given(RATES, st.floats(0.3, 3))
def test_what_a_source_says_of_the_parts_and_what_bytes_tell_give_the_same_load(volume: float, ratio: float) -> None:
    figures = (volume, volume / 2, 0.001, 0.002)
    devices = {"sda": figures, "sdb": (ratio * volume, 0.0, 0.03, 0.0), "dm-0": figures}
    assert ios(devices) == pytest.approx(ios(devices, [("sda", "dm-0")]))


@given(RATES, RATES)
def test_a_stack_of_several_levels_counts_at_its_top(one: float, other: float) -> None:
    """Two volumes of LVM on a mirror of two disks, of which one volume is a map over another."""
    writes = one + other
    devices: dict[str, Figures] = {
        **dict.fromkeys(("sda", "sdb"), (0.0, writes * 1.005, 0.0, 0.002)),
        "md0": (0.0, writes, 0.0, 0.003),
        "dm-0": (0.0, one, 0.0, 0.003),
        "dm-1": (0.0, other, 0.0, 0.003),
    }
    assert ios(devices) == pytest.approx((0.0, writes))


@given(RATES, st.integers(2, 4), st.integers(1, 4))
def test_maps_over_their_paths_count_and_not_the_paths(reads: float, paths: int, maps: int) -> None:
    devices: dict[str, Figures] = {"sda": (10.0, 5.0, 0.001, 0.001)}
    for number in range(maps):
        rate = reads * (1 + number)
        devices[f"dm-{number}"] = (rate, 0.0, 0.0021, 0.0)
        devices |= {f"sd{'bcde'[number]}{'abcd'[path]}": (rate / paths, 0.0, 0.002, 0.0) for path in range(paths)}
    reads_in_all, writes = ios(devices)
    assert reads_in_all == pytest.approx(reads * sum(range(1, maps + 1)) + 10)
    assert writes == pytest.approx(5)


@given(st.floats(0.1, 0.9), RATES)
def test_thin_volumes_count_once_with_their_pool(first: float, reads: float) -> None:
    """iostat -N: two thin volumes, the pool, its data and its metadata, all over one disk."""
    whole = (reads, reads / 3, 0.001, 0.002)
    devices: dict[str, Figures] = {
        "sdb": (reads, reads / 3 + 50, 0.001, 0.002),
        "pool=tmeta": (0.0, 50.0, 0.0, 0.0005),
        "pool=tdata": whole,
        "pool=": whole,
        "thin=1": (first * reads, first * reads / 3, 0.0011, 0.0021),
        "thin=2": ((1 - first) * reads, (1 - first) * reads / 3, 0.0011, 0.0021),
    }
    assert ios(devices) == pytest.approx((reads, reads / 3), abs=51)


@given(st.floats(0, 0.04), RATES)
def test_a_volume_that_idles_says_nothing_of_the_rest_of_its_disk(share: float, reads: float) -> None:
    devices = {"sda": (reads, 0.0, 0.001, 0.0), "dm-0": (share * reads, 0.0, 0.001, 0.0)}
    assert ios(devices)[0] == pytest.approx(reads)


@pytest.mark.parametrize("parts", [(), (("nvme0n1", "md0"), ("nvme1n1", "md0"))], ids=["by bytes", "by links"])
def test_ios_that_the_kernel_does_not_time_take_as_long_as_those_below(parts: Sequence[tuple[str, str]]) -> None:
    """Older kernels time no I/O of md. Two of md's are merged to one of a member."""
    topology, samples = host({"nvme0n1": (0, 1000, 0, 0.002), "nvme1n1": (0, 1000, 0, 0.001), "md0": (0, 2000, 0, 0)})
    for sample in samples[:2]:
        sample.rates["ops_write_total"] = [500.0, 500.0]
        sample.rates["latency_seconds_write_total"] = [
            each / 2 for each in sample.rates["latency_seconds_write_total"]
        ]
    topology = host({"nvme0n1": (0, 0, 0, 0), "nvme1n1": (0, 0, 0, 0), "md0": (0, 0, 0, 0)}, parts)[0]
    (load,) = host_loads(topology, {"lun": samples})
    assert (load.ops_per_second, load.latency_seconds) == (pytest.approx(2000), pytest.approx(0.0015))
    (device,) = busiest_devices(topology, "lun", samples)
    assert device.rates["latency_seconds_write_total"] == pytest.approx([3.0, 3.0])


def test_a_device_that_two_sources_read_counts_once() -> None:
    topology, samples = host({"sda": (1000, 0, 0.001, 0)})
    topology.known_as["other", "lun", "sda"] = topology.known_as["h", "lun", "sda"]
    other = StepSamples("other", "sda", "s", seconds=[2.0], ended_us=[2], rates={"ops_read_total": [990.0]})
    (load,) = host_loads(topology, {"lun": [*samples, other]})
    assert load.ops_per_second == pytest.approx(1000)


def test_a_host_with_many_maps_counts_each_io_once() -> None:
    """64 multipath maps with four paths each, whose figures often are alike."""
    devices: dict[str, Figures] = {}
    for number in range(64):
        reads = 300.0 + 11 * number
        devices[f"dm-{number}"] = (reads, 0.0, 0.002, 0.0)
        devices |= {f"sd{number}x{path}": (reads / 4, 0.0, 0.002, 0.0) for path in range(4)}
    of_maps = sum(reads for name, (reads, *_) in devices.items() if name.startswith("dm-"))
    topology, samples = host(devices)
    (load,) = host_loads(topology, {"lun": samples})
    assert load.ops_per_second == pytest.approx(of_maps, rel=0.01)
