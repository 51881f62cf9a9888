"""The facts of a part of a load, such as that of one host, from those of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sanpath.facts.fabric.links import link_rows
from sanpath.facts.facts import Facts, Samples
from sanpath.facts.host.control_groups import control_group_rows
from sanpath.facts.host.tested_machines import under_test
from sanpath.facts.host.virtual_disks import virtual_disk_rows
from sanpath.facts.load.load_parts import LoadPart
from sanpath.facts.load_table import load_rows
from sanpath.facts.storage.arrays import array_rows
from sanpath.facts.storage.other_hosts import with_other_hosts
from sanpath.facts.table import FactRow, FactTable, FactValue

_NOT_OF_PART: FactRow = {
    "share": None,
    "on_loaded_path": False,
    "other_path_idle": False,
    "ceiling_bytes_per_second": None,
}
"""The facts of a link that a load does not cross."""


def facts_of_part(facts: Facts, part: LoadPart, samples: Samples) -> Facts:
    """Return the facts of a part of the loads. The other parts' traffic is not foreign.

    The tables of loads, links, arrays and volumes, and of the limits of its machines, are the part's; all others are
    those of all parts. `samples`: entity kind → its samples.
    """
    topology, loads, tables = facts.topology, part.loads, dict(facts.tables)
    links = FactTable(tuple(_links_of_part(facts, part, samples)))
    tables["link"], controllers = links, samples.get("controller", ())
    tested = under_test(topology, loads, samples, links)
    for kind in ("array", "volume"):
        rows_of_kind = array_rows(topology, kind, loads, links, samples.get(kind, ()), controllers)
        tables[kind] = FactTable(tuple(with_other_hosts(topology, rows_of_kind, tested)))
    for kind, rows in (
        ("control_group", control_group_rows(topology, tested)),
        ("virtual_disk", virtual_disk_rows(topology, tested)),
    ):
        tables[kind] = FactTable(tuple(_with_foreign_of_all(facts.tables[kind], rows)))
    tables["load"] = FactTable(tuple(load_rows(topology, part.steps, loads, tables, tested)))
    return replace(facts, steps=tuple(part.steps), loads=loads, tables=tables, loads_of_test=facts.loads)


def _links_of_part(facts: Facts, part: LoadPart, samples: Samples) -> Iterator[FactRow]:
    """Yield the rows of the links, with the share of a part of the loads on each that it may cross."""
    own_rows = {
        _key(row): row for row in link_rows(facts.topology, part.steps, part.loads, samples, of_loads_alone=True)
    }
    for row in facts.tables["link"]:
        own = own_rows.get(_key(row))
        if own is not None or row["on_loaded_path"] is not False:
            foreign = row["foreign_bytes_per_second"]
            row = {**row, **(own or _NOT_OF_PART), "foreign_bytes_per_second": foreign}
        yield row


def _with_foreign_of_all(of_all: FactTable, rows: Iterable[FactRow]) -> Iterator[FactRow]:
    """Yield rows of a part, with the shares of other users as all parts together have them."""
    foreign = {_key(row): row["limit_foreign_ratio"] for row in of_all}
    for row in rows:
        yield {**row, "limit_foreign_ratio": foreign.get(_key(row))}


def _key(row: FactRow) -> tuple[FactValue, FactValue, FactValue]:
    return row["entity"], row["step"], row["direction"]
