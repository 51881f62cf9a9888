"""What Windows' own tools tell of a host on a SAN, and what it joins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sanpath.plugin import CollectorError, Event, Item, Rows, SourceEntity, SourceLink
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath_collectors.perfmon.reader import PerfMonLog
from sanpath_collectors.windows_san import mpclaim, reader
from sanpath_collectors.windows_san.reader import WindowsSan
from sanpath_collectors.windows_san.tables import STATISTICS

CASES = Path(__file__).parent
SCRIPT = (CASES / "script-fibre-channel/SQLVM1.san.json").read_bytes()
README = (Path(reader.__file__).parent / "README.md").read_text(encoding="utf-8")


def read(content: bytes | str, name: str = "windows_san") -> list[Item]:
    export = WindowsSan(name)
    return [*export.feed(content.encode() if isinstance(content, str) else content), *export.finish()]


def node(items: list[Item], kind: str, local_id: str) -> SourceEntity:
    return next(i for i in items if isinstance(i, SourceEntity) and (i.kind, i.local_id) == (kind, local_id))


def reported(items: list[Item]) -> dict[str, str]:
    return {str(i.detail["code"]): str(i.detail["text"]) for i in items if isinstance(i, Event)}


def joined(*sources: tuple[str, list[Item]]) -> Topology:
    return resolve(
        (name, 0, item) for name, items in sources for item in items if isinstance(item, SourceEntity | SourceLink)
    )


def test_a_disk_in_performance_monitor_is_the_volume_of_the_array() -> None:
    """The disk's number joins the two logs of the host, its NAA identifier the array, the WWPN the switch."""
    counters = PerfMonLog("perfmon")
    log = '"(PDH-CSV 4.0) (UTC)(0)","\\\\SQLVM1\\PhysicalDisk(2 E:)\\Disk Reads/sec"\r\n'
    log += '"11/20/2026 08:00:00.000"," "\r\n"11/20/2026 08:00:01.000","1"\r\n'
    volume = SourceEntity("volume", "vol01", "vol01", {"naa": ("naa.60002ac0000000000000000a0001b3e5",)})
    port = SourceEntity("switch_port", "fc1/7", "fc1/7", {"name": ("fc1/7",)})
    login = SourceLink("logged_in", ("wwpn", "21:00:00:24:ff:00:0a:01"), ("switch_port", "fc1/7"), "name server")
    topology = joined(
        ("perfmon", [*counters.feed(log.encode()), *counters.finish()]),
        ("windows_san", read(SCRIPT)),
        ("fa1", [volume]),
        ("sw1", [port, login]),
    )
    lun = topology.entities["lun:sqlvm1/PhysicalDisk2"]
    assert {source for source, _ in lun.known_as} == {"perfmon", "windows_san"}
    assert lun.attributes["drives"] == "E:"
    assert lun.attributes["path_policy"] == "round_robin_subset"
    assert topology.related(lun.id, "backed_by") == ["volume:fa1/vol01"]
    assert topology.related("hba:sqlvm1/21000024ff000a01", "logged_in") == ["switch_port:sw1/fc1/7"]
    assert topology.related("host:sqlvm1", "attached_to", "hba") == [
        "hba:sqlvm1/21000024ff000a01",
        "hba:sqlvm1/21000024ff000a02",
        "hba:sqlvm1/iqn.1991-05.com.microsoft:sqlvm1.example.org",
    ]


def test_unequal_ports_behind_one_disk_are_seen() -> None:
    items = read(SCRIPT)
    ports = {
        link.to_end[1]
        for link in items
        if isinstance(link, SourceLink) and link.relation == "attached_to" and "PhysicalDisk3/" in link.from_end[1]
    }
    speeds = {node(items, "hba", port).attributes["speed_bits_per_second"] for port in ports}
    assert speeds == {4_000_000_000, 8_000_000_000}


def test_words_of_the_ports_are_bytes() -> None:
    rows = [item for item in read(SCRIPT) if isinstance(item, Rows)]
    column = next(c for c in rows[0].table.columns if c.metric == "bytes_rx_total")
    first, second = (r.values["bytes_rx_total"][r.entity.index("sqlvm1/21000024ff000a01")] for r in rows)
    assert first is not None
    assert second is not None
    seconds = (rows[1].seen[0] - rows[0].seen[0]) / 1e6
    assert (second - first) * column.scale / seconds == pytest.approx(409.6e6)  # 390.6 MiB/s: a full 4GFC link


