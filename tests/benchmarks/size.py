"""How large an hour of a director's 384 ports is on disk, polled every ten seconds, against the bare 8 bytes a value.

Three ports in ten carry I/O at random rates up to 16 Gb/s; errors stand still, as they do. The recorder's own writer
writes it, with its flush every five seconds and its compaction.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from sanpath.model import Column, Poll, Rows, Table
from sanpath.recording.writing.writer import Writer

PORTS, EVERY_SECONDS, HOURS = 384, 10, 1
FLUSHES_A_POLL = 2
BARE_BYTES = 8
_MOVING = {"bytes_rx_total": 16 * 10**9, "bytes_tx_total": 16 * 10**9, "frames_rx_total": 8 * 10**6}
_MOVING["frames_tx_total"] = _MOVING["frames_rx_total"]
_STILL = ("errors_rx_total", "errors_tx_total", "discards_rx_total", "discards_tx_total")
_GAUGES = {"link_speed_bits_per_second": 16_000.0, "link_up": 1.0}
_TABLE = Table(
    "switch_port",
    (*(Column(name, 64) for name in _MOVING), *(Column(name, 32) for name in _STILL), *map(Column, _GAUGES)),
)


def measure() -> str:
    """One line."""
    chance = random.Random(1)
    names = [str(1 << 24 | port) for port in range(PORTS)]
    active = [chance.random() < 0.3 for _ in names]
    counters = {name: [10**15 + chance.randrange(10**12) for _ in names] for name in _MOVING}
    still = {name: [0] * PORTS for name in _STILL} | {name: [value] * PORTS for name, value in _GAUGES.items()}
    polls, seconds = HOURS * 3_600 // EVERY_SECONDS, 0.0
    with tempfile.TemporaryDirectory() as name:
        writer = Writer(Path(name), "site", keep_seconds=0.0)
        for poll in range(polls):
            for metric, most in _MOVING.items():
                counters[metric] = [
                    value + chance.randrange(most) if moves else value
                    for value, moves in zip(counters[metric], active, strict=True)
                ]
            due = 1_700_000_000_000_000 + poll * EVERY_SECONDS * 1_000_000
            seen = [due + port // 4 * 150 for port in range(PORTS)]
            result = {metric: list(values) for metric, values in counters.items()}
            began = time.process_time()
            writer.samples("sw1", Rows(_TABLE, names, seen, result | still, [moment - 1_000 for moment in seen]))
            writer.poll(Poll("sw1", due, due, due + 30_000, "ok", "", "", PORTS, 113, 300_000))
            for _ in range(FLUSHES_A_POLL):
                writer.flush()
            seconds += time.process_time() - began
        writer.close()
        sizes = [file.stat().st_size for file in Path(name).rglob("*.parquet")]
    values = polls * PORTS * len(_TABLE.columns)
    each = sum(sizes) / values
    return (
        f"{values / 1e6:.2f} million values: {sum(sizes) / 1e6:.2f} MB in {len(sizes)} segments, {each:.2f} bytes a "
        f"value, {each / BARE_BYTES:.2f} of {BARE_BYTES} bytes; writing {1e6 * seconds / values:.2f} us of CPU each"
    )
