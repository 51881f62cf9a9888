"""The load's bytes at the ends of its paths, by the block devices of the paths."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sanpath.facts.fabric.path_bytes import bytes_of_paths
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

Item = SourceEntity | SourceLink
PORTS = ("0", "1")


def reported(without_target: str = "") -> Iterator[tuple[str, Item]]:
    """Host db1 has a map with two paths, each from an interface of its own to a target port of its own."""
    yield "fio", SourceEntity("load", "fio", "fio")
    yield "fio", SourceLink("runs_on", ("load", "fio"), ("host", "db1"), "by hand")
    yield "db1", SourceEntity("host", "db1", "db1", {"name": ("db1",)})
    yield "db1", SourceEntity("lun", "dm-0", "db1/dm-0", {"device": ("dm-0",)})
    yield "db1", SourceLink("attached_to", ("lun", "dm-0"), ("host", "db1"), "diskstats")
    yield "fa1", SourceEntity("array", "fa1", "fa1")
    for n in PORTS:
        yield "fa1", SourceEntity("array_port", n, n, {"ip": (f"10.0.0.{n}",)})
        yield "fa1", SourceLink("member_of", ("array_port", n), ("array", "fa1"), "ports")
        yield "db1", SourceEntity("hba", f"eth{n}", f"db1/eth{n}", {"ip": (f"10.0.1.{n}",)})
        yield "db1", SourceLink("attached_to", ("hba", f"eth{n}"), ("host", "db1"), "net")
        yield "db1", SourceEntity("lun", f"sd{n}", f"db1/sd{n}", {"device": (f"sd{n}",)})
        yield "db1", SourceLink("member_of", ("lun", f"sd{n}"), ("lun", "dm-0"), "slaves")
        yield "db1", SourceEntity("path", n, n, {}, {"device": f"sd{n}"})
        yield "db1", SourceLink("member_of", ("path", n), ("lun", "dm-0"), "slaves")
        yield "db1", SourceLink("attached_to", ("path", n), ("hba", f"eth{n}"), "session")
        if n != without_target:
            yield "db1", SourceLink("targets", ("path", n), ("ip", f"10.0.0.{n}"), "session")


def topology(without_target: str = "") -> Topology:
    return resolve([(source, 0, item) for source, item in reported(without_target)])


def samples(**bytes_per_second: float) -> dict[str, list[StepSamples]]:
    of_devices = [
        StepSamples("db1", device, "t1", seconds=[1.0], rates={"bytes_read_total": [rate]})
        for device, rate in bytes_per_second.items()
    ]
    return {"lun": of_devices}


def load(bytes_per_second: float) -> LoadFacts:
    return LoadFacts(
        ("load:fio",), "t1", "read", 4, bytes_per_second / 4096, bytes_per_second, 1e-3, 32.0, 32.0, None
    )


def test_each_end_of_a_path_has_moved_what_its_block_device_counts() -> None:
    found = bytes_of_paths(topology(), load(100.0), samples(sd0=30.0, sd1=70.0, **{"dm-0": 100.0}))
    assert found == {
        "hba:db1/eth0": 30.0,
        "array_port:fa1/0": 30.0,
        "hba:db1/eth1": 70.0,
        "array_port:fa1/1": 70.0,
    }


@pytest.mark.parametrize(
    ("counted", "moved", "without_target"),
    [
        ({"sd0": 30.0}, 100.0, ""),
        ({"sd0": 30.0, "sd1": 70.0}, 60.0, ""),
        ({"sd0": 30.0, "sd1": 70.0}, 100.0, "1"),
    ],
    ids=["a path is not counted", "another load uses the LUN", "an end is not known"],
)
def test_paths_tell_nothing_unless_all_are_known_and_the_load_s_alone(
    counted: dict[str, float], moved: float, without_target: str
) -> None:
    assert bytes_of_paths(topology(without_target), load(moved), samples(**counted)) == {}
