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


TIMES = {"inventory": ("seen",), "events": ("seen",), "polls": ("due", "started", "ended")}
"""Columns by the recorder's clock."""
IN_ORDER = "union_by_name = true, filename = true, file_row_number = true"
"""How segments are read that are put in order."""


def rows(table: str, segments: str, condition: str = "", with_file: bool = False) -> str:
    """SQL of the rows of some segments in order. `segments`: SQL of what they hold, read IN_ORDER; `condition`: which
    rows, SQL; `with_file`: say in which file each is, as `filename`."""
    where = f"WHERE {condition}" if condition else ""
    return f"""
        SELECT * EXCLUDE ({"" if with_file else "filename, "}file_row_number)
        FROM (SELECT * FROM {segments}
              {where} {_NEWS if table == "inventory" else ""})
        ORDER BY {ORDERS.get(table, _SAMPLE_ORDER)}, filename, file_row_number
    """  # noqa: S608 - names of ours, and file names that the caller has quoted
