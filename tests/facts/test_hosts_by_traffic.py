"""A host that only the array knows, by another name, and a machine that the result of a load does not name, are
joined to the load that has their traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.load.hosts_by_traffic import hosts_by_traffic
from sanpath.facts.load.machines_by_traffic import machines_by_traffic
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.model import SourceEntity, SourceLink, Step
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.topology.vm_moves import Report
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, OTHER_HOST, X, fast

STEPS = [Step(name, 10**6 * n, 10**6 * (n + 1), "marks", (), None) for n, name in enumerate(("one", "two", "three"))]
HOSTS = ("db1-pure", "db2-pure")


def slow_inter_switch_link(folder: Path, array_hosts: Mapping[str, str], others: float) -> Diagnosis:
    """The published test over two switches: the 4 Gb/s link between them is full (97.7 %), other ports have 32.
    `others`: the share of another host's I/Os in it."""
    ports = tuple(
        replace(fast(port, 32), on=switch)
        for port, switch in ((HOST_PORT, "sw1"), (OTHER_HOST, "sw1"), (ARRAY_PORT, "sw2"))
    )
    san = San(
        folder / "r",
        ports,
        array_hosts=array_hosts,
        second_lun=True,
        leave_out=frozenset(("disk",)),
        inter_switch_link=True,
        isl_speed=4,
    )
    own, all_bytes = X * (1 - others), (COUNTED, NOTHING)
    for n in (16, 128, 512):
        san.step(
            f"t{n}",
            n,
            read=Flow(own, n / own),
            ports={
                "fc1/7": (COUNTED * (1 - others), NOTHING),
                "fc1/9": (COUNTED * others, NOTHING),
                **dict.fromkeys(("sw1/fc1/31", "sw2/fc1/31", "sw2/fc1/1"), all_bytes),
            },
            array={"read": AtArray(0.00035, san=0.0047, others=X * others)},
        )
    return diagnose(san.write())


@pytest.mark.parametrize("others", [0.0, 0.3])
def test_a_link_on_the_path_of_a_host_that_only_the_array_knows_is_named(tmp_path: Path, others: float) -> None:
    diagnosis = slow_inter_switch_link(tmp_path, {"vol01": "db1-pure", "vol02": "db2-pure"}, others)
    assert [bottleneck.entity for bottleneck in diagnosis.verdict.bottlenecks] == ["link:sw1/fc1/31--sw2/fc1/31"]
    (remark,) = [part for part in diagnosis.unobserved if part.what == "the host of load:fio"]
    assert "db1-pure" in remark.why
    assert "load:fio runs_on host:db1-pure" in remark.consequence


def test_a_host_whose_volumes_did_nothing_is_not_joined(tmp_path: Path) -> None:
    diagnosis = slow_inter_switch_link(tmp_path, {"vol02": "db1-pure"}, 0.0)
    assert diagnosis.verdict.kind == "cannot_tell"
    assert "db1-pure" not in str(diagnosis.unobserved)


@pytest.mark.parametrize(
    ("presented", "kind"),
    [
        ({"vol01": "db1", "vol02": "db2"}, "bottleneck"),
        ({"vol02": "db1", "vol01": "db2"}, "cannot_tell"),
    ],
)
def test_an_array_whose_volumes_of_the_host_did_nothing_does_not_have_its_load(
    tmp_path: Path, presented: Mapping[str, str], kind: str
) -> None:
    diagnosis = slow_inter_switch_link(tmp_path, presented, 0.0)
    assert diagnosis.verdict.kind == kind
    is_unread = "moved hardly any of the load's bytes" in str(diagnosis.unobserved)
    assert is_unread == (presented["vol02"] == "db1")


def test_volumes_that_an_array_presents_to_nobody_may_be_the_loads(tmp_path: Path) -> None:
    diagnosis = slow_inter_switch_link(tmp_path, {"vol02": "db1"}, 0.0)
    assert [bottleneck.entity for bottleneck in diagnosis.verdict.bottlenecks] == ["link:sw1/fc1/31--sw2/fc1/31"]


