"""Join keys as devices and people write them."""

from __future__ import annotations

import pytest

from sanpath.topology.keys import normalise

WWPN = "21000024ff000001"
NAA = "naa.624a93706c1b16ce1c034d1c00013918"


@pytest.mark.parametrize(
    "written",
    [
        WWPN,
        "21:00:00:24:ff:00:00:01",
        "21:00:00:24:FF:00:00:01",
        "0x21000024ff000001",
        "0X21000024FF000001",
        "21-00-00-24-ff-00-00-01",
        "2100.0024.ff00.0001",
        " 21 00 00 24 FF 00 00 01 ",
    ],
)
def test_one_wwpn_in_many_spellings(written: str) -> None:
    assert normalise("wwpn", written) == WWPN


@pytest.mark.parametrize("written", ["", "0000000000000000", "21:00:00:24:ff:00:00", "N/A", WWPN + "00"])
def test_what_is_no_wwpn_joins_nothing(written: str) -> None:
    assert normalise("wwpn", written) is None


def test_switches_and_their_lldp_ports() -> None:
    assert normalise("switch_wwn", "10:00:00:05:33:31:6D:94") == "1000000533316d94"
    assert normalise("switch_wwn", "0") is None
    assert normalise("lldp", "02:00:0A:00:00:FE/Ethernet1/49") == "02:00:0a:00:00:fe/ethernet1/49"


@pytest.mark.parametrize(
    "written",
    [
        NAA,
        NAA.upper().replace("NAA.", "naa."),
        NAA.removeprefix("naa."),
        "3624a93706c1b16ce1c034d1c00013918",  # Linux: scsi_id, multipath -ll
        "0x624a93706c1b16ce1c034d1c00013918",  # Linux: /dev/disk/by-id/wwn-0x...
    ],
)
def test_one_naa_identifier_in_many_spellings(written: str) -> None:
    assert normalise("naa", written) == NAA


def test_short_naa_identifiers() -> None:
    assert normalise("naa", "naa.5000C5001234ABCD") == "naa.5000c5001234abcd"
    assert normalise("naa", "35000c5001234abcd") == "naa.5000c5001234abcd"
    assert normalise("naa", "t10.ATA_____disk") is None


def test_addresses_and_names() -> None:
    assert normalise("ip", "2001:DB8:0::1") == normalise("ip", "2001:db8::1") == "2001:db8::1"
    assert normalise("ip", "fa1.example") is None
    assert normalise("mac", "AA-BB-CC-00-11-22") == normalise("mac", "aabb.cc00.1122") == "aabbcc001122"
    assert normalise("mac", "00:00:00:00:00:00") is None
    assert normalise("iqn", "IQN.2010-06.com.example:Flash") == "iqn.2010-06.com.example:flash"
    assert normalise("serial", " 6C1B ") == "6C1B"
    assert normalise("name", "  ") is None