@pytest.mark.parametrize(
    ("native", "common"),
    [
        ("FOO", "failover_only"),
        ("RR", "round_robin"),
        ("RRWS", "round_robin_subset"),
        ("LQD", "least_queue_depth"),
        ("WP", "weighted"),
        ("LB", "least_blocks"),
        ("VS", None),
    ],
)
def test_policies_have_the_names_of_all_platforms(native: str, common: str | None) -> None:
    listed = f"MPIO Disk0   Disk 7       {native:<12} Some DSM\r\n"
    lun = node(read(listed, "sql1"), "lun", "sql1/PhysicalDisk7")
    assert lun.attributes.get("path_policy") == common
    assert lun.attributes["path_policy_native"] == native


def test_details_without_the_list_find_their_disk_by_its_identifier() -> None:
    details = (CASES / "mpclaim-verbose/mpio_configuration.log").read_text(encoding="utf-16")
    export = {
        "sanpath_windows_san": 1,
        "computer": "DB2",
        "mpclaim": details,
        "disks": [{"Number": 4, "UniqueId": "60060160A0B02E00B1C2D3E4F5061728", "FriendlyName": "DGC"}],
    }
    lun = node(read(json.dumps(export)), "lun", "db2/PhysicalDisk4")
    assert (lun.attributes["paths"], lun.attributes["paths_active"]) == (2, 2)
    assert lun.attributes["path_policy"] == "failover_only"


def test_mpclaim_in_german_is_understood_by_its_columns() -> None:
    text = """MPIO-Datenträger0   Datenträger 2   RRWS         Microsoft-DSM
MPIO-Datenträger0: 02 Pfade, Roundrobin mit Teilmenge, ALUA wird nicht unterstützt
    SN: 60002AC0000000000000000A0001B3E5
    0000000077030001 Aktiv/Optimiert    003|000|001|005   0
    0000000077030000 Nicht verfügbar    003|000|000|005   0
"""
    items = read(text, "sql1")
    lun = node(items, "lun", "sql1/PhysicalDisk2")
    assert lun.attributes["path_policy"] == "round_robin_subset"
    assert lun.attributes["path_policy_native"] == "Roundrobin mit Teilmenge"
    assert (lun.attributes["paths"], lun.attributes["paths_active"]) == (2, 1)
    assert "Nicht verfügbar" in reported(items)["paths-down"]


def test_paths_that_changed_between_two_outputs_are_said() -> None:
    """A person took a path away, and ran mpclaim again: the last state is used, not silently."""
    head = "MPIO Disk2: 02 Paths, Round Robin with Subset, ALUA Not Supported\n    Controlling DSM: Microsoft DSM\n"
    paths = [f"    000000007704000{n} Active/Optimized   004|000|00{n}|001   0\n" for n in range(2)]
    before = head + "".join(paths)
    assert "paths-changed" not in reported(read(before + before))  # mpclaim -s -d 2, and mpclaim -v
    items = read(before + head + paths[0])
    assert reported(items)["paths-changed"] == (
        "the paths of MPIO Disk2 of windows_san changed once in the outputs: the last one is used"
    )
    assert node(items, "lun", "windows_san/MPIO Disk2").attributes["paths"] == 1


@pytest.mark.parametrize(
    ("unique_id", "form", "naa"),
    [
        ("60002AC0000000000000000A0001B3E5", "FCPH Name", "naa.60002ac0000000000000000a0001b3e5"),
        ("5000C500A1B2C3D4", "3", "naa.5000c500a1b2c3d4"),
        ("60002AC0000000000000000A0001B3E5", "Vendor Specific", None),
        ("A1B2C3D4A1B2C3D4A1B2C3D4A1B2C3D4", None, None),
        ("{00000000-0000-0000-0000-000000000001}:SQL1", None, None),
        ("", None, None),
    ],
)
def test_only_an_naa_identifier_joins_a_volume(unique_id: str, form: str | None, naa: str | None) -> None:
    disk: dict[str, Any] = {"Number": 1, "UniqueId": unique_id, "FriendlyName": "x", "BusType": "SAS"}
    lun = node(
        read(json.dumps([disk | ({"UniqueIdFormat": form} if form else {})])), "lun", "windows_san/PhysicalDisk1"
    )
    assert lun.ids.get("naa") == ((naa,) if naa else None)


def test_a_file_without_its_machine_is_called_as_the_source_and_says_so() -> None:
    items = read((CASES / "mpclaim-show-disks/mpclaim.txt").read_bytes(), "SQL9")
    assert node(items, "host", "sql9").ids == {"name": ("sql9",)}
    assert "--name" in reported(items)["host-unknown"]


