"""The description of a switch port says what is at its other end, where no device reports that."""

from __future__ import annotations

import pytest

from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.paths import cables
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.views.topology import as_tree

Item = tuple[str, SourceEntity | SourceLink]


def switch(name: str, technology: str = "fibre_channel", **descriptions: str) -> list[Item]:
    """A switch and its ports: name (an underscore is a slash) → description."""
    items: list[Item] = [(name, SourceEntity("switch", name, name, {"name": (name,)}))]
    for port, description in descriptions.items():
        local_id, attributes = port.replace("_", "/"), {"alias": description, "technology": technology}
        items.append((name, SourceEntity("switch_port", local_id, local_id, {}, attributes)))
        items.append((name, SourceLink("member_of", ("switch_port", local_id), ("switch", name), "ports")))
    return items


def host(name: str, *adapters: str, technology: str = "fibre_channel") -> list[Item]:
    items: list[Item] = [(f"{name} node", SourceEntity("host", name, name, {"name": (name,)}))]
    for adapter in adapters:
        local_id = f"{name}/{adapter}"
        items.append(
            (f"{name} node", SourceEntity("hba", local_id, local_id, {}, {"technology": technology, "speed": None}))
        )
        items.append((f"{name} node", SourceLink("attached_to", ("hba", local_id), ("host", name), "sysfs")))
    return items


ARRAY: list[Item] = [("fa1", SourceEntity("array", "fa1", "fa1", {"name": ("fa1",)}))]


def resolved(*groups: list[Item]) -> Topology:
    return resolve([(source, 0, item) for group in groups for source, item in group])


def links(topology: Topology) -> set[str]:
    return {cable.id for cable in cables(topology)}


@pytest.mark.parametrize(
    "description", ["db7", "DB7", "to db7", "db7_hba", "Server: db7 (rack 4)", "db7.example.com port 1"]
)
def test_a_description_names_a_host(description: str) -> None:
    topology = resolved(switch("sw1", fc1_1=description), host("db7"), host("db8"))
    assert links(topology) == {"link:db7/adapter-1--sw1/fc1/1"}
    assert topology.related("hba:db7/adapter-1", "attached_to") == ["host:db7"]


@pytest.mark.parametrize("description", ["", "db70", "odb7", "db7 or db8", "unused", "db7 to fa1", "sw1", "db7 iLO"])
def test_a_description_that_names_none_or_several_names_nothing(description: str) -> None:
    assert not links(resolved(switch("sw1", fc1_1=description), host("db7"), host("db8"), ARRAY))


def test_a_number_is_no_name_and_an_address_is_one() -> None:
    assert not links(resolved(switch("sw1", fc1_1="port 10"), host("10.0.0.5")))
    assert links(resolved(switch("sw1", fc1_1="to 10.0.0.5"), host("10.0.0.5"))) == {
        "link:10.0.0.5/adapter-1--sw1/fc1/1"
    }


def test_the_longest_name_counts() -> None:
    topology = resolved(switch("sw1", fc1_1="prod-esx-7"), host("prod-esx"), host("prod-esx-7"))
    assert links(topology) == {"link:prod-esx-7/adapter-1--sw1/fc1/1"}


def test_an_array_and_every_port_that_names_it() -> None:
    topology = resolved(switch("sw1", fc1_1="fa1", fc1_2="fa1"), ARRAY)
    assert links(topology) == {"link:sw1/fc1/1--fa1/port-1", "link:sw1/fc1/2--fa1/port-2"}
    assert len(topology.related("array:fa1", "member_of", "array_port")) == 2


def test_an_adapter_that_is_named_too_or_is_the_only_one() -> None:
    both = switch("sw1", fc1_1="esx7 vmhba3", fc1_2="esx7 - vmhba2")
    assert links(resolved(both, host("esx7", "vmhba2", "vmhba3"))) == {
        "link:esx7/vmhba3--sw1/fc1/1",
        "link:esx7/vmhba2--sw1/fc1/2",
    }
    one = switch("sw1", fc1_1="esx7")
    assert links(resolved(one, host("esx7", "vmhba2"))) == {"link:esx7/vmhba2--sw1/fc1/1"}
    assert links(resolved(one, host("esx7", "vmhba2", "vmhba3"))) == {"link:esx7/adapter-1--sw1/fc1/1"}
    # A Fibre Channel port leads to no Ethernet adapter.
    assert links(resolved(one, host("esx7", "eno1", technology="ethernet"))) == {"link:esx7/adapter-1--sw1/fc1/1"}


