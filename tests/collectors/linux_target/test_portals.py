"""Portals on all addresses of the server, and on one, however they were written when they were configured."""

from __future__ import annotations

import pytest

from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_target.inventory import Inventory
from sanpath_collectors.linux_target.targets import targets

GROUP = "/sys/kernel/config/target/iscsi/iqn.2003-01.org.example:t1/tpgt_1"
ADDRESSES = {"eth0": ("192.0.2.9", "2001:db8::9"), "eth1": ("198.51.100.9",), "eth2": ()}


def ports(portal: str) -> list[str]:
    server = Snapshot({f"{GROUP}/enable": b"1\n"}, [f"{GROUP}/np/{portal}"])
    return list(Inventory(server, "stor1", targets(server, ()), {}, ADDRESSES, {}).ports)


@pytest.mark.parametrize("portal", ["0.0.0.0:3260", "[::]:3260", "[::0]:3260", "[0:0:0:0:0:0:0:0]:3260"])
def test_a_portal_on_all_addresses_is_on_every_interface_that_has_one(portal: str) -> None:
    assert ports(portal) == ["eth0", "eth1"]


@pytest.mark.parametrize("portal", ["192.0.2.9:3260", "[2001:db8::9]:3260", "[2001:DB8:0:0::9]:3260"])
def test_a_portal_on_one_address_is_on_its_interface(portal: str) -> None:
    assert ports(portal) == ["eth0"]
