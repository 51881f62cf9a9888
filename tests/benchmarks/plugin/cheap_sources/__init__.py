"""A source that answers at once, and whose answer takes as long to decode as a switch's."""

from __future__ import annotations

from sanpath.plugin import Column, SourceConfig, Spec, Table

PORT = Table("switch_port", (Column("link_up"), Column("bytes_rx_total", 64), Column("bytes_tx_total", 64)))

COLLECTOR = Spec(
    name="cheap",
    title="a source that costs 3 ms a poll, for a benchmark",
    tables=(PORT,),
    config=SourceConfig,
    collector="cheap_sources.source:Cheap",
)
