"""What switches write into their values, and what a reader may make of it."""

from __future__ import annotations

import pytest

from sanpath_collectors.snmp_switch.logins import Login, role
from sanpath_collectors.snmp_switch.parse import decode_value, number, parse_counter, text, wwn
from sanpath_collectors.snmp_switch.profile import Counter, Value, devices, profiles
from sanpath_collectors.snmp_switch.tables import SWITCH_PORT


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (bytes.fromhex("00000dcc70d6b6b8"), (15_171_717_609_144, 63)),
        (b"00 00 0d cc 70 D6 B6 B8", (15_171_717_609_144, 63)),  # a tool on the way had made text of it
        (bytes.fromhex("8000000000000000"), None),  # not supported
        (bytes.fromhex("8000000000000007"), (7, 63)),
        (bytes.fromhex("00000006"), (6, 32)),
        (4_294_967_295, (4_294_967_295, 64)),
        (-1, None),
        (b"", None),
        (b"none", (1_852_796_517, 32)),  # four octets are a number, whatever they spell
        (b"n/a", None),
        (None, None),
        ("1.3.6.1", None),
    ],
)
def test_counters_in_octets_and_integers(value: bytes | int | str | None, found: tuple[int, int] | None) -> None:
    assert parse_counter(value, 64) == found


def test_names_lose_what_would_drive_a_terminal_and_nothing_else() -> None:
    assert text(b"\x1b[2J<b>fc1/1</b>\0\r\n") == "[2J<b>fc1/1</b>"
    assert text("Gerät ‮ 7".encode()) == "Gerät  7"
    assert text(b"\xff\xfe7") == "\ufffd\ufffd7"
    assert text(7) == text(None) == ""


def test_world_wide_names() -> None:
    assert wwn(bytes.fromhex("1000000533316d940000000000000000")) == "1000000533316d94"
    assert wwn(b"20:1f:00:2a:6a:fc:5b:80") == "201f002a6afc5b80"
    assert wwn(bytes(8)) is None
    assert wwn(b"\xff" * 8) is None
    assert wwn(b"") is None


@pytest.mark.parametrize(
    ("written", "found"), [(b"-2.6   ", -2.6), (b"36     ", 36.0), (b"-inf", None), (b"NA", None)]
)
def test_optics_in_words(written: bytes, found: float | None) -> None:
    assert number(written) == found


def test_speeds_and_modes() -> None:
    capable = Value.model_validate({"oid": "1.3", "as": "gigabit_list"})
    assert decode_value(capable, b"8,16,32_Gbps") == 32_000_000_000
    assert decode_value(capable, b"NA") is None
    kilobytes = Value.model_validate({"oid": "1.3", "factor": 8000, "above_zero": True})
    assert decode_value(kilobytes, 2_000_000) == 16_000_000_000
    assert decode_value(kilobytes, 0) is None
    mode = Value.model_validate({"oid": "1.3", "values": {4: "E"}})
    assert (decode_value(mode, 4), decode_value(mode, 99), decode_value(mode, b"E")) == ("E", None, None)


@pytest.mark.parametrize(
    ("symbolic", "found"),
    [
        ("fnic v1.5.0.4-1vmw over fnic1", "initiator"),
        ("Emulex PPN-10:00:00:00:c9:ed:1c:39", "initiator"),
        ("QLA2340 FW:v3.03.21 DVR:v9.1.4.10", "initiator"),
        ("QLE2692 FW:v9.08.02", "initiator"),
        ("DGC     LUNZ            0430", "target"),
        ("DGC     LUNZ            0430/N-C3883D0000 Port-0    ", "target"),  # what was there before is not wiped
        ("HUAWEI  XSG1            4303", "target"),
        ("3PARdata VV              3315", None),  # not where the standard has it
        ("NETAPP  LUN C-Mode      9400", "target"),
        ("HP Ultrium 4 Fibre Channel S/N-C388C4F000 Port-0", None),
        ("NWPU-UCS-FI-A:fc1/31", None),
        ("", None),
    ],
)
def test_initiators_and_targets_by_what_they_call_themselves(symbolic: str, found: str | None) -> None:
    assert role(Login("1", "2" * 16, "test", symbolic=(symbolic,)), devices()) == found


@pytest.mark.parametrize(
    ("octet", "bits", "found"),
    [(7, 1, "target"), (7, 2, "initiator"), (7, 3, None), (23, 2, "initiator"), (23, 1, "target")],
)
def test_fc4_features_outrank_symbolic_names(octet: int, bits: int, found: str | None) -> None:
    features = bytearray(128)
    features[octet] = bits
    login = Login("1", "2" * 16, "test", features=bytes(features), symbolic=("fnic v1",))
    assert role(login, devices()) == found


@pytest.mark.parametrize(
    ("symbolic", "found"),
    [
        ("", "target"),
        ("HUAWEI  XSG1            4303", "target"),
        ("IBM     2145            0000", "target"),
        ("NWPU-UCS-FI-A:fc1/31", "target"),
        ("QLE2562 FW:v8.08.00 DVR:v10.01.00", None),
        ("Emulex PPN-10:00:00:00:c9:ed:1c:39", None),
    ],
)
def test_what_is_a_target_and_an_initiator_is_an_array_unless_it_has_the_name_of_an_adapter(
    symbolic: str, found: str | None
) -> None:
    both = bytes([*[0] * 7, 3, *[0] * 120])
    assert role(Login("1", "2" * 16, "test", features=both, symbolic=(symbolic,)), devices()) == found


def test_profiles_name_metrics_that_there_are_and_one_scale_for_each() -> None:
    declared = {column.metric: column for column in SWITCH_PORT.columns}
    for profile in profiles():
        for counter in profile.counters:
            assert counter.metric in declared, f"{profile.title}: {counter.metric}"
            assert bool(counter.bits) == bool(declared[counter.metric].bits), f"{profile.title}: {counter.metric}"


def test_a_mistake_in_a_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="metrik"):
        Counter.model_validate({"metrik": "bytes_rx_total", "metric": "bytes_rx_total", "oid": "1.3.6"})
    with pytest.raises(ValueError, match="oid"):
        Counter.model_validate({"metric": "bytes_rx_total", "oid": "ifInOctets"})
