"""Separates operations into reads and writes, if a tool counts both together. Pure.

`iostat` without -x and `sar -d` only separate the bytes:

    Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
    sdb            6100.00    390400.00         0.00         0.00     390400          0          0
"""

from __future__ import annotations

from collections.abc import Collection

from sanpath_collectors.iostat.report import TOTAL, Report, Values
from sanpath_collectors.iostat.tables import LUN

_READS = ("rkB/s", "rsec/s", "kB_read/s", "MB_read/s", "Blk_read/s")
_WRITES = ("wkB/s", "wsec/s", "kB_wrtn/s", "MB_wrtn/s", "Blk_wrtn/s")
_DISCARDS = ("dkB/s", "kB_dscd/s", "MB_dscd/s", "Blk_dscd/s")
"""Column names by direction. All columns of one report have the same unit."""
BYTES = frozenset((*_READS, *_WRITES))
USED_COLUMNS = frozenset((TOTAL, *_DISCARDS))
"""Columns that are used only here."""
_MIN_DIRECTION_RATIO = 0.98
"""Share of the bytes, with discards, above which all operations are counted as those of one direction: sanpath's own
choice."""


def split_operations(values: Values) -> Values | None:
    """Rates of reads and writes, if nearly all bytes are of one direction. None: the directions are mixed."""
    reads, writes, discards = (
        sum(values.get(column, 0.0) for column in columns) for columns in (_READS, _WRITES, _DISCARDS)
    )
    total, all_bytes = values.get(TOTAL), reads + writes + discards
    if total is None or all_bytes <= 0:
        return {} if total else {"r/s": 0.0, "w/s": 0.0}
    for moved, column, other in ((reads, "r/s", "w/s"), (writes, "w/s", "r/s")):
        if moved >= _MIN_DIRECTION_RATIO * all_bytes:
            return {column: total, other: 0.0}
    return None


def lacks_directions(report: Report) -> bool:
    """Whether a report of iostat separates bytes into reads and writes, but not operations."""
    columns: Collection[str] = report.columns
    return report.table is LUN and TOTAL in columns and "r/s" not in columns and not BYTES.isdisjoint(columns)
