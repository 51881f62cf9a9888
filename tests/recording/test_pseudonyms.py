"""Pseudonyms: the same for the same, others for others, and joins that survive them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanpath.recording.redaction.pseudonyms import Pseudonyms
from sanpath.topology.keys import TRUST, normalise

NAMES = st.text(alphabet=st.one_of(st.sampled_from("abcAB019-_.: /"), st.characters()), min_size=1, max_size=30)
WWN = st.integers(1, 2**64 - 1).map(lambda n: f"{n:016x}")


def taken(*names: str) -> Pseudonyms:
    found = Pseudonyms()
    for name in names:
        found.name(name)
    found.assign()
    return found


def spelled(digits: str) -> list[str]:
    pairs = re.findall("..", digits)
    return [digits, digits.upper(), f"0x{digits}", ":".join(pairs), "-".join(pairs).upper(), ".".join(pairs)]


@settings(max_examples=300)
@given(st.lists(NAMES, min_size=1, max_size=8, unique=True))
def test_other_names_stay_others_and_what_is_put_together_stays_so(names: list[str]) -> None:
    found = taken(*names, *(f"{a}/{b}" for a in names for b in names))
    new = [found.pseudonymise(name) for name in names]
    assert len(set(new)) == len(names)
    assert all(
        found.pseudonymise(f"{a}/{b}") == f"{found.pseudonymise(a)}/{found.pseudonymise(b)}"
        for a in names
        for b in names
    )


@settings(max_examples=200)
@given(st.lists(NAMES, min_size=1, max_size=6))
def test_joins_that_do_not_look_at_capitals_are_found_again(names: list[str]) -> None:
    found = taken(*names, *(name.lower() for name in names))
    for name in names:
        if name.isascii():
            assert normalise("iqn", found.pseudonymise(name)) == normalise("iqn", found.pseudonymise(name.lower()))


@settings(max_examples=200)
@given(st.lists(WWN, min_size=1, max_size=6, unique=True))
def test_a_world_wide_name_is_one_in_every_spelling_and_no_other_becomes_it(digits: list[str]) -> None:
    found = taken(*(form for one in digits for form in spelled(one)))
    new = [{normalise("wwpn", found.pseudonymise(form)) for form in spelled(one)} for one in digits]
    assert all(len(forms) == 1 for forms in new)
    assert None not in set.union(*new)
    assert len(set.union(*new)) == len(digits)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(TRUST), min_size=2, max_size=2), st.data())
def test_keys_that_are_none_stay_none(kinds: list[str], data: st.DataObject) -> None:
    """An address of zeros joins nothing before, and must not afterwards."""
    value = data.draw(st.sampled_from(["0000000000000000", "00:00:00:00:00:00", "0.0.0.0", "", "naa.1"]))
    for kind in kinds:
        assert (normalise(kind, taken(value).pseudonymise(value)) is None) == (normalise(kind, value) is None)


@settings(max_examples=100)
@given(st.binary(min_size=12, max_size=12).filter(any))
def test_a_serial_number_is_still_in_the_identifiers_made_of_it(raw: bytes) -> None:
    serial = raw.hex()
    naa, eui = f"naa.624a9370{serial}", f"eui.00{serial[:14]}24a937{serial[14:]}"
    found = taken(serial.upper(), naa, f"3624a9370{serial}", eui)
    new = found.pseudonymise(serial.upper()).lower()
    assert found.pseudonymise(naa) == f"naa.624a9370{new}"
    assert found.pseudonymise(f"3624a9370{serial}") == f"3624a9370{new}"
    assert found.pseudonymise(eui) == f"eui.00{new[:14]}24a937{new[14:]}"
    assert new != serial


def test_a_port_still_tells_its_node_and_the_vendor_stays() -> None:
    node, port, target = "20000024ffabc123", "21000024ffabc123", "524a9371af4e8203"
    found = taken(node, port, target, "52:4a:93:71:af:4e:82:13")
    assert found.pseudonymise(node)[10:] == found.pseudonymise(port)[10:] != node[10:]
    assert (found.pseudonymise(node)[:10], found.pseudonymise(port)[:10]) == (node[:10], port[:10])
    assert found.pseudonymise(target)[:7] == "524a937"
    assert (
        found.pseudonymise(target)[:14]
        == found.pseudonymise("52:4a:93:71:af:4e:82:13").replace(":", "")[:14]
        != target[:14]
    )


@pytest.mark.parametrize(
    "text",
    [
        *("fc1/7", "0/17", "vmhba64", "CT0.FC0", "nvme0n1", "sda", "eth14", "t100", "64k-randread-4", "dm-0"),
        *("2026-01-31T14:00:00+01:00", "0.000167:0.25", "127.0.0.1", "::1"),
    ],
)
def test_parts_of_hardware_and_numbers_stay(text: str) -> None:
    assert taken(text).pseudonymise(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "contoso",
            "Müller",
            "sql-prod",
            "db1",
            "дб",
            "🔥",
            "martin@contoso.com",
            "/home/martin/x.fio",
            "S3C0NTOSO",
        ),
        *("21:00:00:24:ff:ab:c1:23", "5000-d310-00ab-c123", "00:25:b5:ab:c1:23", "0025.b5ab.c123", "6AB12345678"),
        *("192.168.3.4:3260", "fe80::25b5:ff:fe10:1b", "iqn.1998-01.com.contoso:esx7", "1234567890"),
        "4c4c4544-0042-3510-8056-b4c04f4d3232",
    ],
)
def test_what_is_somebodys_goes(text: str) -> None:
    found = taken(text)
    somebodys = {"contoso", "martin", "esx7", "prod", "db1", "müller", "дб", "🔥", "3260"} - {"3260"}
    new = found.pseudonymise(text).lower()
    assert new != text.lower()
    assert not [one for one in somebodys if one in new]
    assert not {"abc123", "ab:c1:23", "c123", "192.168", "fe10", "4f4d3232", "234567890"} & set(
        re.split(r"[^\w:.]", new)
    )


def test_names_keep_their_order() -> None:
    names = ["db12", "alpha", "Beta", "beta9", "gamma", "21000024ffabc123", "21000024ffabc124"]
    words = sorted(name for name in names if name.islower() and not name.startswith("2"))
    found = taken(*names)
    assert sorted(map(found.pseudonymise, words)) == [found.pseudonymise(word) for word in words]
    assert found.pseudonymise(names[-2]) < found.pseudonymise(names[-1])


def test_sentences_keep_sanpaths_own_words_unless_somebody_bears_them() -> None:
    found = Pseudonyms()
    found.sentence('port description "gateway contoso" was refused by contoso and array')
    found.name("array")
    found.assign()
    new = found.pseudonymise('port description "gateway contoso" was refused by contoso and array')
    assert new.startswith('port description "name')
    assert " was refused by name" in new
    assert not re.search("gateway|contoso|array", new)


def test_the_key_tells_everything_again() -> None:
    found = taken("sql-prod.contoso.com", "192.168.3.4")
    key = found.key()
    assert [key[word] for word in re.findall(r"name\d+", found.pseudonymise("sql-prod.contoso.com"))] == [
        "sql",
        "prod",
        "contoso",
    ]
    assert key[found.pseudonymise("192.168.3.4")] == "192.168.3.4"