def san(machines: Sequence[str] = ("db1",), kind: str = "host") -> Topology:
    """A load on each machine, and an array that presents a volume to each of two hosts with names of its own."""
    items: list[tuple[str, SourceEntity | SourceLink]] = []
    for number, machine in enumerate(machines):
        load = ("load", f"fio{number}")
        items.append(("fio", SourceEntity(*load, load[1], {"name": (load[1],)})))
        items.append(("fio", SourceEntity(kind, machine, machine, {"name": (machine,)})))
        items.append(("fio", SourceLink("runs_on", load, (kind, machine), "started there")))
    for number, host in enumerate(HOSTS):
        items.append(("fa1", SourceEntity("host", host, host, {"wwpn": (f"2100000000000{number:03x}",)})))
        items.append(("fa1", SourceEntity("volume", f"v{number}", f"v{number}")))
        items.append(("fa1", SourceLink("presents", ("volume", f"v{number}"), ("host", host), "connections")))
    reports: list[Report] = [(source, 0, item) for source, item in items]
    return resolve(reports)


def moved(kind: str, entity: str, *megabytes_per_second: float | None) -> list[StepSamples]:
    """Samples of reads of 1 MB, each of a millisecond, a step each. None: not sampled in the step."""
    samples = []
    for step, rate in zip(STEPS, megabytes_per_second, strict=True):
        if rate is not None:
            counters = {"bytes_read_total": 1e6, "ops_read_total": 1.0, "latency_seconds_read_total": 0.001}
            rates = {counter: [rate * each] * 10 for counter, each in counters.items()}
            source = {"load": "fio", "volume": "fa1", "lun": "node"}[kind]
            samples.append(StepSamples(source, entity, step.name, [1.0] * 10, list(range(1, 11)), rates))
    return samples


def joined(topology: Topology, loads: Sequence[StepSamples], volumes: Sequence[StepSamples]) -> set[str]:
    """What the reports say: machine → the array's host, and load → volume."""
    ends = []
    for _, _, item in hosts_by_traffic(topology, STEPS, loads, lambda: volumes):
        if isinstance(item, SourceLink):
            ends.append(f"{item.from_end[1]} {item.relation} {item.to_end[1]}")
        else:
            ends.append(f"{item.label} is {item.ids['wwpn'][0]}")
    return set(ends)


LOAD = moved("load", "fio0", 100, 200, 400)
SAME = moved("volume", "v0", 101, 199, 402)
IDLE = moved("volume", "v1", 0, 0, 0)


def test_the_host_with_the_traffic_of_the_load_in_every_step_is_its_host() -> None:
    other = moved("volume", "v1", 100, 200, 300)
    assert joined(san(), LOAD, [*SAME, *other]) == {"db1 is 2100000000000000", "fio0 targets fa1/v0"}


@pytest.mark.parametrize(
    "volumes",
    [
        [*moved("volume", "v0", 100, 200, 300), *IDLE],
        [*SAME, *moved("volume", "v1", 100, 200, 400)],
        [*moved("volume", "v0", None, None, None), *IDLE],
        [*moved("volume", "v0", 0, 0, 0), *IDLE],
    ],
    ids=["one step differs", "two hosts alike", "not sampled", "idle"],
)
def test_no_host_is_joined_unless_it_is_the_only_one_with_that_traffic(volumes: Sequence[StepSamples]) -> None:
    assert joined(san(), LOAD, volumes) == set()


def test_steps_in_which_the_array_was_not_sampled_say_nothing() -> None:
    volumes = [*moved("volume", "v0", 100, None, 400), *IDLE]
    assert "db1 is 2100000000000000" in joined(san(), LOAD, volumes)


def test_two_machines_with_the_traffic_of_one_host_are_not_joined() -> None:
    loads = [*LOAD, *moved("load", "fio1", 100, 200, 400)]
    assert joined(san(("db1", "db2")), loads, [*SAME, *IDLE]) == set()


