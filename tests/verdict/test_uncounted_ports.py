"""Ports that only their own counters tell of: how sure a full one is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sanpath.facts.table import FactRow, FactTable
from sanpath.verdict.hypotheses.links import claims
from sanpath.verdict.places.path_links import path_links

PORT = "hba:db1/eth0"


def table_of(kind: str, rows: tuple[FactRow, ...], ports: set[str], array: FactRow | None = None) -> Any:
    """The table of a load that reads 1 GB/s, with rows of one kind of port."""
    tables = {name: FactTable(rows if name == kind else ()) for name in ("initiator", "array_port")}
    about = SimpleNamespace(attributes={"technology": "ethernet"})
    topology = SimpleNamespace(entities=dict.fromkeys(ports, about), related=lambda *_: [])
    return SimpleNamespace(
        facts=SimpleNamespace(topology=topology, parts=()),
        load=SimpleNamespace(step="q8", direction="read", bytes_per_second=1e9, operation_bytes=None),
        rows=lambda name, **_: list(tables.get(name, ())),
        paths=(),
        links=(),
        opposite_links=(),
        uncounted=(),
        tcp=None,
        initiators=sorted(ports) if kind == "initiator" else [],
        targets=set(),
        array_ports=ports if kind == "array_port" else set(),
        array=array,
        transfer=frozenset(),
        before_transfer=frozenset(),
    )


def weight(filled: float, fullest: float | None = None, array: FactRow | None = None) -> float:
    """The log-likelihood ratio of a port of the test's host that has used this share of its speed for reads."""
    filled_ratios = {"filled_ratio_read": filled, "filled_ratio_max_read": fullest}
    row: FactRow = {"entity": PORT, "step": "q8", "bytes_per_second_read": 1.05e9, **filled_ratios}
    table = table_of("initiator", (row,), {PORT}, array)
    (claim,) = claims(table)
    return sum(evidence.weight for evidence in claim.evidence)


@pytest.mark.parametrize("filled", [0.7, 0.8, 0.88])
def test_a_port_below_its_limit_in_every_window_has_no_bursts(filled: float) -> None:
    assert weight(filled, filled + 0.01) < weight(filled, 1.0) <= weight(filled)
    assert weight(filled, filled + 0.01) < 0


@pytest.mark.parametrize("filled", [0.7, 0.8, 0.88, 1.0])
def test_a_port_below_its_limit_may_be_held_there_by_an_array_that_nobody_reads(filled: float) -> None:
    read = weight(filled, array={"entity": "array:fa1"})
    assert weight(filled) == read if filled == 1 else weight(filled) < read


def test_a_port_of_the_array_that_moves_nothing_is_not_on_the_way() -> None:
    rows: list[FactRow] = [
        {"entity": port, "step": "q8", "filled_ratio_read": filled, "bytes_per_second_read": filled * 3e9}
        for port, filled in (("array_port:fa1/CT0.FC0", 0.3), ("array_port:fa1/CT0.FC1", 0.001))
    ]
    (link,) = path_links(table_of("array_port", tuple(rows), {str(row["entity"]) for row in rows}))
    assert (link.entities, link.filled, link.share) == (("array_port:fa1/CT0.FC0",), 0.3, None)


@pytest.mark.parametrize(("moved", "carries"), [(0.2e9, False), (1.05e9, True), (3e9, False)])
def test_a_network_port_without_paths_is_the_load_s_if_it_moves_its_bytes(moved: float, carries: bool) -> None:
    row: FactRow = {"entity": PORT, "step": "q8", "filled_ratio_read": 0.98, "bytes_per_second_read": moved}
    assert [link.entities for link in path_links(table_of("initiator", (row,), {PORT}))] == [(PORT,)] * carries
