"""What result files leave out follows from what else the recording has, in any order."""

from __future__ import annotations

from itertools import permutations

import pytest

from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

Item = tuple[str, SourceEntity | SourceLink]


def named(source: str, kind: str, name: str, **ids: str) -> Item:
    return source, SourceEntity(kind, name, name, {"name": (name,)} | {key: (value,) for key, value in ids.items()})


def link(source: str, relation: str, begin: tuple[str, str], end: tuple[str, str]) -> Item:
    return source, SourceLink(relation, begin, end, "test")


FIO = [named("fio", "load", "fio"), named("fio", "load", "fio/job1"), named("fio", "lun", "sdb", device="sdb")]
FIO += [link("fio", "member_of", ("load", "fio/job1"), ("load", "fio"))]
ARRAY = [named("fa1", "array", "fa1"), named("fa1", "host", "cluster9")]


def read(source: str, machine: str) -> list[Item]:
    """What iostat or node_exporter reports of a machine."""
    lun = f"{machine}/sdb"
    return [
        named(source, "host", machine),
        named(source, "lun", lun, device="sdb"),
        link(source, "attached_to", ("lun", lun), ("host", machine)),
    ]


ESX = [
    named("esxtop", "host", "esx7"),
    named("esxtop", "vm", "db1"),
    link("esxtop", "runs_on", ("vm", "db1"), ("host", "esx7")),
]


def resolved(*groups: list[Item]) -> Topology:
    return resolve([(source, 0, item) for group in groups for source, item in group])


def machine(topology: Topology) -> list[str]:
    return topology.related("load:fio", "runs_on")


@pytest.mark.parametrize("groups", [*permutations([FIO, read("iostat", "db1"), ARRAY])])
def test_the_order_of_imports_does_not_matter(groups: tuple[list[Item], ...]) -> None:
    topology = resolved(*groups)
    assert machine(topology) == ["host:db1"]
    assert topology.related("load:fio/job1", "runs_on") == []
    # The file's device is that of the machine, and what the file says of its machine is the machine's.
    assert topology.known_as["fio", "lun", "sdb"] == "lun:db1/sdb"
    assert topology.known_as["fio", "host", "fio"] == "host:db1"


def test_the_same_machine_under_two_spellings_is_one() -> None:
    assert machine(resolved(FIO, read("iostat", "DB1"), read("node", "db1.example.com"))) == ["host:DB1"]


OTHER_GUEST = [named("esxtop", "vm", "web1"), link("esxtop", "runs_on", ("vm", "web1"), ("host", "esx7"))]


@pytest.mark.parametrize("others", [[], OTHER_GUEST])
def test_a_guest_and_its_hypervisor_are_one_machine(others: list[Item]) -> None:
    assert machine(resolved(FIO, ESX, others, read("iostat", "db1"))) == ["vm:db1"]


def test_the_only_guest_of_a_hypervisor_runs_the_load() -> None:
    assert machine(resolved(FIO, ESX)) == ["vm:db1"]


def test_a_hypervisor_of_several_guests_does_not_run_the_load() -> None:
    assert machine(resolved(FIO, ESX, OTHER_GUEST)) == []


@pytest.mark.parametrize(
    "others", [[], ARRAY, [*read("iostat", "db1"), *read("node", "db2")], [*ESX, *read("iostat", "db2")]]
)
def test_without_one_machine_nothing_is_joined(others: list[Item]) -> None:
    assert machine(resolved(FIO, others)) == []


@pytest.mark.parametrize("placed", ["config", "fio"])
def test_what_names_its_machine_is_not_moved(placed: str) -> None:
    there = [named(placed, "host", "db2"), link(placed, "runs_on", ("load", "fio"), ("host", "db2"))]
    assert machine(resolved(FIO, read("iostat", "db1"), there)) == ["host:db2"]


@pytest.mark.parametrize("by", ["config", "esxtop"])
def test_a_machine_that_a_result_file_names_is_the_virtual_machine_of_its_name(by: str) -> None:
    """DiskSpd names its computer as a host; only sanpath.yaml or the hypervisor knows that it is a guest."""
    diskspd = [
        named("diskspd", "load", "diskspd"),
        named("diskspd", "host", "sqlvm1"),
        link("diskspd", "runs_on", ("load", "diskspd"), ("host", "sqlvm1")),
    ]
    guest = [named(by, "vm", "sqlvm1"), named(by, "host", "esx7")]
    guest.append(link(by, "runs_on", ("vm", "sqlvm1"), ("host", "esx7")))
    topology = resolved(diskspd, guest)
    assert topology.related("load:diskspd", "runs_on") == ["vm:sqlvm1"]
    assert {entity.id for entity in topology.of_kind("host")} == {"host:esx7"}


def files_of_one_test(*declared: str, second_on: str = "") -> Topology:
    """Two result files of fio, and lines of sanpath.yaml about them: `LOAD HOST`."""
    second = [named("fio-2", "load", "fio-2")]
    if second_on:
        second += [
            named("fio-2", "host", second_on),
            link("fio-2", "runs_on", ("load", "fio-2"), ("host", second_on)),
        ]
    lines = [link("config", "runs_on", ("load", line.split()[0]), ("host", line.split()[1])) for line in declared]
    return resolved(FIO, second, lines)


def test_a_line_about_a_load_is_about_all_files_of_it() -> None:
    topology = files_of_one_test("fio db1")
    assert topology.related("load:fio-2", "runs_on") == machine(topology) == ["host:db1"]


@pytest.mark.parametrize(
    ("declared", "second_on"), [(["fio db1", "fio-2 db2"], ""), (["fio db1"], "db2"), (["fio db1"], "DB2")]
)
def test_a_file_with_a_line_or_a_machine_of_its_own_keeps_it(declared: list[str], second_on: str) -> None:
    topology = files_of_one_test(*declared, second_on=second_on)
    assert [name.casefold() for name in topology.related("load:fio-2", "runs_on")] == ["host:db2"]
    assert machine(topology) == ["host:db1"]