def test_each_of_two_machines_has_the_host_with_its_own_traffic() -> None:
    loads, volumes = [*LOAD, *moved("load", "fio1", 50, 60, 70)], [*SAME, *moved("volume", "v1", 50, 60, 70)]
    assert joined(san(("db1", "db2")), loads, volumes) >= {"db1 is 2100000000000000", "db2 is 2100000000000001"}


def test_a_virtual_machine_on_an_unknown_host_runs_on_the_host_with_its_traffic() -> None:
    assert joined(san(kind="vm"), LOAD, [*SAME, *IDLE]) == {"db1 runs_on db1-pure", "fio0 targets fa1/v0"}


def machines(*, hypervisor: str = "") -> Sequence[Report]:
    """A result file that names no machine, and two machines that are read: a map of two paths on db1, a disk on db2.

    `hypervisor`: of a guest db1, "": db1 is none."""
    items: list[tuple[str, SourceEntity | SourceLink]] = [
        ("fio", SourceEntity("load", "fio", "fio", {"name": ("fio",)})),
        ("fio", SourceEntity("lun", "dm-0", "dm-0", {"device": ("dm-0",)})),
        ("fio", SourceLink("targets", ("load", "fio"), ("lun", "dm-0"), "fio disk_util")),
    ]
    disks = [("db1", "dm-0"), ("db1", "sda"), ("db1", "sdb"), ("db2", "sda")]
    disks += [(hypervisor, "naa.1")] if hypervisor else []
    for name in dict.fromkeys(name for name, _ in disks):
        kind = "vm" if hypervisor and name == "db1" else "host"
        items.append(("node", SourceEntity(kind, name, name, {"name": (name,)})))
        items += [
            ("node", SourceLink("attached_to", ("lun", f"{name}/{disk}"), (kind, name), "read"))
            for owner, disk in disks
            if owner == name
        ]
    items += [("node", SourceEntity("lun", f"{n}/{disk}", f"{n}/{disk}", {"device": (disk,)})) for n, disk in disks]
    if hypervisor:
        items.append(("node", SourceLink("runs_on", ("vm", "db1"), ("host", hypervisor), "inventory")))
    return [(source, 0, item) for source, item in items]


def machine_of_load(reports: Sequence[Report], devices: Sequence[StepSamples]) -> tuple[list[str], str]:
    """The machine that the load is placed on, and what the disk that its file names then is."""
    inferred = machines_by_traffic(resolve(reports), STEPS, moved("load", "fio", 100, 200, 400), lambda: devices)
    topology = resolve([*reports, *inferred])
    return topology.related("load:fio", "runs_on"), topology.known_as["fio", "lun", "dm-0"]


HALVES = [*moved("lun", "db1/sda", 50, 100, 200), *moved("lun", "db1/sdb", 50, 100, 200)]


@pytest.mark.parametrize("hypervisor", ["", "esx7"])
def test_the_machine_with_a_device_that_moved_what_the_load_did_is_its_machine(hypervisor: str) -> None:
    devices = [*moved("lun", "db1/dm-0", 101, 199, 402), *HALVES, *moved("lun", "db2/sda", 100, 200, 300)]
    devices += moved("lun", "esx7/naa.1", 100, 200, 400) if hypervisor else []
    reports = machines(hypervisor=hypervisor)
    assert resolve(reports).related("load:fio", "runs_on") == []
    machine, disk = machine_of_load(reports, devices)
    assert machine == ["vm:db1" if hypervisor else "host:db1"]
    assert disk == "lun:db1/dm-0"


@pytest.mark.parametrize(
    "devices",
    [
        [*moved("lun", "db1/dm-0", 100, 200, 400), *moved("lun", "db2/sda", 100, 200, 400)],
        [*moved("lun", "db1/dm-0", 100, 200, 300), *moved("lun", "db2/sda", 1, 2, 3)],
        [*moved("lun", "db1/dm-0", None, None, None), *moved("lun", "db2/sda", 0, 0, 0)],
    ],
    ids=["two machines alike", "one step differs", "not sampled"],
)
def test_no_machine_is_the_loads_unless_it_is_the_only_one_with_its_traffic(devices: Sequence[StepSamples]) -> None:
    machine, _ = machine_of_load(machines(), devices)
    assert machine == []
