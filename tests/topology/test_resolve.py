"""What several sources say of one thing becomes one entity; what cannot be joined says why."""

from __future__ import annotations

from collections.abc import Mapping

from sanpath.model import Scalar, SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

Reported = tuple[str, SourceEntity | SourceLink]
NAA = "naa.624a93706c1b16ce1c034d1c00013918"


def topology(*reported: Reported) -> Topology:
    return resolve((source, number, item) for number, (source, item) in enumerate(reported))


def entity(source: str, kind: str, local_id: str, label: str = "", **ids: str) -> Reported:
    return source, SourceEntity(kind, local_id, label or local_id, {key: (value,) for key, value in ids.items()})


def about(source: str, kind: str, local_id: str, attributes: Mapping[str, Scalar], **ids: str) -> Reported:
    return source, SourceEntity(kind, local_id, local_id, {key: (value,) for key, value in ids.items()}, attributes)


def edge(source: str, first: str, relation: str, second: str) -> Reported:
    ends = [tuple(end.split(":", 1)) for end in (first, second)]
    return source, SourceLink(
        relation, (ends[0][0], ends[0][1]), (ends[1][0], ends[1][1]), f"{first} {relation} {second}"
    )


def reported(source: str, sentence: str) -> Reported:
    first, relation, second = sentence.split()
    return edge(source, first, relation, second)


def test_one_port_in_three_spellings_is_one_entity_with_the_name_from_the_configuration() -> None:
    found = topology(
        entity("config", "hba", "esx7/vmhba2", wwpn="21:00:00:24:FF:00:00:01"),
        entity("fa1", "hba", "21000024FF000001", wwpn="21000024FF000001"),
        entity("vcenter", "hba", "key-vim.vmhba2", wwpn="0x21000024ff000001"),
    )
    assert list(found.entities) == ["hba:esx7/vmhba2"]
    (hba,) = found.of_kind("hba")
    assert hba.ids["wwpn"] == ("21000024ff000001",)
    assert found.known_as["fa1", "hba", "21000024FF000001"] == "hba:esx7/vmhba2"
    assert ("vcenter", "key-vim.vmhba2") in hba.known_as


def test_two_sources_that_name_one_host_mean_one_host() -> None:
    found = topology(entity("fa1", "host", "esx7"), entity("vcenter", "host", "host-42", label="esx7"))
    assert list(found.entities) == ["host:esx7"]


def test_the_case_of_a_machine_s_name_does_not_matter() -> None:
    """PerfMon writes it in capitals, Jetstress as it was typed, and vCenter as somebody called the machine."""
    found = topology(entity("perfmon", "host", "sql01"), entity("jetstress", "host", "SQL01"))
    assert len(found.of_kind("host")) == 1
    found = topology(entity("perfmon", "host", "sql01"), entity("vcenter", "vm", "vm-7", label="SQL01"))
    assert list(found.entities) == ["vm:SQL01"]


def test_a_name_with_a_domain_is_that_of_the_only_machine_without_one() -> None:
    """fio has the short name of a machine, and iostat or vCenter the full one."""
    found = topology(
        reported("run", "load:fio runs_on host:db1"),
        entity("run", "host", "db1"),
        entity("run", "load", "fio"),
        entity("iostat", "host", "DB1.example.net"),
        entity("iostat", "lun", "sda", label="DB1.example.net/sda"),
        entity("fio", "lun", "sda", label="db1/sda"),
        edge("iostat", "lun:sda", "attached_to", "host:DB1.example.net"),
    )
    assert [host.id for host in found.of_kind("host")] == ["host:DB1.example.net"]
    assert [lun.id for lun in found.of_kind("lun")] == ["lun:DB1.example.net/sda"]
    assert found.related("load:fio", "runs_on") == found.related("lun:DB1.example.net/sda", "attached_to")


def test_a_name_that_machines_of_two_domains_have_is_none_of_them() -> None:
    hosts = ("db1", "db1.example.net", "db1.example.org", "192.0.2.1", "192.0.2.2")
    assert len(topology(*(entity(f"s{host}", "host", host) for host in hosts)).of_kind("host")) == len(hosts)


