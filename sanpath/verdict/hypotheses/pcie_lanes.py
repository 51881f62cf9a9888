"""The PCIe lanes between an adapter and its host's memory are full: its ports look half idle and move no more."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from sanpath.facts.table import number
from sanpath.units import bandwidth
from sanpath.verdict.evidence.likelihoods import limit_weight
from sanpath.verdict.evidence.step import flat_throughput_words
from sanpath.verdict.hypotheses.claim import SELDOM, Claim, Evidence, conclusion_of
from sanpath.verdict.places.table import PlaceTable

_DATA_RATIO, _ERROR = 0.9, 0.06
"""Share of the lanes' rate that is data, and its standard error: a packet of 128 to 512 bytes of data has some 24
bytes of header, check and framing (PCI Express Base Specification 6.0)."""
_OVERTURN = ("the adapter in a slot with more lanes, at the same throughput",)


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim for each adapter of the load whose lanes and bytes are read, named by the first of its ports."""
    rows = [
        row for row in table.rows("initiator") if row["entity"] in table.initiators and row.get("pcie_used_ratio")
    ]
    while rows:
        used, lanes = number(rows[0], "pcie_used_ratio"), number(rows[0], "pcie_bits_per_second") / 8
        # Ports of one adapter have the same sum of bytes over the same lanes.
        ports = [row for row in rows if isclose(number(row, "pcie_used_ratio"), used)]
        rows = [row for row in rows if row not in ports]
        names = [str(row["entity"]) for row in ports]
        words = f"{bandwidth(used * lanes)} cross PCIe lanes of {bandwidth(lanes)}: headers leave about 90 % for data"
        evidence = [Evidence(words, limit_weight(used / _DATA_RATIO, _ERROR))]
        because = (words, *filter(None, (flat_throughput_words(table.facts, table.load),)))
        conclude = conclusion_of(table, "host", because, _OVERTURN, coincident=tuple(names[1:]), utilisation=used)
        yield Claim("pcie", names[0], table.transfer, evidence, conclude, SELDOM, may_explain=table.before_transfer)
