"""Parses exports of all tools into records. Pure: text in, records out.

The script of the README writes one JSON object:

    {"sanpath_windows_san": 1, "computer": "SQLVM1", "os": "...", "cores": 16,
     "mpclaim": "MPIO Disk    System Disk ...", "disks": [{"Number": 2, "UniqueId": "60002AC0...", ...}],
     "initiator_ports": [...], "hba_ports": [...], "hba_adapters": [...], "mpio": {...},
     "statistics": [{"time": "2026-11-20T08:00:00Z", "ports": [{"InstanceName": "PCI\\...", "TxWords": 1, ...}]}]}

Exports of single cmdlets (`Get-Disk | ConvertTo-Json`, or as CSV) and the output of mpclaim are read as well.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sanpath.plugin import json_objects, read_json
from sanpath_collectors.windows_san import mpclaim, values

FORMAT_KEY = "sanpath_windows_san"
VERSION = 1
"""Version of the format that the script in the README writes."""

Record = Mapping[str, Any]


@dataclass(slots=True)
class Export:
    """The content of one file.

    `computer`: name of the machine; None: not in the file. `untimed`: number of port statistics without a time.
    `unknown`: number of records of unknown cmdlets.
    """

    computer: str | None = None
    os: str | None = None
    cores: int | None = None
    mpio_disks: list[mpclaim.MpioDisk] = field(default_factory=list)
    disks: list[Record] = field(default_factory=list)
    initiator_ports: list[Record] = field(default_factory=list)
    iscsi_connections: list[Record] = field(default_factory=list)
    volumes: list[Record] = field(default_factory=list)
    hba_ports: list[Record] = field(default_factory=list)
    hba_adapters: list[Record] = field(default_factory=list)
    mpio: list[Record] = field(default_factory=list)
    statistics: list[tuple[int, Record]] = field(default_factory=list)
    version: int = VERSION
    untimed: int = 0
    unknown: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether it has no known records."""
        lists = (self.mpio_disks, self.disks, self.initiator_ports, self.hba_ports, self.hba_adapters, self.mpio)
        return not any(lists) and not self.statistics


def parse_export(content: str) -> Export:
    """Parse a file. A file of another kind gives an empty export."""
    export = Export()
    start = content.lstrip("\ufeff \t\r\n")
    if start.startswith(("{", "[")):
        try:
            document = read_json(start)
        except ValueError:
            return export
        _read_json(export, document)
    elif mpclaim.is_mpclaim(content):
        export.mpio_disks = mpclaim.parse_disks(content)
    else:
        for record in _read_csv(start):
            _add_record(export, record)
    return export


def _read_json(export: Export, document: Any) -> None:
    # ConvertTo-Json writes a list with one record as a record.
    if not isinstance(document, dict) or FORMAT_KEY not in document:
        for record in json_objects(document, or_one=True):
            _add_record(export, record)
        return
    export.version = values.parse_integer(document[FORMAT_KEY]) or 0
    export.computer, export.os = values.parse_text(document.get("computer")), values.parse_text(document.get("os"))
    export.cores = values.parse_integer(document.get("cores"))
    export.mpio_disks = mpclaim.parse_disks(values.parse_text(document.get("mpclaim")) or "")
    for snapshot in json_objects(document.get("statistics"), or_one=True):
        time_us = values.parse_time_us(snapshot.get("time"))
        for record in json_objects(snapshot.get("ports"), or_one=True):
            if time_us is None:
                export.untimed += 1
            else:
                export.statistics.append((time_us, record))
    for key, value in document.items():
        if key != "statistics" and isinstance(value, dict | list):
            for record in json_objects(value, or_one=True):
                _add_record(export, record)


def _read_csv(content: str) -> Iterator[Record]:
    lines = [line for line in content.splitlines() if not line.startswith("#TYPE")]
    if lines:
        separator = max(",;\t", key=lines[0].count)
        try:
            yield from csv.DictReader(io.StringIO("\n".join(lines)), delimiter=separator)
        except csv.Error:
            return


def _add_record(export: Export, record: Record) -> None:
    """Add a record to the list of its class. A class is recognised by members that no other class has."""
    keys = record.keys()
    if {"NodeAddress", "PortAddress"} <= keys:
        export.initiator_ports.append(record)
    elif {"UniqueId", "FriendlyName"} <= keys and keys & {"Number", "DeviceId"}:
        export.disks.append(record)
    elif {"DiskNumber", "Offset"} <= keys:
        export.volumes.append(record)
    elif {"InitiatorAddress", "TargetAddress"} <= keys:
        export.iscsi_connections.append(record)
    elif "PortWWN" in keys:
        export.hba_ports.append(record)
    elif isinstance(nested := record.get("Attributes"), dict) and "PortWWN" in nested:
        export.hba_ports.append({**record, **nested})
    elif {"NodeWWN", "DriverVersion"} <= keys:
        export.hba_adapters.append(record)
    elif keys & {"PathVerificationState", "PDORemovePeriod"}:
        export.mpio.append(record)
    elif "TxWords" in keys or (isinstance(record.get("Statistics"), dict) and "TxWords" in record["Statistics"]):
        export.untimed += 1
    else:
        export.unknown += 1
