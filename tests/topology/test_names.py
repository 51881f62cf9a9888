"""Names of entities for people: a noun that a storage engineer would use, and sentences without ids."""

from __future__ import annotations

import pytest

from sanpath.topology.names import in_words, named, noun


@pytest.mark.parametrize(
    ("entity", "technology", "words"),
    [
        ("hba:host1/eth1", None, "network port"),
        ("hba:esx7/vmnic3", "ethernet", "network port"),
        ("hba:node1/storage-a", "ethernet", "network port"),
        ("hba:node1/storage-a", None, "initiator port"),
        ("hba:esx7/vmhba64", "ethernet", "HBA"),
        ("hba:esx7/vmhba2", None, "HBA"),
        ("hba:host1/host0", "ethernet", "HBA"),
        ("hba:21000024ff000009", None, "HBA"),
        ("hba:21:00:00:24:ff:00:00:09", None, "HBA"),
        ("lun:esx7/naa.624a93705f1c0b7e", None, "LUN"),
        ("lun:host1/dm-0", None, "device"),
        ("lun:SQLVM1/PhysicalDisk2", None, "device"),
        ("array_port:fa1/CT0.FC0", None, "target port"),
        ("hba:", None, "initiator port"),
    ],
)
def test_an_entity_is_called_what_it_is(entity: str, technology: str | None, words: str) -> None:
    assert noun(entity, technology) == words


def test_a_noun_is_not_said_twice() -> None:
    assert named("array", "array1") == "array1"
    assert named("array", "fa1") == "array fa1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("give lun:host1/dm-0 a deeper queue", "give device host1/dm-0 a deeper queue"),
        ("more throughput would point to hba:host1/eth1.", "more throughput would point to network port host1/eth1."),
        ("link:esx7/vmhba2--sw1/fc1/7 is full", "link esx7/vmhba2 - sw1/fc1/7 is full"),
        ("(array:array1, and vm:vm1)", "(array1, and vm1)"),
        ("path: 5 ms; a workload:x and /path:y stay", "path: 5 ms; a workload:x and /path:y stay"),
    ],
)
def test_a_sentence_names_entities_by_nouns(text: str, words: str) -> None:
    assert in_words(text) == words
