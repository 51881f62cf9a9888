"""SQL of the tables: the order of their rows, and a filter for inventory rows that repeat earlier ones."""

from __future__ import annotations

ORDERS = {"inventory": "seen", "events": "seen", "polls": "started"}
"""Rows of the same time stay in the order in which they were written."""
_SAMPLE_ORDER = "source, entity, seen"

_LINK_END = "CASE relation WHEN 'runs_on' THEN '' ELSE to_id END"
_ENTRY = f"source, kind, local_id, relation, from_kind, from_id, to_kind, {_LINK_END}"
_STATE = f"{_ENTRY}, label, ids, attributes, to_id, evidence"
_CHANGES = f"""
    QUALIFY ({_STATE}) IS DISTINCT FROM lag(({_STATE})) OVER (ORDER BY {_ENTRY}, seen, filename, file_row_number)
"""
"""Sources repeat their inventory every few minutes.

A machine may move to another host and back, so changes of a `runs_on` link count. Any other link counts once. Of some
hundred rows, a window over all of them in order of entries takes half the time of one partition for each (measured).
"""

TIMES = {"inventory": ("seen",), "events": ("seen",), "polls": ("due", "started", "ended")}
"""Columns with times of the recorder's clock."""
IN_ORDER = "union_by_name = true, filename = true, file_row_number = true"
"""Options of read_parquet for segments whose rows will be sorted."""


def rows(table: str, segments: str, condition: str = "", with_file: bool = False) -> str:
    """Return SQL for the rows of segments, in order.

    `segments`: SQL that reads them with IN_ORDER. `condition`: SQL that selects rows, "" for all. `with_file`: add
    the column `filename`.
    """
    filter_clause = f"WHERE {condition}" if condition else ""
    return f"""
        SELECT * EXCLUDE ({"" if with_file else "filename, "}file_row_number)
        FROM (SELECT * FROM {segments}
              {filter_clause} {_CHANGES if table == "inventory" else ""})
        ORDER BY {ORDERS.get(table, _SAMPLE_ORDER)}, filename, file_row_number
    """  # noqa: S608 - names of ours, and file names that the caller has quoted
