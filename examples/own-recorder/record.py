"""Writes a small recording without sanpath: a load of 64 KiB reads through a switch port of 4 Gb/s, for a minute.

Usage: python record.py NAME.sanpath; it needs DuckDB only. The format: docs/recording-format.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

START_US = 1_700_000_000_000_000
SECONDS = range(62)
READS_PER_SECOND, BLOCK_BYTES, OUTSTANDING = 6_250, 65_536, 16
COUNTED_BYTES_PER_SECOND = 415_200_000
"""What a Fibre Channel port counts for these reads: frame headers are included."""
INITIATOR, TARGET = "21000024ff000002", "524a937000000001"

Columns = list[dict[str, Any]]
LOAD_COLUMNS: Columns = [
    {"metric": "ops_read_total", "bits": 64},
    {"metric": "bytes_read_total", "bits": 64},
    {"metric": "latency_seconds_read_total", "bits": 64, "scale": 1e-9},
    {"metric": "in_flight_configured", "bits": 0},
]
PORT_COLUMNS: Columns = [
    {"metric": "bytes_rx_total", "bits": 64},
    {"metric": "bytes_tx_total", "bits": 64},
    {"metric": "link_speed_bits_per_second", "bits": 0},
]
DOCUMENTS = {
    "manifest.json": {
        "run_id": "0123456789abcdef0123456789abcdef",
        "format": 1,
        "tool_version": "own 1.0",
        "started": "2023-11-14T22:13:20+00:00",
    },
    "writers/own.json": {
        "started_us": START_US,
        "sources": [
            {
                "name": "generator",
                "collector": "own",
                "every_seconds": 1,
                "tables": [{"kind": "load", "plane": "load", "columns": LOAD_COLUMNS}],
            },
            {
                "name": "sw1",
                "collector": "own",
                "every_seconds": 1,
                "tables": [{"kind": "switch_port", "columns": PORT_COLUMNS}],
            },
        ],
    },
    "writers/own.end.json": {
        "ended_us": START_US + len(SECONDS) * 1_000_000,
        "load_exit_code": 0,
        "recorder_cpu_seconds": 0.0,
        "written": {"samples/load": 1, "samples/switch_port": 1, "inventory": 1, "events": 1, "polls": 1},
    },
}

ENTITY = ("kind", "local_id", "label", "ids", "attributes")
LINK = ("relation", "from_kind", "from_id", "to_kind", "to_id", "evidence")


def types(*columns: str, of: str) -> dict[str, str]:
    """Columns of one type, as DuckDB calls it."""
    return dict.fromkeys(columns, of)


def samples(columns: Columns) -> dict[str, str]:
    """The columns of a table of samples."""
    always = types("source", "entity", of="VARCHAR") | types("seen", "device_time", of="BIGINT")
    metrics = {column["metric"]: "UBIGINT" if column["bits"] else "DOUBLE" for column in columns}
    return always | types("covers_seconds", of="DOUBLE") | metrics


TABLES = {
    "samples/load": samples(LOAD_COLUMNS),
    "samples/switch_port": samples(PORT_COLUMNS),
    "inventory": types("source", of="VARCHAR") | types("seen", of="BIGINT") | types(*ENTITY, *LINK, of="VARCHAR"),
    "events": types("source", "name", "detail", of="VARCHAR") | types("seen", of="BIGINT"),
    "polls": types("source", "outcome", "failure", "message", of="VARCHAR")
    | types("due", "started", "ended", "rows", "requests", "bytes_in", of="BIGINT"),
}

Row = dict[str, Any]


def load_samples() -> list[Row]:
    """The load's counters, every second."""
    return [
        {
            "source": "generator",
            "entity": "job",
            "seen": moment(second),
            "ops_read_total": READS_PER_SECOND * second,
            "bytes_read_total": READS_PER_SECOND * second * BLOCK_BYTES,
            # Nanoseconds, by the scale: 16 outstanding I/Os wait 16 seconds together in each second.
            "latency_seconds_read_total": OUTSTANDING * second * 10**9,
            "in_flight_configured": OUTSTANDING,
        }
        for second in SECONDS
    ]


