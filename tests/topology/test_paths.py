"""Cables and I/O paths, and the two ways `sanpath topology` shows them."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.paths import (
    cabled_paths,
    cables,
    host_of,
    initiators_of,
    io_paths,
    luns_of,
    machine_luns,
    machine_of,
    targets_of,
)
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.views.topology import as_json, as_tree

NAA = "naa.624a93706c1b16ce1c034d1c00013918"
HBAS = {"vmhba2": "21000024ff000001", "vmhba3": "21000024ff000002"}
TARGETS = {"CT0.FC0": "524a937000000001", "CT1.FC0": "524a937000000002"}


def end(text: str) -> tuple[str, str]:
    kind, _, name = text.partition(":")
    return kind, name


def sentence(source: str, text: str) -> tuple[str, int, SourceLink]:
    first, relation, second = text.split()
    return source, 0, SourceLink(relation, end(first), end(second), text)


def san(*more: tuple[str, int, SourceEntity | SourceLink], switches: int = 1) -> Topology:
    """Two initiators and two target ports on one switch, or on a switch each."""
    reported: list[tuple[str, int, SourceEntity | SourceLink]] = [
        sentence("config", "load:fio runs_on vm:sqlvm1"),
        sentence("config", "vm:sqlvm1 runs_on host:esx7"),
        ("fa1", 0, SourceEntity("array", "fa1", "fa1")),
        ("fa1", 0, SourceEntity("volume", "vol01", "vol01", {"naa": (NAA,)})),
        sentence("fa1", "volume:vol01 member_of array:fa1"),
    ]
    for number, ((hba, initiator), (port, target)) in enumerate(zip(HBAS.items(), TARGETS.items(), strict=True)):
        switch = f"sw{min(number, switches - 1) + 1}"
        host_port, array_port = f"{number + 1}", f"{number + 11}"
        reported += [
            ("config", 0, SourceEntity("hba", f"esx7/{hba}", "", {"wwpn": (initiator,)})),
            sentence("config", f"hba:esx7/{hba} attached_to host:esx7"),
            ("fa1", 0, SourceEntity("array_port", port, port, {"wwpn": (target,)})),
            sentence("fa1", f"array_port:{port} member_of array:fa1"),
            (switch, 0, SourceEntity("switch", switch, switch)),
            *((switch, 0, SourceEntity("switch_port", p, f"fc1/{p}")) for p in (host_port, array_port)),
            *(sentence(switch, f"switch_port:{p} member_of switch:{switch}") for p in (host_port, array_port)),
            sentence(switch, f"wwpn:{initiator} logged_in switch_port:{host_port}"),
            sentence(switch, f"wwpn:{target} logged_in switch_port:{array_port}"),
        ]
    return resolve([*reported, *more])


def ends(topology: Topology) -> set[tuple[str, str]]:
    return {(p.hba, p.array_port) for p in io_paths(topology, "load:fio")}


def test_cables_are_named_by_their_ends_from_host_to_array() -> None:
    assert {cable.id for cable in cables(san())} == {
        "link:esx7/vmhba2--sw1/fc1/1",
        "link:esx7/vmhba3--sw1/fc1/2",
        "link:sw1/fc1/11--fa1/CT0.FC0",
        "link:sw1/fc1/12--fa1/CT1.FC0",
    }


def test_reads_leave_the_port_of_the_host_and_enter_that_of_the_array() -> None:
    counters = {(c.side, d): c.counter(d) for c in cables(san()) for d in ("read", "write")}
    assert counters == {
        ("host", "read"): "tx",
        ("host", "write"): "rx",
        ("array", "read"): "rx",
        ("array", "write"): "tx",
    }


def test_on_one_switch_every_initiator_reaches_every_target() -> None:
    assert ends(san()) == {(f"hba:esx7/{h}", f"array_port:fa1/{t}") for h in HBAS for t in TARGETS}


def test_a_path_names_its_cables_from_host_to_array() -> None:
    path = next(p for p in io_paths(san(), "load:fio") if p.hba.endswith("2") and p.array_port.endswith("CT1.FC0"))
    assert [c.id for c in path.cables] == ["link:esx7/vmhba2--sw1/fc1/1", "link:sw1/fc1/12--fa1/CT1.FC0"]
    assert (path.host, path.array) == ("host:esx7", "array:fa1")


def test_a_path_that_no_zone_lets_through_is_none() -> None:
    hba, target = HBAS["vmhba2"], TARGETS["CT1.FC0"]
    zoned = san(sentence("sw1", f"wwpn:{hba} zoned_with wwpn:{target}"))
    # Nobody has read the zones of the other initiator.
    unread = {("hba:esx7/vmhba3", f"array_port:fa1/{each}") for each in TARGETS}
    assert ends(zoned) == {("hba:esx7/vmhba2", "array_port:fa1/CT1.FC0")} | unread
    assert len(cabled_paths(zoned, "load:fio")) == 4


def test_zones_that_leave_no_path_at_all_are_out_of_date() -> None:
    elsewhere = "524a9370000000ff"
    array = ("fa2", 0, SourceEntity("array_port", "CT0.FC0", "CT0.FC0", {"wwpn": (elsewhere,)}))
    zones = [sentence("sw1", f"wwpn:{hba} zoned_with wwpn:{elsewhere}") for hba in HBAS.values()]
    assert len(ends(san(array, *zones))) == 4


def multipathing(name: str, hba: str, target: str | None) -> list[tuple[str, int, SourceEntity | SourceLink]]:
    """A path that the host lists; `target` None: it does not say where it leads."""
    path = ("vc", 0, SourceEntity("path", name, name))
    leads = [] if target is None else [sentence("vc", f"path:{name} targets wwpn:{target}")]
    return [path, sentence("vc", f"path:{name} attached_to wwpn:{HBAS[hba]}"), *leads]


def test_an_initiator_sends_to_the_target_ports_of_its_multipathing_only() -> None:
    both = {("hba:esx7/vmhba3", f"array_port:fa1/{each}") for each in TARGETS}
    listed = san(*multipathing("p1", "vmhba2", TARGETS["CT1.FC0"]))
    assert ends(listed) == {("hba:esx7/vmhba2", "array_port:fa1/CT1.FC0")} | both
    in_part = san(*multipathing("p1", "vmhba2", TARGETS["CT1.FC0"]), *multipathing("p2", "vmhba2", None))
    assert len(ends(in_part)) == 4


def test_an_initiator_whose_multipathing_leads_to_no_port_that_was_read_keeps_its_cable() -> None:
    unread = ("vc", 0, SourceEntity("array_port", "far", "far", {"wwpn": ("524a9370000000ff",)}))
    listed = san(unread, *multipathing("p1", "vmhba2", "524a9370000000ff"))
    assert len(ends(listed)) == 4


OTHER_NAA = "naa.600508b400105e210000900000490000"


def lun(name: str, ids: dict[str, tuple[str, ...]], *paths: str) -> list[tuple[str, int, SourceEntity | SourceLink]]:
    """A LUN of the host with these of the paths that `multipathing` lists."""
    return [
        ("vc", 0, SourceEntity("lun", name, name, ids)),
        sentence("vc", f"lun:{name} attached_to host:esx7"),
        *(sentence("vc", f"path:{path} member_of lun:{name}") for path in paths),
    ]


def test_a_load_takes_the_paths_of_the_lun_that_it_names() -> None:
    listed = [
        *multipathing("p1", "vmhba2", TARGETS["CT0.FC0"]),
        *multipathing("p2", "vmhba2", TARGETS["CT1.FC0"]),
        *multipathing("p3", "vmhba3", TARGETS["CT1.FC0"]),
        *lun("data", {}, "p1"),
        *lun("backup", {}, "p2", "p3"),
    ]
    assert len(ends(san(*listed))) == 3
    names_one = san(*listed, sentence("config", "load:fio targets lun:data"))
    assert ends(names_one) == {("hba:esx7/vmhba2", "array_port:fa1/CT0.FC0")}


@pytest.mark.parametrize(
    ("ids", "is_volume"), [({"naa": (NAA,)}, True), ({}, True), ({"naa": (OTHER_NAA,)}, False)], ids=str
)
def test_a_volume_with_another_identifier_is_not_that_of_the_load(
    ids: dict[str, tuple[str, ...]], is_volume: bool
) -> None:
    """It is the only one that the array presents to the host; another array may present the LUN."""
    presented = ("fa1", 0, SourceLink("presents", ("volume", "vol01"), ("host", "esx7"), "connections"))
    host = ("fa1", 0, SourceEntity("host", "esx7", "esx7", {"name": ("esx7",)}))
    found = san(host, presented, *lun("data", ids), sentence("config", "load:fio targets lun:data"))
    assert targets_of(found, "load:fio")[1] == ({"volume:fa1/vol01"} if is_volume else set())


def test_two_fabrics_do_not_mix() -> None:
    assert ends(san(switches=2)) == {
        ("hba:esx7/vmhba2", "array_port:fa1/CT0.FC0"),
        ("hba:esx7/vmhba3", "array_port:fa1/CT1.FC0"),
    }


def test_an_inter_switch_link_joins_them() -> None:
    found = san(
        ("sw1", 0, SourceEntity("switch_port", "31", "fc1/31")),
        ("sw2", 0, SourceEntity("switch_port", "31", "fc1/31")),
        sentence("sw1", "switch_port:31 member_of switch:sw1"),
        sentence("sw2", "switch_port:31 member_of switch:sw2"),
        sentence("config", "switch_port:sw1/fc1/31 cabled_to switch_port:sw2/fc1/31"),
        switches=2,
    )
    assert len(ends(found)) == 4


def test_a_load_that_names_its_target_port_uses_that_port_only() -> None:
    found = san(
        ("fio", 0, SourceEntity("load", "fio", "fio")), sentence("fio", f"load:fio targets wwpn:{TARGETS['CT1.FC0']}")
    )
    assert {port for _, port in ends(found)} == {"array_port:fa1/CT1.FC0"}


def test_paths_lead_to_the_array_of_the_volume_only() -> None:
    other = "524a9370000000ff"
    found = san(
        ("fa2", 0, SourceEntity("array", "fa2", "fa2")),
        ("fa2", 0, SourceEntity("array_port", "CT0.FC0", "CT0.FC0", {"wwpn": (other,)})),
        sentence("fa2", "array_port:CT0.FC0 member_of array:fa2"),
        ("sw1", 0, SourceEntity("switch_port", "21", "fc1/21")),
        sentence("sw1", "switch_port:21 member_of switch:sw1"),
        sentence("sw1", f"wwpn:{other} logged_in switch_port:21"),
        ("config", 0, SourceEntity("lun", "sqlvm1/sda", "", {"naa": (NAA,)})),
        sentence("config", "load:fio targets lun:sqlvm1/sda"),
    )
    assert {port for _, port in ends(found)} == {f"array_port:fa1/{t}" for t in TARGETS}
    assert targets_of(found, "load:fio") == (set(), {"volume:fa1/vol01"})


def test_a_load_on_a_bare_host() -> None:
    found = resolve([sentence("config", "load:fio runs_on host:db1")])
    assert machine_of(found, "load:fio") == host_of(found, "load:fio") == "host:db1"
    assert io_paths(found, "load:fio") == []
    assert io_paths(found, "load:unknown") == []


def test_json_has_entities_evidence_paths_and_what_was_not_joined() -> None:
    found = json.loads(as_json(san(sentence("sw1", "wwpn:500143802426baf4 logged_in switch_port:1"))))
    assert {e["id"] for e in found["entities"]} >= {"host:esx7", "hba:esx7/vmhba2", "array_port:fa1/CT0.FC0"}
    login = next(k for k in found["links"] if k["from"] == "hba:esx7/vmhba2" and k["relation"] == "logged_in")
    assert login["to"] == "switch_port:sw1/fc1/1"
    assert login["evidence"]
    assert len(found["io_paths"]) == 4
    assert found["io_paths"][0]["cables"]
    assert "500143802426baf4" in found["unjoined"][0]["what"]


def test_the_tree_follows_the_load_to_the_target_port() -> None:
    text = as_tree(san())
    lines = text.splitlines()
    assert lines[0] == "load:fio on vm:sqlvm1"
    first = lines.index("  hba:esx7/vmhba2")
    assert lines[first + 1 : first + 4] == [
        "    switch_port:sw1/fc1/1",
        "    switch_port:sw1/fc1/11",
        "      array_port:fa1/CT0.FC0",
    ]
    assert "everything that a source named was joined" in lines


def test_names_from_devices_cannot_steer_the_terminal_or_forge_lines() -> None:
    nasty = "esx9\x1b[2J\nnot joined\n  all is well\u202e"
    found = resolve(
        [
            *(
                (s, 0, t)
                for s, t in (("fa1", SourceEntity("host", nasty, nasty)), ("fa1", SourceEntity("volume", "v", "v")))
            ),
            ("fa1", 0, SourceLink("presents", ("volume", "v"), ("host", nasty), "connections")),
        ]
    )
    text = as_tree(found)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "  all is well" not in text.splitlines()
    assert len(text.splitlines()) == 5
    assert json.loads(as_json(found))["entities"][0]["id"] == f"host:{nasty}"
    assert "\x1b" not in as_json(found)


def test_the_only_lun_behind_the_virtual_disks_of_a_machine_carries_its_load() -> None:
    """No source says which disk a load in the guest uses; both are files on the same LUN."""
    lun = ("config", 0, SourceEntity("lun", f"esx7/{NAA}", NAA, {"naa": (NAA,)}))
    disks = [sentence("config", f"vdisk:sqlvm1/scsi0:{number} attached_to vm:sqlvm1") for number in (0, 1)]
    backed = [sentence("config", f"vdisk:sqlvm1/scsi0:{number} backed_by lun:esx7/{NAA}") for number in (0, 1)]
    one_lun = san(lun, *disks, *backed)
    assert luns_of(one_lun, "load:fio") == [f"lun:esx7/{NAA}"]
    assert targets_of(one_lun, "load:fio") == (set(), {"volume:fa1/vol01"})
    another = sentence("config", "vdisk:sqlvm1/scsi0:1 backed_by lun:esx7/naa.other")
    two_luns = san(lun, *disks, backed[0], another)
    assert luns_of(two_luns, "load:fio") == []
    assert targets_of(two_luns, "load:fio") == (set(), set())
    assert machine_luns(two_luns, "load:fio") == {f"lun:esx7/{NAA}", "lun:esx7/naa.other"}


@pytest.mark.parametrize("levels", range(3))
def test_a_load_addresses_the_same_volume_whatever_levels_are_read_above_it(levels: int) -> None:
    """LUN of the host; virtual disk above it; block device of the guest above that."""
    lun = ("config", 0, SourceEntity("lun", f"esx7/{NAA}", NAA, {"naa": (NAA,)}))
    chain = [f"lun:esx7/{NAA}", "vdisk:sqlvm1/sda", "lun:sqlvm1/sda"]
    read = [sentence("config", f"{chain[0]} attached_to host:esx7")]
    for below, level in pairwise(chain[: levels + 1]):
        read.append(sentence("config", f"{level} attached_to vm:sqlvm1"))
        read.append(sentence("config", f"{level} backed_by {below}"))
    read.append(sentence("config", f"load:fio targets {chain[levels]}"))
    assert targets_of(san(lun, *read), "load:fio") == (set(), {"volume:fa1/vol01"})


def test_what_backs_a_device_backs_no_other_of_its_users() -> None:
    """Two virtual disks on one LUN: neither is behind the other."""
    disks = [sentence("config", f"vdisk:sqlvm1/{name} backed_by lun:esx7/{NAA}") for name in ("sda", "sdb")]
    lun = ("config", 0, SourceEntity("lun", f"esx7/{NAA}", NAA, {"naa": (NAA,)}))
    topology = san(lun, *disks)
    assert topology.behind(["vdisk:sqlvm1/sda"], "vdisk") == {"vdisk:sqlvm1/sda"}


def test_a_load_that_names_the_address_of_a_server_uses_no_local_disk() -> None:
    """No source reports that address; the only disk of the machine is its own."""
    lun = ("config", 0, SourceEntity("lun", "sqlvm1/vda", "vda", {}))
    local = ("config", 0, SourceLink("attached_to", ("lun", "sqlvm1/vda"), ("vm", "sqlvm1"), "config"))
    assert luns_of(san(lun, local), "load:fio") == ["lun:sqlvm1/vda"]
    remote = ("fio", 0, SourceLink("targets", ("load", "fio"), ("ip", "192.0.2.9"), "fio option uri"))
    assert luns_of(san(lun, local, remote), "load:fio") == []


def test_adapters_without_a_link_are_no_initiators() -> None:
    """ESXi lists AHCI as well; a host with paths has network interfaces for other traffic."""
    local = ("config", 0, SourceEntity("hba", "esx7/vmhba0", "", {"name": ("esx7/vmhba0",)}))
    others = (local, sentence("config", "hba:esx7/vmhba0 attached_to host:esx7"))
    linked = [
        ("esx", 0, SourceEntity("hba", hba, hba, {"wwpn": (wwpn,)}, {"technology": "fibre_channel"}))
        for hba, wwpn in HBAS.items()
    ]
    both = {f"hba:esx7/{hba}" for hba in HBAS}
    assert set(initiators_of(san(*others, *linked), "load:fio")) == both
    paths = [
        ("esx", 0, SourceEntity("lun", "naa1", "esx7/naa1")),
        sentence("esx", "lun:naa1 attached_to host:esx7"),
        ("esx", 0, SourceEntity("path", "p1", "p1")),
        sentence("esx", "path:p1 member_of lun:naa1"),
    ]
    assert set(initiators_of(san(*others, *linked, *paths), "load:fio")) == both, "a path may lead over any"
    leads = sentence("esx", "path:p1 attached_to hba:vmhba2")
    assert initiators_of(san(*others, *linked, *paths, leads), "load:fio") == ["hba:esx7/vmhba2"]


def test_several_target_ports_behind_one_switch_port_share_its_link() -> None:
    virtual = ("fa1", 0, SourceEntity("array_port", "CT0.NPIV", "CT0.NPIV", {"wwpn": ("524a9370000000aa",)}))
    behind = (
        virtual,
        sentence("fa1", "array_port:CT0.NPIV member_of array:fa1"),
        sentence("sw1", "wwpn:524a9370000000aa logged_in switch_port:11"),
    )
    at_array = [cable for cable in cables(san(*behind)) if cable.side == "array"]
    assert {cable.id: len(cable.devices) for cable in at_array} == {
        "link:sw1/fc1/11--fa1/CT0.FC0": 2,
        "link:sw1/fc1/12--fa1/CT1.FC0": 1,
    }
    assert {path.array_port for path in io_paths(san(*behind), "load:fio")} == {
        *(f"array_port:fa1/{port}" for port in TARGETS),
        "array_port:fa1/CT0.NPIV",
    }
