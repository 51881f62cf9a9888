"""I/Os that are split on their path, or merged: the array's clock tells of the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.devices.planes import planes_of
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.storage.load_volumes import parts_at_array
from sanpath.facts.table import FactTable, number
from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

MIB = 1024 * KIB


def load(size: float) -> LoadFacts:
    return LoadFacts(("load:fio",), "s", "read", 9, 1000.0, 1000.0 * size, 0.016, 16.0, 16.0, None)


@pytest.mark.parametrize(
    ("size", "at_array", "foreign", "parts"),
    [
        (MIB, MIB, 0.0, 1.0),
        (MIB, 512 * KIB, 0.0, 2.0),
        (4 * MIB, 512 * KIB, 0.0, 8.0),
        (8 * KIB, 64 * KIB, 0.0, 1.0),
        (64 * KIB, 44 * KIB, 0.0, None),
        (MIB, 512 * KIB, 0.3, None),
    ],
    ids=["whole", "halves", "eighths", "merged", "no whole ratio", "others as well"],
)
def test_the_parts_of_an_io_follow_from_the_sizes_at_both_ends(
    size: float, at_array: float, foreign: float, parts: float | None
) -> None:
    row = {"bytes_per_second": 1000.0 * size, "ops_per_second": 1000.0 * size / at_array, "foreign_ratio": foreign}
    assert parts_at_array(load(size), row) == parts


@pytest.mark.parametrize(
    ("bytes_counted", "parts", "bounds"),
    [
        (True, 1.0, (0.004, 0.004)),
        (True, 3.0, (0.004, 0.012)),
        (True, 16.0, (0.004, 0.016)),
        (False, 1.0, (0.004, 0.004)),
        (False, 16.0, None),
    ],
)
def test_a_device_that_does_a_multiple_of_the_ios_times_parts_of_them(
    bytes_counted: bool, parts: float, bounds: tuple[float, float] | None
) -> None:
    """An I/O takes at least as long as one of its parts, and at most as long as all of them. Without bytes, more I/Os
    may also be others'."""
    topology = resolve(
        [
            ("fio", 0, SourceEntity("load", "fio", "fio")),
            ("fio", 0, SourceEntity("lun", "nvme0n1", "nvme0n1")),
            ("fio", 0, SourceLink("targets", ("load", "fio"), ("lun", "nvme0n1"), "fio disk_util")),
        ]
    )
    row = {
        **{"entity": topology.known_as["fio", "lun", "nvme0n1"], "step": "s", "direction": "read", "windows": 9},
        **{"plane": "guest_block", "ops_per_second": parts * 1000.0, "latency_seconds": 0.004},
        **{"resolution_seconds": 0.0, "mean_of_both_seconds": None, "queue_depth": None},
        "in_flight_measured": parts * 4,
        "bytes_per_second": 1000.0 * 2 * MIB if bytes_counted else None,
    }
    found = planes_of(topology, load(2 * MIB), FactTable((row,)))
    times = [(number(each, "latency_seconds"), number(each, "resolution_seconds")) for each in found]
    assert [(mean - error, mean + error) for mean, error in times] == [pytest.approx(bounds)] * (bounds is not None)


@pytest.mark.parametrize("layers", [("guest_block", "windows_disk"), ("windows_disk", "guest_block")])
@pytest.mark.parametrize("first", [0.6, 0.9, 0.96, 0.99])
@pytest.mark.parametrize("parts", [1.0, 3.0, 16.0])
@pytest.mark.parametrize("bytes_counted", [True, False])
def test_the_block_layers_of_unlike_hosts_are_one_plane(
    layers: tuple[str, str], first: float, parts: float, bytes_counted: bool
) -> None:
    """Whatever parts the I/Os are split into, the hosts have the rows of hosts of one system. `first`: share of the
    first host."""
    unlike, alike = (
        planes_of(*hosts_with(names, (first, 1 - first), parts, bytes_counted=bytes_counted))
        for names in (layers, ("guest_block", "guest_block"))
    )
    assert [row["entity"] for row in unlike] == [row["entity"] for row in alike]
    assert len({row["entity"] for row in unlike}) == len(unlike) <= 1, "one clock for each place"
    of_unlike, of_alike = (
        [number(row, name) for row in rows for name in ("latency_seconds", "resolution_seconds")]
        for rows in (unlike, alike)
    )
    assert of_unlike == pytest.approx(of_alike)