def port_samples() -> list[Row]:
    """Counters of the two ports: reads leave the switch at the host's port, and enter it at the array's."""
    return [
        {
            "source": "sw1",
            "entity": port,
            "seen": moment(second),
            "bytes_rx_total": COUNTED_BYTES_PER_SECOND * second * (port == "array side"),
            "bytes_tx_total": COUNTED_BYTES_PER_SECOND * second * (port == "host side"),
            "link_speed_bits_per_second": 4e9,
        }
        for port in ("host side", "array side")
        for second in SECONDS
    ]


def entity(source: str, kind: str, local_id: str, label: str, wwpn: str = "", **attributes: str | float) -> Row:
    """An entity as a source sees it. `wwpn` joins it with what other sources report of it."""
    ids = {"wwpn": [wwpn]} if wwpn else {}
    values = (kind, local_id, label, json.dumps(ids), json.dumps(attributes))
    return {"source": source, "seen": START_US} | dict(zip(ENTITY, values, strict=True))


def link(source: str, first: tuple[str, str], relation: str, second: tuple[str, str]) -> Row:
    """A relation. An end is the kind and local id of an entity of this source, or a key kind and a value."""
    values = (relation, *first, *second, "example")
    return {"source": source, "seen": START_US} | dict(zip(LINK, values, strict=True))


def inventory() -> list[Row]:
    """The host with its port by the generator's source, everything else by the switch."""
    job, host, port = ("load", "job"), ("host", "esx7"), ("hba", "vmhba2")
    switch, near, far = ("switch", "sw1"), ("switch_port", "host side"), ("switch_port", "array side")
    return [
        entity("generator", *job, "job", block_bytes=BLOCK_BYTES, read_ratio=1.0),
        entity("generator", *host, "esx7"),
        entity("generator", *port, "esx7/vmhba2", INITIATOR, technology="fibre_channel"),
        entity("sw1", *switch, "sw1"),
        entity("sw1", *near, "fc1/1", technology="fibre_channel"),
        entity("sw1", *far, "fc1/2", technology="fibre_channel"),
        entity("sw1", "array_port", TARGET, TARGET, TARGET),
        link("generator", job, "runs_on", host),
        link("generator", port, "attached_to", host),
        link("sw1", near, "member_of", switch),
        link("sw1", far, "member_of", switch),
        link("sw1", ("wwpn", INITIATOR), "logged_in", near),
        link("sw1", ("wwpn", TARGET), "logged_in", far),
    ]


def events() -> list[Row]:
    """One load step, with one second of ramp."""
    detail = json.dumps({"step": "t16", "offered": OUTSTANDING, "block_bytes": BLOCK_BYTES})
    marks = (("step-begin", 0), ("ramp-end", 1), ("step-end", SECONDS[-1]))
    return [{"source": "generator", "seen": moment(s), "name": name, "detail": detail} for name, s in marks]


def polls() -> list[Row]:
    """Every poll of every source succeeded, and took a millisecond."""
    done = {"outcome": "ok", "failure": "", "message": "", "rows": 1, "requests": 1, "bytes_in": 100}
    return [
        {"source": source, "due": moment(s), "started": moment(s), "ended": moment(s) + 1000} | done
        for source in ("generator", "sw1")
        for s in SECONDS
    ]


def moment(second: int) -> int:
    """Microseconds since the epoch."""
    return START_US + second * 1_000_000


def write(folder: Path) -> None:
    """Write the whole recording."""
    rows = (load_samples(), port_samples(), inventory(), events(), polls())
    for (table, columns), table_rows in zip(TABLES.items(), rows, strict=True):
        write_segment(folder / table / "own-00000001-00000001.parquet", columns, table_rows)
    for name, content in DOCUMENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def write_segment(file: Path, columns: dict[str, str], rows: Sequence[Row]) -> None:
    """Write a Parquet file. Columns that a row lacks are null in it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "rows.json"
        source.write_text(json.dumps(rows), encoding="utf-8")
        table = duckdb.read_json(str(source), columns=columns)
        table.write_parquet(str(file), compression="zstd")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