def path(adapter: str, name: str, target: str) -> list[Item]:
    """A path of a host over one of its adapters to a target port of fa1."""
    local_id = f"db7/{name}"
    key, attributes = {"wwpn": (f"52000000000000{target[-2:]}",)}, {"technology": "fibre_channel"}
    return [
        ("db7 node", SourceEntity("path", local_id, local_id, {})),
        ("db7 node", SourceLink("attached_to", ("path", local_id), ("hba", f"db7/{adapter}"), "sysfs")),
        ("fa1", SourceEntity("array_port", target, target, key, attributes)),
        ("fa1", SourceLink("member_of", ("array_port", target), ("array", "fa1"), "ports")),
        ("db7 node", SourceEntity("array_port", target, target, key, attributes)),
        ("db7 node", SourceLink("targets", ("path", local_id), ("array_port", target), "sysfs")),
    ]


def test_an_adapter_is_cabled_to_the_fabric_of_its_target_ports() -> None:
    """Two adapters, two fabrics, descriptions without the name of the adapter: frames do not leave their fabric."""
    near = [switch("sw1", fc1_1="db7", fc1_2="fa1 ct0-01"), switch("sw2", fc1_1="db7", fc1_2="fa1 ct0-02")]
    adapters = host("db7", "host7", "host8")
    apart = [*path("host7", "0", "ct0-01"), *path("host8", "1", "ct0-02")]
    found = links(resolved(*near, ARRAY, adapters, apart))
    assert {"link:db7/host7--sw1/fc1/1", "link:db7/host8--sw2/fc1/1"} <= found
    # Both adapters reach the first fabric, and nothing tells which of them is at its switch.
    both = [*path("host7", "0", "ct0-01"), *path("host8", "1", "ct0-01")]
    assert "link:db7/adapter-1--sw1/fc1/1" in links(resolved(*near, ARRAY, adapters, both))
    # The switches are one fabric: either adapter may be at either switch.
    joined = [switch("sw1", fc1_9="sw2"), switch("sw2", fc1_9="sw1")]
    assert "link:db7/adapter-1--sw1/fc1/1" in links(resolved(*near, *joined, ARRAY, adapters, apart))


def between_switches(topology: Topology) -> set[frozenset[str]]:
    found = [link for link in topology.links if link.relation == "cabled_to"]
    return {frozenset((link.from_entity, link.to_entity)) for link in found}


def test_switches_that_name_each_other_are_cabled_in_the_order_of_their_ports() -> None:
    near = switch("sw1", fc1_47="ISL sw2", fc1_48="ISL sw2")
    topology = resolved(near, switch("sw2", fc1_1="sw1 uplink", fc1_2="sw1 uplink"))
    assert between_switches(topology) == {
        frozenset(("switch_port:sw1/fc1/47", "switch_port:sw2/fc1/1")),
        frozenset(("switch_port:sw1/fc1/48", "switch_port:sw2/fc1/2")),
    }
    assert not between_switches(resolved(near, switch("sw2", fc1_1="sw1")))
    assert not between_switches(resolved(near, switch("sw2", fc1_1="")))


def test_what_a_device_reports_counts_more_than_a_description() -> None:
    fabric = switch("sw1", fc1_1="db7", fc1_2="db7")
    login = ("sw1", SourceLink("logged_in", ("wwpn", "21000024ff000001"), ("switch_port", "fc1/1"), "name server"))
    adapter = ("esx", SourceEntity("hba", "esx7/vmhba2", "esx7/vmhba2", {"wwpn": ("21000024ff000001",)}))
    topology = resolved(fabric, [login, adapter], host("db7"))
    assert links(topology) == {"link:esx7/vmhba2--sw1/fc1/1", "link:db7/adapter-1--sw1/fc1/2"}


def test_the_cables_of_a_port_channel_are_those_of_its_members() -> None:
    fabric = switch("sw1", "ethernet", Po1="db7", Eth1_1="db7", Eth1_2="db7")
    members = [
        ("sw1", SourceLink("member_of", ("switch_port", port), ("switch_port", "Po1"), "ifStackTable"))
        for port in ("Eth1/1", "Eth1/2")
    ]
    topology = resolved(fabric, [*members], host("db7"))
    assert links(topology) == {"link:db7/adapter-1--sw1/Eth1/1", "link:db7/adapter-2--sw1/Eth1/2"}


def test_ports_that_lead_to_an_unknown_device_are_listed_with_what_people_wrote() -> None:
    tree = as_tree(resolved(switch("sw1", fc1_1="db7", fc1_2="backup1", fc1_3=""), host("db7")))
    assert "switch ports with an unknown device at the other end: 2" in tree
    assert 'switch_port:sw1/fc1/2   [port description "backup1"]' in tree
    assert "unknown device" not in as_tree(resolved(switch("sw1", fc1_1="db7"), host("db7")))
