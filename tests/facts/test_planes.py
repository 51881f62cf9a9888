"""Latencies at the clocks of a host: what a mean over both directions says of each, and whose clocks count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanpath.facts.devices import planes
from sanpath.facts.devices.plane_rows import plane_rows
from sanpath.facts.devices.planes import devices_of_load, parallel_devices, planes_of, with_latency_of_direction
from sanpath.facts.load.host_loads import host_loads
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.table import FactTable
from sanpath.model import Scalar, SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

RATES = st.floats(1.0, 1e5)
SECONDS = st.floats(5e-5, 0.05)
LATENCY = "latency_seconds_read_total"
UNITS = {"ops_read_total": 1.0, "bytes_read_total": 4096.0, LATENCY: 0.001}


@given(reads=RATES, writes=RATES, read_seconds=SECONDS, ratio=st.floats(0.1, 10.0))
def test_a_mean_over_both_directions_bounds_each_of_them(
    reads: float, writes: float, read_seconds: float, ratio: float
) -> None:
    """esxtop and others give one latency of a LUN for reads and writes together."""
    latencies = {"read": read_seconds, "write": read_seconds * ratio}
    mean = (reads * latencies["read"] + writes * latencies["write"]) / (reads + writes)
    sample = StepSamples(
        "top",
        "esx1/naa.1",
        "step",
        seconds=[1.0],
        rates={"ops_read_total": [reads], "ops_write_total": [writes]},
        means={"device_seconds_mean": mean},
    )
    rows = {str(row["direction"]): row for row in plane_rows(resolve(()), {"lun": [sample]}, {"lun": {}})}
    for direction, seconds in latencies.items():
        row = rows[direction]
        latency, error = row["latency_seconds"], row["resolution_seconds"]
        assert isinstance(latency, float)
        assert isinstance(error, float)
        assert latency - error <= seconds * (1 + 1e-9)
        assert seconds <= (latency + error) * (1 + 1e-9)


@given(reads=RATES, seconds=SECONDS)
def test_a_mean_is_exact_where_all_ios_have_one_direction(reads: float, seconds: float) -> None:
    sample = StepSamples(
        "top",
        "esx1/naa.1",
        "step",
        seconds=[1.0],
        rates={"ops_read_total": [reads], "ops_write_total": [0.0]},
        means={"device_seconds_mean": seconds},
    )
    (row,) = plane_rows(resolve(()), {"lun": [sample]}, {"lun": {}})
    assert row["latency_seconds"] == seconds
    assert row["resolution_seconds"] == 0


@given(reads=RATES, writes=RATES, read_seconds=SECONDS, ratio=st.floats(0.1, 10.0), wait=st.floats(0.0, 0.1))
def test_queues_that_do_not_tell_reads_from_writes_narrow_it(
    reads: float, writes: float, read_seconds: float, ratio: float, wait: float
) -> None:
    """Above the device reads and writes wait equally long, and a clock up there tells them apart."""
    times = {"read": read_seconds, "write": read_seconds * ratio}
    rates = {"read": reads, "write": writes}
    mean = sum(rates[d] * times[d] for d in rates) / sum(rates.values())
    sample = StepSamples(
        "top",
        "esx1/naa.1",
        "step",
        seconds=[1.0],
        rates={f"ops_{d}_total": [rate] for d, rate in rates.items()},
        means={"device_seconds_mean": mean},
    )
    above = {d: {"ops_per_second": rates[d], "latency_seconds": times[d] + wait} for d in rates}
    for row in plane_rows(resolve(()), {"lun": [sample]}, {"lun": {}}):
        d = str(row["direction"])
        narrowed = with_latency_of_direction(row, above[d], above["write" if d == "read" else "read"])
        latency, error = narrowed["latency_seconds"], narrowed["resolution_seconds"]
        assert isinstance(latency, float)
        assert isinstance(error, float)
        assert latency - error <= times[d] * (1 + 1e-9)
        assert times[d] <= (latency + error) * (1 + 1e-9)
        assert isinstance(row["resolution_seconds"], float)
        assert error <= row["resolution_seconds"] * (1 + 1e-9)


def test_a_counter_of_time_that_stands_still_is_no_clock() -> None:
    """md before Linux 5.9 counts I/Os and no time: they did not take 0 s."""
    sample = StepSamples("db1", "md0", "step", seconds=[1.0], rates={"ops_read_total": [1e3], LATENCY: [0.0]})
    assert not list(plane_rows(resolve(()), {"lun": [sample]}, {"lun": {}}))


def test_a_coarse_clock_that_ran_in_another_step_reads_0_s() -> None:
    still, moving = (
        StepSamples("db1", "sda", step, seconds=[1.0], rates={"ops_read_total": [1e3], LATENCY: [seconds]})
        for step, seconds in (("a", 0.0), ("b", 0.01))
    )
    rows = list(plane_rows(resolve(()), {"lun": [still, moving]}, {"lun": {}}))
    assert [(row["step"], row["latency_seconds"]) for row in rows] == [("a", 0.0), ("b", 1e-5)]


READS = 1000.0
"""Reads a second of the lower device sda, of 4 KiB and 1 ms each."""


def stacked(above: float) -> tuple[Topology, list[StepSamples]]:
    """The device dm-0 on sda of the host db1, with this many times its reads."""
    at_host = ("host", "db1")
    topology = resolve(
        [
            ("fio", 0, SourceEntity("load", "fio", "fio")),
            ("config", 0, SourceLink("runs_on", ("load", "fio"), at_host, "sanpath.yaml")),
            ("db1", 0, SourceEntity(*at_host, "db1")),
            *(("db1", 0, SourceEntity("lun", name, f"db1/{name}")) for name in ("sda", "dm-0")),
            *(("db1", 0, SourceLink("attached_to", ("lun", name), at_host, "/sys")) for name in ("sda", "dm-0")),
            ("db1", 0, SourceLink("member_of", ("lun", "sda"), ("lun", "dm-0"), "slaves")),
        ]
    )
    return topology, [
        StepSamples("db1", name, "s", seconds=[1.0], rates={each: [reads * unit] for each, unit in UNITS.items()})
        for name, reads in (("sda", READS), ("dm-0", above * READS))
    ]


@pytest.mark.parametrize(
    ("above", "reads"),
    [(1.0, READS), (0.25, 0.25 * READS), (0.01, 1.01 * READS)],
    ids=["multipath map", "volume with copies", "idle volume"],
)
def test_a_device_counts_for_its_host_unless_a_device_above_it_moves_its_bytes(above: float, reads: float) -> None:
    topology, samples = stacked(above)
    (load,) = host_loads(topology, {"lun": samples})
    assert (load.entity, load.ops_per_second) == ("host:db1", pytest.approx(reads))


def test_busy_hosts_are_one_load_and_an_idle_one_is_not_part_of_it() -> None:
    """Three hosts without a generator: two read, at 1 ms and at 3 ms, and the third is next to idle."""
    inventory: list[tuple[str, int, SourceEntity | SourceLink]] = []
    samples = []
    for host, reads, latency in (("db1", READS, 0.001), ("db2", READS, 0.003), ("db3", READS / 100, 0.001)):
        inventory += [
            (host, 0, SourceEntity("host", host, host)),
            (host, 0, SourceEntity("lun", "sda", f"{host}/sda")),
            (host, 0, SourceLink("attached_to", ("lun", "sda"), ("host", host), "/sys")),
        ]
        rates = {"ops_read_total": [reads], "bytes_read_total": [reads * 4096], LATENCY: [reads * latency]}
        samples.append(StepSamples(host, "sda", "s", seconds=[1.0], rates=rates))
    (load,) = host_loads(resolve(inventory), {"lun": samples})
    assert (load.entity, load.ops_per_second) == ("load:db1+db2", 2 * READS)
    assert load.latency_seconds == pytest.approx(0.002)


def test_devices_that_were_there_for_a_moment_did_nothing_in_the_rest_of_the_step() -> None:
    """Ten reports: a disk in all, and ten volumes of containers, each in one of them."""
    names = ["sda", *(f"sd{letter}" for letter in "bcdefghijk")]
    inventory: list[tuple[str, int, SourceEntity | SourceLink]] = [("h", 0, SourceEntity("host", "h", "h"))]
    samples = []
    for number, name in enumerate(names):
        inventory += [
            ("h", 0, SourceEntity("lun", name, f"h/{name}")),
            ("h", 0, SourceLink("attached_to", ("lun", name), ("host", "h"), "/sys")),
        ]
        ended_us = list(range(1, 11)) if number == 0 else [number]
        rates = {each: [READS * unit] * len(ended_us) for each, unit in UNITS.items()}
        samples.append(StepSamples("h", name, "s", seconds=[1.0] * len(ended_us), ended_us=ended_us, rates=rates))
    (load,) = host_loads(resolve(inventory), {"lun": samples})
    assert (load.ops_per_second, load.windows) == (pytest.approx(2 * READS), 10)
    assert load.in_flight_measured == pytest.approx(2 * READS * UNITS[LATENCY])


@pytest.mark.parametrize(
    ("above", "counted", "carrying"),
    [(1.0, {"lun:db1/dm-0"}, "lun:db1/dm-0"), (0.01, {"lun:db1/sda", "lun:db1/dm-0"}, "lun:db1/sda")],
    ids=["multipath map", "idle volume"],
)
def test_the_clock_of_a_load_is_that_of_the_upper_device_unless_it_idles(
    above: float, counted: set[str], carrying: str
) -> None:
    topology, samples = stacked(above)
    planes = FactTable(tuple(plane_rows(topology, {"lun": samples}, {"lun": {}})))
    load = LoadFacts(("load:fio",), "s", "read", 9, READS, READS * 4096, 0.001, None, 1.0, None)
    assert {row["entity"] for row in parallel_devices(topology, load, planes, "guest_block")} == counted
    assert [row["entity"] for row in planes_of(topology, load, planes)] == [carrying]


@pytest.mark.parametrize(
    ("serial", "devices"),
    [
        ("DATA", {"lun:db1/vdb", "vdisk:db1/data"}),
        ("", {"lun:db1/vdb", "vdisk:db1/data", "vdisk:db1/boot", "lun:kvm1/sda"}),
    ],
    ids=["known", "not known"],
)
def test_a_machine_s_other_disks_carry_none_of_the_load_where_its_own_is_known(
    serial: str, devices: set[str]
) -> None:
    """The data disk is a network volume; the boot disk is on sda of the hypervisor."""
    guest, vm, boot = ("host", "db1"), ("vm", "db1"), ("vdisk", "db1/boot")
    topology = resolve(
        [
            ("qemu", 0, SourceEntity("host", "kvm1", "kvm1", {"name": ("kvm1",)})),
            ("qemu", 0, SourceEntity(*vm, "db1", {"name": ("db1",)})),
            ("qemu", 0, SourceLink("runs_on", vm, ("host", "kvm1"), "a process")),
            ("qemu", 0, SourceEntity("vdisk", "db1/data", "db1/data", attributes={"serial": "DATA"})),
            ("qemu", 0, SourceEntity(*boot, "db1/boot")),
            ("qemu", 0, SourceLink("attached_to", ("vdisk", "db1/data"), vm, "a device")),
            ("qemu", 0, SourceLink("attached_to", boot, vm, "a device")),
            ("qemu", 0, SourceLink("backed_by", boot, ("lun", "kvm1/sda"), "its data")),
            ("kvm1", 0, SourceEntity("lun", "sda", "kvm1/sda")),
            ("db1", 0, SourceEntity(*guest, "db1")),
            ("db1", 0, SourceEntity("lun", "vdb", "db1/vdb", {"device": ("vdb",)}, {"serial": serial})),
            ("db1", 0, SourceLink("attached_to", ("lun", "vdb"), guest, "/sys")),
            ("fio", 0, SourceEntity("load", "fio", "fio")),
            ("fio", 0, SourceLink("runs_on", ("load", "fio"), vm, "sanpath.yaml")),
        ]
    )
    load = LoadFacts(
        roots=("load:fio",),
        step="s",
        direction="read",
        windows=5,
        ops_per_second=READS,
        bytes_per_second=4096 * READS,
        latency_seconds=0.001,
        in_flight_configured=1,
        in_flight_measured=1.0,
        cpu_ratio=None,
    )
    assert devices_of_load(topology, load) == devices


@pytest.mark.parametrize(
    ("slow", "seconds", "other", "devices"),
    [(0.03, 0.03, "db1", 2), (0.001, 0.001, "db1", None), (0.01, 0.1, "db1", None), (0.01, 0.1, "db2", 2)],
    ids=["what is lacking", "an idle disk", "as little as windows differ", "the disk of another machine of the load"],
)
def test_a_slow_disk_that_moves_little_is_the_load_s_where_the_others_lack_it(
    slow: float, seconds: float, other: str, devices: int | None
) -> None:
    """A slow disk moves little: the other one alone moves nearly what the load does."""
    inventory: list[tuple[str, int, SourceEntity | SourceLink]] = [("fio", 0, SourceEntity("load", "fio", "fio"))]
    samples = []
    for machine, disk, share, latency in (("db1", "sda", 1 - max(slow, 0.01), 0.001), (other, "sdb", slow, seconds)):
        job = ("load", f"fio/{machine}")
        inventory += [
            ("fio", 0, SourceEntity(*job, job[1])),
            ("fio", 0, SourceLink("member_of", job, ("load", "fio"), "fio job")),
            ("fio", 0, SourceLink("runs_on", job, ("host", machine), "fio --client")),
            (machine, 0, SourceEntity("host", machine, machine, {"name": (machine,)})),
            (machine, 0, SourceEntity("lun", disk, f"{machine}/{disk}")),
            (machine, 0, SourceLink("attached_to", ("lun", disk), ("host", machine), "/sys")),
        ]
        rate = share * READS
        rates = {"ops_read_total": [rate], "bytes_read_total": [4096 * rate], LATENCY: [rate * latency]}
        samples.append(StepSamples(machine, disk, "s", seconds=[1.0], rates=rates))
    topology = resolve(inventory)
    planes = FactTable(tuple(plane_rows(topology, {"lun": samples}, {"lun": {}})))
    load = LoadFacts(("load:fio",), "s", "read", 9, READS, READS * 4096, 0.002, None, 0.002 * READS, None)
    (row,) = planes_of(topology, load, planes)
    assert row.get("devices") == devices


@pytest.mark.parametrize(
    ("attributes", "is_over_network"),
    [
        ({"over_network": True, "ioengine": "nbd"}, True),
        ({"over_network": False, "ioengine": "libaio"}, False),
        ({"over_network": True}, True),
        ({"ioengine": "libiscsi"}, True),
        ({"ioengine": "libaio"}, False),
        ({}, False),
    ],
)
def test_a_job_says_whether_it_uses_block_devices_and_of_older_recordings_its_engine_does(
    attributes: dict[str, Scalar], is_over_network: bool
) -> None:
    assert planes._is_over_network(attributes) == is_over_network
