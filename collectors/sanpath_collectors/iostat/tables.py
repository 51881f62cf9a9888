"""The tables of iostat: counters of devices and network ports with the columns from which they are computed, and the
utilisation of processors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanpath.plugin import Column, Table

_NS = 1e-9
_MS_NS = 1e6
_SECTOR, _KIB, _MIB = 512.0, 1024.0, 1024.0**2

LUN = Table(
    "lun",
    tuple(
        Column(metric, 64, _NS if "seconds" in metric else 1.0)
        for metric in (
            "ops_read_total",
            "ops_merged_read_total",
            "bytes_read_total",
            "latency_seconds_read_total",
            "ops_write_total",
            "ops_merged_write_total",
            "bytes_write_total",
            "latency_seconds_write_total",
            "in_flight_seconds_total",
            "busy_seconds_total",
            "ops_discard_total",
            "latency_seconds_discard_total",
            "ops_flush_total",
            "latency_seconds_flush_total",
        )
    ),
    plane="guest_block",
)


HOST = Table(
    "host",
    tuple(map(Column, ("cpu_busy_ratio", "cpu_busiest_core_ratio", "cpu_busiest_core_interrupt_ratio"))),
    "average",
)

HBA = Table(
    "hba",
    (Column("bytes_rx_total", 64), Column("bytes_tx_total", 64), Column("link_speed_bits_per_second")),
)


@dataclass(frozen=True, slots=True)
class Rate:
    """A column as the increase of a counter per second: value x `factor`, x the column `multiplier` if there is
    one."""

    column: str
    factor: float = 1.0
    multiplier: str | None = None


SOURCES: Mapping[str, tuple[Rate, ...]] = {
    "ops_read_total": (Rate("r/s"),),
    "ops_merged_read_total": (Rate("rrqm/s"),),
    "bytes_read_total": (
        *(Rate("rkB/s", _KIB), Rate("rMB/s", _MIB), Rate("rsec/s", _SECTOR)),
        *(Rate("kB_read/s", _KIB), Rate("MB_read/s", _MIB), Rate("Blk_read/s", _SECTOR)),
    ),
    "latency_seconds_read_total": (Rate("r_await", _MS_NS, "r/s"), Rate("await", _MS_NS, "r/s")),
    "ops_write_total": (Rate("w/s"),),
    "ops_merged_write_total": (Rate("wrqm/s"),),
    "bytes_write_total": (
        *(Rate("wkB/s", _KIB), Rate("wMB/s", _MIB), Rate("wsec/s", _SECTOR)),
        *(Rate("kB_wrtn/s", _KIB), Rate("MB_wrtn/s", _MIB), Rate("Blk_wrtn/s", _SECTOR)),
    ),
    "latency_seconds_write_total": (Rate("w_await", _MS_NS, "w/s"), Rate("await", _MS_NS, "w/s")),
    "in_flight_seconds_total": (Rate("aqu-sz", 1e9), Rate("avgqu-sz", 1e9)),
    "busy_seconds_total": (Rate("%util", 1e7), Rate("util", 1e7)),
    "ops_discard_total": (Rate("d/s"),),
    "latency_seconds_discard_total": (Rate("d_await", _MS_NS, "d/s"),),
    "ops_flush_total": (Rate("f/s"),),
    "latency_seconds_flush_total": (Rate("f_await", _MS_NS, "f/s"),),
    "bytes_rx_total": (Rate("rxkB/s", _KIB), Rate("rxbyt/s")),
    "bytes_tx_total": (Rate("txkB/s", _KIB), Rate("txbyt/s")),
}
"""Metric → the possible columns, of which the first existing one is used.

The names depend on the version and on -k and -m: kB and MB are powers of 1024, a sector and a block are 512 bytes
(man iostat; the same kB in sar -n DEV: sysstat, pr_stats.c), and JSON omits the % of %util."""