def test_a_machine_that_a_person_names_is_called_so_and_nothing_is_missing() -> None:
    reader = WindowsSan("windows_san-2")
    reader.host = "sql1"
    items = [*reader.feed((CASES / "mpclaim-show-disks/mpclaim.txt").read_bytes()), *reader.finish()]
    assert node(items, "host", "sql1").ids == {"name": ("sql1",)}
    assert "windows_san-2" not in str(items)
    assert "host-unknown" not in reported(items)


def test_one_of_a_kind_is_read_like_a_list_of_one() -> None:
    """ConvertTo-Json of PowerShell 5.1 leaves the brackets away."""
    alone = json.loads(SCRIPT.decode("utf-8-sig"))
    alone["disks"] = alone["disks"][1]
    assert node(read(json.dumps(alone)), "lun", "sqlvm1/PhysicalDisk2").attributes["model"] == "3PARdata VV"


def test_the_format_of_the_volume_on_a_disk() -> None:
    script = json.loads(SCRIPT.decode("utf-8-sig"))
    volume = {"DiskNumber": 2, "Offset": 1048576, "FileSystem": "NTFS", "AllocationUnitSize": 65536}
    script["volumes"] = [volume, volume | {"Offset": 32256}, volume | {"DiskNumber": 3, "AllocationUnitSize": 4096}]
    items = read(json.dumps(script))
    disk, other_disk = (node(items, "lun", f"sqlvm1/PhysicalDisk{number}").attributes for number in (2, 3))
    assert (disk["file_system"], disk["allocation_unit_bytes"]) == ("NTFS", 65536)
    assert disk["partition_offset_bytes"] == 32256, "the one that is not aligned"
    assert (other_disk["allocation_unit_bytes"], other_disk["partition_offset_bytes"]) == (4096, 1048576)
    script["volumes"][1]["FileSystem"] = "ReFS"
    assert "file_system" not in node(read(json.dumps(script)), "lun", "sqlvm1/PhysicalDisk2").attributes


def test_the_script_of_the_readme_asks_for_all_that_is_read() -> None:
    script = README.split("```powershell")[1].split("```")[0]
    members = [*STATISTICS.values(), "UniqueId", "PortWWN", "OSDeviceName", "NodeAddress", "FirmwareVersion"]
    assert [member for member in members if member not in script] == []
    for word in ("sanpath_windows_san", "computer", "mpclaim", "statistics", "time", "ports"):
        assert word in script


def test_the_script_only_reads() -> None:
    script = README.split("```powershell")[1].split("```")[0]
    for verb in (
        "Set-MPIO",
        "Set-MSDSM",
        "Set-Disk",
        "New-",
        "Remove-",
        "Enable-",
        "Disable-",
        "mpclaim.exe -l",
        "-r -i",
    ):
        assert verb not in script
    assert [line for line in script.splitlines() if "Set-" in line] == [
        '$all | ConvertTo-Json -Depth 6 | Set-Content -Encoding UTF8 "$env:COMPUTERNAME.san.json"'
    ]


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        (SCRIPT[:65536], True),
        (b"MPIO Disk0   Disk 2       RR           Microsoft DSM\r\n", True),
        ('"NodeAddress","PortAddress","ConnectionType"\r\n'.encode("utf-16"), True),
        (b'{"fio version" : "fio-3.33", "jobs": []}', False),
        (b'"(PDH-CSV 4.0)","\\\\A\\PhysicalDisk(0)\\Disk Reads/sec"\r\n', False),
        (b"time,value\n1,2\n", False),
        (b"", False),
    ],
)
def test_recognises_its_files_only(content: bytes, is_one: bool) -> None:
    assert WindowsSan.recognises(content, "x") is is_one


def test_what_is_none_is_refused_with_what_to_do() -> None:
    for content in ("", "{}", "[1, 2", "hello"):
        with pytest.raises(CollectorError, match="script of the README"):
            read(content)


def test_a_file_without_an_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_MAX_BYTES", 1000)
    export = WindowsSan("x")
    with pytest.raises(CollectorError, match="not an inventory"):
        export.feed(b"x" * 1001)


def test_policies_are_of_the_shared_vocabulary() -> None:
    shared = {"round_robin", "round_robin_subset", "least_queue_depth", "least_blocks", "failover_only", "weighted"}
    assert set(mpclaim.POLICIES.values()) == shared
