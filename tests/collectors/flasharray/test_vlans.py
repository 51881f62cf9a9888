"""iSCSI over tagged VLANs: the port counts their bytes, and initiators log in at their addresses."""

from __future__ import annotations

from sanpath.plugin import SourceEntity
from sanpath_collectors.flasharray import inventory, parse

_PORTS = [
    {"name": "CT0.ETH4", "iqn": "iqn.2010-06.com.purestorage:fa1", "portal": "192.0.2.24:3260"},
    {"name": "CT0.ETH4.202", "iqn": "iqn.2010-06.com.purestorage:fa1", "portal": "198.51.100.24:3260"},
    {"name": "CT0.ETH5.202", "iqn": "iqn.2010-06.com.purestorage:fa1", "portal": "198.51.100.25:3260"},
]
_INTERFACES = [
    {
        "name": "ct0.eth4",
        "speed": 25_000_000_000,
        "eth": {"address": "192.0.2.24", "mac_address": "24:A9:37:00:00:04"},
    },
    {"name": "ct0.eth4.202", "speed": 25_000_000_000, "eth": {"address": "198.51.100.24", "vlan": 202}},
    {"name": "ct0.eth5", "speed": 25_000_000_000, "eth": {"address": None, "mac_address": "24:A9:37:00:00:05"}},
]


def test_a_port_has_the_addresses_of_its_vlans() -> None:
    items = list(inventory.ports(_PORTS, _INTERFACES, "fa1"))
    ports = {item.local_id: item for item in items if isinstance(item, SourceEntity)}
    assert {name: port.ids["ip"] for name, port in ports.items()} == {
        "CT0.ETH4": ("192.0.2.24", "198.51.100.24"),
        "CT0.ETH5": ("198.51.100.25",),
    }
    assert {port.attributes["capable_bits_per_second"] for port in ports.values()} == {25_000_000_000}


def test_the_bytes_of_a_vlan_are_those_of_its_port() -> None:
    traffic = [
        {"name": name, "interface_type": "eth", "time": 1000, "eth": {"received_bytes_per_sec": count}}
        for name, count in (("ct0.eth4", 700), ("ct0.eth4.202", None), ("ct0.eth5", 300))
    ]
    rows = parse.port_performance(traffic, {parse.physical_port(port) for port in _PORTS}, 0)
    assert rows is not None
    assert dict(zip(rows.entity, rows.values["bytes_per_second_rx"], strict=True)) == {
        "CT0.ETH4": 700,
        "CT0.ETH5": 300,
    }


def test_the_balance_of_a_port_is_that_of_its_vlans_together() -> None:
    counts = {"CT0.ETH4": 5, "CT0.ETH4.202": 7, "CT0.ETH5.202": 11}
    items = [
        {"initiator": {"iqn": "iqn.db1"}, "target": {"name": name}, "op_count": count, "time": 1000}
        for name, count in counts.items()
    ]
    rows = parse.balance(items, 0)
    assert rows is not None
    by_pair = dict(zip(rows.entity, rows.values["ops_count"], strict=True))
    assert by_pair == {"iqn.db1>CT0.ETH4": 12, "iqn.db1>CT0.ETH5": 11}
