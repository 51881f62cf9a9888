"""A recording of a load test beside which many other switch ports are read: a large site, to be analysed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from duckdb import connect

from sanpath.model import Column, Table
from sanpath.recording.reading.recording import Recording
from tests.support.recording import START_US
from tests.support.san import San
from tests.support.stories import published

EVERY_SECONDS = 5
COUNTERS = tuple(
    f"{name}_total"
    for name in (
        *("bytes_rx", "bytes_tx", "packets_rx", "packets_tx", "errors_rx", "errors_tx", "discards_rx", "discards_tx"),
        *("crc_errors", "link_resets_rx"),
    )
)
SITE = "site"


def large_recording(folder: Path, ports: int, polls: int, segments: int = 4) -> Recording:
    """The published test, and `ports` more of 8 Gb/s with ten counters each, read `polls` times in the same time.

    Every port counts at a pace of its own, none is full and none counts errors. `segments`: compacted ones, each
    sorted as a writer sorts them.
    """
    san = San(folder)
    published(san, in_flight=(16, 128))
    san.write()
    table = Table("switch_port", (*(Column(name, 64) for name in COUNTERS), Column("link_speed_bits_per_second")))
    declared = {"name": SITE, "collector": "snmp_switch", "every_seconds": EVERY_SECONDS, "tables": [asdict(table)]}
    header = {"writer": SITE, "started_us": START_US, "sources": [declared]}
    (folder / "writers" / f"{SITE}.json").write_text(json.dumps(header))
    (folder / "writers" / f"{SITE}.end.json").write_text(
        json.dumps({"ended_us": START_US + 10**6, "load_exit_code": None, "recorder_cpu_seconds": 0.1})
    )
    spacing = round(san.steps[-1].end * 1e6 / polls)
    columns = ", ".join(
        f'(poll * {pace} * (1 + port % 97))::UBIGINT AS "{name}"'
        for name, pace in zip(COUNTERS, (1_000_003, 2_000_003, 501, 1_001, *([0] * len(COUNTERS))), strict=False)
    )
    connection = connect()
    each = polls // segments
    for number in range(segments):
        first, last = number * each, polls if number == segments - 1 else (number + 1) * each
        target = folder / "samples" / "switch_port" / f"{SITE}-{60 * number + 1:08d}-{60 * number + 60:08d}.parquet"
        connection.execute(
            f"COPY (SELECT '{SITE}' AS source, printf('port%06d', port) AS entity, "
            f"{START_US} + poll * {spacing} AS seen, NULL::BIGINT AS device_time, NULL::DOUBLE AS covers_seconds, "
            f"{columns}, 8e9::DOUBLE AS link_speed_bits_per_second "
            f"FROM range({ports}) AS ports(port), range({first}, {last}) AS polls(poll) ORDER BY entity, seen) "
            f"TO '{target}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)"
        )
    inventory = folder / "inventory" / f"{SITE}-00000001-00000001.parquet"
    connection.execute(
        f"COPY (SELECT '{SITE}' AS source, {START_US} AS seen, 'switch_port' AS kind, "
        "printf('port%06d', port) AS local_id, printf('sw%d/port%06d', port // 384, port) AS label, '{}' AS ids, "
        '\'{"technology": "fibre_channel"}\' AS attributes, NULL AS relation, NULL AS from_kind, NULL AS from_id, '
        f"NULL AS to_kind, NULL AS to_id, NULL AS evidence FROM range({ports}) AS ports(port)) "
        f"TO '{inventory}' (FORMAT parquet, COMPRESSION zstd)"
    )
    connection.close()
    return Recording(folder)