def test_hosts_that_share_a_port_are_one_though_their_names_differ() -> None:
    found = topology(
        reported("config", "vm:sqlvm1 runs_on host:esx7"),
        entity("config", "host", "esx7", wwpn="21:00:00:24:ff:00:00:01"),
        entity("fa1", "host", "ESX-7-prod", wwpn="21000024ff000001"),
    )
    assert [host.id for host in found.of_kind("host")] == ["host:esx7"]
    assert found.known_as["fa1", "host", "ESX-7-prod"] == "host:esx7"


def read_host(name: str, **ids: str) -> tuple[Reported, ...]:
    """A host that a source of its own reads, with an adapter that has the keys of the host, and a LUN."""
    return (
        entity(name, "host", name, **ids),
        entity(name, "hba", "eth1", label=f"{name}/eth1", **ids),
        edge(name, "hba:eth1", "attached_to", f"host:{name}"),
        entity(name, "lun", "dm-0", label=f"{name}/dm-0"),
        edge(name, "lun:dm-0", "attached_to", f"host:{name}"),
    )


def test_clones_with_one_iqn_are_two_hosts_with_two_adapters() -> None:
    clone = {"iqn": "iqn.1993-08.org.debian:01:5fcb1d2d3a", "ip": "192.168.122.1"}
    found = topology(
        *read_host("db1", **clone), *read_host("db2", **clone), entity("fa1", "host", "pure-db", iqn=clone["iqn"])
    )
    assert {host.id for host in found.of_kind("host")} == {"host:db1", "host:db2", "host:pure-db"}
    assert [hba.id for hba in found.of_kind("hba")] == ["hba:db1/eth1", "hba:db2/eth1"]
    assert found.related("hba:db1/eth1", "attached_to", "host") == ["host:db1"]


def test_two_sources_that_read_one_host_mean_one_host_with_or_without_its_domain() -> None:
    iqn = "iqn.1993-08.org.debian:01:5fcb1d2d3a"
    found = topology(*read_host("db1", iqn=iqn), *read_host("DB1.example.net", iqn=iqn))
    assert len(found.of_kind("host")) == 1
    found = topology(*read_host("db1", iqn=iqn), *read_host("192.0.2.7", iqn=iqn))
    assert len(found.of_kind("host")) == 1


def test_an_array_s_host_with_the_ports_of_several_servers_is_none_of_them() -> None:
    wwpns = ("21000024ff000001", "21000024ff000002")
    cluster = SourceEntity("host", "esx-cluster", "esx-cluster", {"wwpn": wwpns})
    found = topology(*read_host("esx1", wwpn=wwpns[0]), *read_host("esx2", wwpn=wwpns[1]), ("fa1", cluster))
    assert [host.id for host in found.of_kind("host")] == ["host:esx-cluster", "host:esx1", "host:esx2"]
    assert found.related("hba:esx2/eth1", "attached_to", "host") == ["host:esx2"]


def test_the_hosts_of_two_arrays_with_ports_of_one_server_are_that_server() -> None:
    wwpns = ("21000024ff000001", "21000024ff000002")
    found = topology(
        *read_host("esx1", wwpn=wwpns[0]),
        ("fa1", SourceEntity("host", "esx-1", "esx-1", {"wwpn": wwpns})),
        ("fa2", SourceEntity("host", "ESX_1", "ESX_1", {"wwpn": wwpns[1:]})),
    )
    assert [host.id for host in found.of_kind("host")] == ["host:esx1"]


def test_ports_and_volumes_are_named_after_their_device() -> None:
    found = topology(
        entity("sw1", "switch_port", "17", label="fc1/7"),
        entity("sw2", "switch_port", "17", label="fc1/7"),
        entity("fa1", "array_port", "CT0.FC0"),
        entity("fa1", "volume", "vol01"),
        entity("fa1", "array", "pure-prod-01"),
    )
    assert set(found.entities) == {
        *("switch_port:sw1/fc1/7", "switch_port:sw2/fc1/7"),
        *("array_port:fa1/CT0.FC0", "volume:fa1/vol01", "array:fa1"),
    }


