"""`python -m tests.recording.long_run FOLDER HOURS FLUSH_SECONDS [KEEP_SECONDS]`: writes a long run in compressed
time, and says after each hour what the writer holds: a line of JSON with files, bytes, descriptors and memory."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

from sanpath.model import Event, Poll, Rows, SourceEntity
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import Retention
from sanpath.recording.writing.writer import Writer
from tests.recording.support import PORT

START_US = 1_800_000_000_000_000
ENTITIES = 200
INVENTORY_SECONDS = 300


def main(folder: Path, hours: int, flush_seconds: int, keep_seconds: int | None) -> None:
    """A source of some hundred ports that tells its inventory anew every few minutes, and a mark an hour."""
    now = [START_US]
    retention = Retention(keep_seconds, lambda: now[0]) if keep_seconds else None
    layout.create(folder)
    writer = Writer(folder, "host.1", keep_seconds=0, retention=retention)
    source = {"name": "s", "collector": "c", "every_seconds": flush_seconds, "tables": [PORT]}
    writer.header({"started_us": START_US, "sources": [source]})
    ports = [f"p{number:03d}" for number in range(ENTITIES)]
    counts, chance = [0] * ENTITIES, random.Random(7)
    for second in range(0, hours * 3600, flush_seconds):
        now[0] = START_US + second * 1_000_000
        counts = [count + chance.getrandbits(30) for count in counts]
        values = {"bytes_rx_total": counts, "errors_rx_total": [0] * ENTITIES, "link_up": [1] * ENTITIES}
        writer.samples("s", Rows(PORT, ports, [now[0]] * ENTITIES, values))
        writer.poll(Poll("s", now[0], now[0], now[0] + 1000, "ok", rows=ENTITIES))
        if second % INVENTORY_SECONDS < flush_seconds:
            for port in ports:
                writer.inventory("s", now[0], SourceEntity("switch_port", port))
        if second % 3600 < flush_seconds:
            writer.event("s", Event(now[0], "mark", {"text": str(second // 3600)}))
        writer.flush()
        if (second + flush_seconds) % 3600 < flush_seconds:
            print(json.dumps(_held(folder)), flush=True)
    writer.end({"ended_us": now[0], "load_exit_code": None, "recorder_cpu_seconds": 1.0})


def _held(folder: Path) -> dict[str, int]:
    tables = [*(folder / "samples").iterdir(), *(folder / name for name in ("inventory", "events", "polls"))]
    files = [[path.stat().st_size for path in table.iterdir()] for table in tables]
    resident = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return {
        "files": max(map(len, files)),
        "bytes": sum(map(sum, files)),
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names are all that is wanted
        "resident_kilobytes": int(resident.split()[1]),
    }


if __name__ == "__main__":
    hours, flush_seconds, *keep_seconds = map(int, sys.argv[2:])
    main(Path(sys.argv[1]), hours, flush_seconds, keep_seconds[0] if keep_seconds else None)
