"""The tables beside the samples as SQL: in which order their rows are, and which of them say nothing new."""

from __future__ import annotations

ORDERS = {"inventory": "seen", "events": "seen", "polls": "started"}
"""Rows of one moment stay in the order in which they were written."""
_SAMPLE_ORDER = "source, entity, seen"

_NEWS = """
    QUALIFY (label, ids, attributes, to_id, evidence) IS DISTINCT FROM lag((label, ids, attributes, to_id, evidence))
    OVER (PARTITION BY source, kind, local_id, relation, from_kind, from_id, to_kind,
                       CASE relation WHEN 'runs_on' THEN '' ELSE to_id END
          ORDER BY seen, filename, file_row_number)
"""
"""Sources tell their inventory anew every few minutes. What a thing runs on changes, and may change back; of every
other link it counts that it was told."""


def rows(table: str, files: str, condition: str = "") -> str:
    """SQL of the rows of some segments in order. `files`: SQL of the list of them; `condition`: which rows, SQL."""
    where = f"WHERE {condition}" if condition else ""
    return f"""
        SELECT * EXCLUDE (filename, file_row_number)
        FROM (SELECT * FROM read_parquet({files}, union_by_name = true, filename = true, file_row_number = true)
              {where} {_NEWS if table == "inventory" else ""})
        ORDER BY {ORDERS.get(table, _SAMPLE_ORDER)}, filename, file_row_number
    """  # noqa: S608 - names of ours, and file names that the caller has quoted