def test_a_lun_is_named_after_the_machine_its_load_runs_on() -> None:
    found = topology(
        reported("config", "load:fio runs_on vm:sqlvm1"),
        entity("config", "lun", "sqlvm1/sda", naa=NAA),
        entity("fio", "load", "fio"),
        ("fio", SourceEntity("lun", "sda", "sda", {"device": ("sda",)})),
        reported("fio", "load:fio targets lun:sda"),
    )
    assert [lun.id for lun in found.of_kind("lun")] == ["lun:sqlvm1/sda"]
    assert found.related("load:fio", "targets") == ["lun:sqlvm1/sda"]


def test_a_lun_is_backed_by_the_volume_with_its_identifier_however_it_is_written() -> None:
    found = topology(
        entity("config", "lun", "db1/sdb", naa="3624a93706c1b16ce1c034d1c00013918"),
        ("fa1", SourceEntity("volume", "vol01", "vol01", {"naa": (NAA,), "serial": ("6C1B16CE1C034D1C00013918",)})),
    )
    (link,) = [link for link in found.links if link.relation == "backed_by"]
    assert (link.from_entity, link.to_entity) == ("lun:db1/sdb", "volume:fa1/vol01")
    assert NAA in link.evidence[0]


def test_an_nvme_namespace_is_backed_by_the_volume_with_its_uuid() -> None:
    """Linux gives a namespace the UUID for a name where it has one, although it has an NGUID as well."""
    uuid = "d6974095-a839-4903-84ac-1eb88b344c76"
    found = topology(
        about("host1", "lun", "nvme0n1", {"wwid": f"uuid.{uuid}"}, device="nvme0n1"),
        about("host1", "lun", "nvme0c0n1", {"wwid": f"uuid.{uuid}"}, device="nvme0c0n1"),
        edge("host1", "lun:nvme0c0n1", "member_of", "lun:nvme0n1"),
        about("srv", "volume", "t/1", {"uuid": uuid.upper()}, eui="eui.60014050aabbccdd0011223344556677"),
    )
    (link,) = [link for link in found.links if link.relation == "backed_by"]
    assert (link.from_entity, link.to_entity) == ("lun:nvme0n1", "volume:srv/t/1")


def test_a_lun_without_a_volume_is_told() -> None:
    found = topology(entity("config", "lun", "db1/sdb", naa=NAA))
    (unjoined,) = found.unjoined
    assert "lun:db1/sdb" in unjoined.subject
    assert "no array presents a volume" in unjoined.reason


def test_a_target_given_by_address_is_the_port_that_has_it() -> None:
    found = topology(
        entity("fa1", "array_port", "CT0.ETH4", ip="10.0.0.2"),
        entity("fio", "load", "fio"),
        reported("fio", "load:fio targets ip:10.0.0.2"),
    )
    assert found.related("load:fio", "targets") == ["array_port:fa1/CT0.ETH4"]


def test_a_port_that_only_the_configuration_names_belongs_to_the_host_of_its_name() -> None:
    """Nobody reads the host; its cables are written down."""
    found = topology(
        entity("config", "host", "esx7"),
        entity("sw1", "switch_port", "17", label="fc1/7"),
        reported("config", "switch_port:sw1/fc1/7 cabled_to hba:esx7/vmhba2"),
        reported("config", "switch_port:sw1/fc1/7 cabled_to hba:esx8/vmhba2"),
    )
    assert found.related("hba:esx7/vmhba2", "attached_to") == ["host:esx7"]
    assert not found.related("hba:esx8/vmhba2", "attached_to")


def test_a_wwpn_in_a_port_description_is_a_login_of_the_port_and_not_of_its_host() -> None:
    found = topology(
        entity("fa1", "host", "esx7", wwpn="21000024ff000001"),
        entity("config", "hba", "esx7/vmhba2", wwpn="21000024ff000001"),
        entity("sw1", "switch_port", "17", label="fc1/7"),
        reported("sw1", "wwpn:21:00:00:24:FF:00:00:01 logged_in switch_port:17"),
    )
    login, attached = found.links
    assert (login.from_entity, login.to_entity) == ("hba:esx7/vmhba2", "switch_port:sw1/fc1/7")
    assert login.evidence[0].startswith("sw1: ")
    # The array's list tells whose initiator it is.
    assert (attached.relation, attached.to_entity) == ("attached_to", "host:esx7")
    assert not found.unjoined