def hosts_with(
    layers: Sequence[str], shares: Sequence[float], parts: float, *, bytes_counted: bool
) -> tuple[Topology, LoadFacts, FactTable]:
    """A load of one fio on each host, which reads a device of its own."""
    items: list[tuple[str, int, SourceEntity | SourceLink]] = []
    for host in (f"db{n}" for n in range(len(layers))):
        kinds = [("load", f"{host}/fio"), ("host", host), ("lun", f"{host}/sda")]
        load_end, host_end, lun_end = kinds
        items += [(host, 0, SourceEntity(kind, name, name)) for kind, name in kinds]
        for relation, one, other in (
            ("runs_on", load_end, host_end),
            ("targets", load_end, lun_end),
            ("attached_to", lun_end, host_end),
        ):
            items.append((host, 0, SourceLink(relation, one, other, "declared")))
    topology = resolve(items)
    roots = tuple(topology.known_as[f"db{n}", "load", f"db{n}/fio"] for n in range(len(layers)))
    row = {"step": "s", "direction": "read", "windows": 9, "latency_seconds": 0.004, "resolution_seconds": 0.0}
    rows = [
        {
            **{**row, "mean_of_both_seconds": None, "queue_depth": None, "plane": plane},
            "entity": topology.known_as[f"db{n}", "lun", f"db{n}/sda"],
            "ops_per_second": share * parts * 1000.0,
            "in_flight_measured": share * parts * 4,
            "bytes_per_second": share * 1000.0 * 2 * MIB if bytes_counted else None,
        }
        for n, (plane, share) in enumerate(zip(layers, shares, strict=True))
    ]
    return topology, replace(load(2 * MIB), roots=roots), FactTable(tuple(rows))


@pytest.mark.parametrize("devices", [2, 3, 4, 5])
@pytest.mark.parametrize("parts", [2.0, 2.8, 4.0, 4.9])
@pytest.mark.parametrize("skew", [0.0, 0.3])
def test_one_of_several_devices_never_stands_for_a_load_whose_ios_they_split(
    devices: int, parts: float, skew: float
) -> None:
    """Where each I/O is as many as there are devices, each does about as many as the load. Bytes are not counted."""
    names = [f"sd{letter}" for letter in "abcdefgh"[:devices]]
    links = (SourceLink("targets", ("load", "fio"), ("lun", name), "fio disk_util") for name in names)
    entities = [SourceEntity("load", "fio", "fio"), *(SourceEntity("lun", name, name) for name in names)]
    topology = resolve(("fio", 0, item) for item in [*entities, *links])
    shares = [1 + skew * (2 * number / (devices - 1) - 1) for number in range(devices)]
    rows = [
        {
            **{"entity": topology.known_as["fio", "lun", name], "step": "s", "direction": "read", "windows": 1},
            **{"plane": "guest_block", "ops_per_second": share * parts * 1000.0 / devices, "latency_seconds": 0.014},
            **{
                "resolution_seconds": 0.0,
                "mean_of_both_seconds": None,
                "queue_depth": None,
                "bytes_per_second": None,
            },
            "in_flight_measured": share * parts * 14 / devices,
        }
        for name, share in zip(names, shares, strict=True)
    ]
    (found,) = planes_of(topology, load(2 * MIB), FactTable(tuple(rows)))
    assert found["devices"] == devices
    mean, error = number(found, "latency_seconds"), number(found, "resolution_seconds")
    assert (mean - error, mean + error) == (pytest.approx(0.014), pytest.approx(0.016))
    assert number(found, "in_flight_measured") <= 16.0


def split(folder: Path, queue: float) -> Diagnosis:
    """16 reads of 1 MiB outstanding, each two of 512 KiB at the array, which serves them in 6 ms after a queue."""
    san = San(folder, ports=[fast(port, 32) for port in (HOST_PORT, ARRAY_PORT)], leave_out={"disk"})
    ops = 16 / (0.007 + queue)
    counted = (ops * MIB * 1.03, NOTHING)
    inside = AtArray(0.006, queue=queue, ops=2 * ops)
    san.step(
        "s",
        16,
        block=MIB,
        read=Flow(ops, 16 / ops),
        ports={HOST_PORT.name: counted, ARRAY_PORT.name: counted},
        array={"read": inside},
    )
    return judged(san.write())


def test_a_queue_of_the_array_is_found_though_each_io_is_two_there(tmp_path: Path) -> None:
    verdict = split(tmp_path, 0.021).verdict
    assert [bottleneck.entity for bottleneck in verdict.bottlenecks] == ["array:fa1"]