def test_a_wwpn_that_nobody_knows_is_told_with_where_it_was_seen() -> None:
    found = topology(
        entity("sw1", "switch_port", "17", label="fc1/7"),
        reported("sw1", "wwpn:500143802426baf4 logged_in switch_port:17"),
    )
    (unjoined,) = found.unjoined
    assert "500143802426baf4" in unjoined.subject
    assert "sw1" in unjoined.subject
    assert unjoined.reason == "no source reports anything with this wwpn"


def test_a_misspelt_port_is_told_with_the_one_that_may_be_meant() -> None:
    found = topology(
        entity("sw1", "switch_port", "17", label="fc1/7"),
        reported("config", "hba:esx7/vmhba2 logged_in switch_port:sw1/fc1-7"),
    )
    (unjoined,) = found.unjoined
    assert unjoined.reason == "no source has it; did you mean switch_port:sw1/fc1/7?"


def test_names_of_the_configuration_address_what_a_collector_found() -> None:
    found = topology(
        entity("sw1", "switch_port", "17", label="fc1/7"),
        reported("config", "hba:esx7/vmhba2 logged_in switch_port:sw1/fc1/7"),
    )
    assert found.related("hba:esx7/vmhba2", "logged_in") == ["switch_port:sw1/fc1/7"]
    assert not found.unjoined


def test_the_same_link_from_two_sources_is_one_link_with_both_pieces_of_evidence() -> None:
    found = topology(
        entity("config", "hba", "esx7/vmhba2", wwpn="21000024ff000001"),
        entity("fa1", "hba", "21000024ff000001", wwpn="21000024ff000001"),
        entity("fa1", "host", "esx7"),
        reported("config", "hba:esx7/vmhba2 attached_to host:esx7"),
        reported("fa1", "hba:21000024ff000001 attached_to host:esx7"),
    )
    (link,) = found.links
    assert [text.partition(":")[0] for text in link.evidence] == ["config", "fa1"]


def test_what_a_source_says_later_replaces_what_it_said_before() -> None:
    found = topology(
        about("sw1", "switch_port", "17", {"alias": "old"}),
        about("sw1", "switch_port", "17", {"alias": "new"}),
    )
    assert found.of_kind("switch_port")[0].attributes["alias"] == "new"


def test_the_configuration_wins_and_the_others_fill_in() -> None:
    found = topology(
        about(
            "fa1", "hba", "21000024ff000001", {"capable_bits_per_second": 4e9, "model": "x"}, wwpn="21000024ff000001"
        ),
        about("config", "hba", "esx7/vmhba2", {"capable_bits_per_second": 8e9}, wwpn="21000024ff000001"),
    )
    attributes = found.of_kind("hba")[0].attributes
    assert attributes == {"capable_bits_per_second": 8e9, "model": "x"}


def test_zeroes_and_blanks_join_nothing() -> None:
    found = topology(
        entity("sw1", "switch_port", "1", label="fc1/1", wwpn="0000000000000000"),
        entity("sw1", "switch_port", "2", label="fc1/2", wwpn="00:00:00:00:00:00:00:00"),
        entity("sw1", "switch_port", "3", label="fc1/3", mac=""),
    )
    assert len(found.of_kind("switch_port")) == 3


def test_nothing_is_no_topology() -> None:
    found = topology()
    assert not found.entities
    assert not found.unjoined
    assert not found.links


def test_a_zone_joins_an_initiator_with_a_target_and_nothing_else() -> None:
    found = topology(
        entity("b1", "hba", "i1", wwpn="21000024ff000001"),
        entity("b1", "hba", "i2", wwpn="21000024ff000002"),
        entity("fa1", "array_port", "CT0", wwpn="524a937000000001"),
        edge("b1", "wwpn:21000024ff000001", "zoned_with", "wwpn:524a937000000001"),
        edge("b1", "wwpn:21000024ff000001", "zoned_with", "wwpn:21000024ff000002"),
        edge("b1", "wwpn:21000024ff000001", "zoned_with", "wwpn:524a9370000000ff"),
    )
    assert [(k.relation, k.from_entity, k.to_entity) for k in found.links] == [
        ("zoned_with", "hba:i1", "array_port:fa1/CT0")
    ]
    assert found.unjoined == []
