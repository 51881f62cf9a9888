"""SQLIO, Microsoft's I/O load generator before DiskSpd: its output, and its parameter file."""

from __future__ import annotations

from sanpath.plugin import Spec
from sanpath_collectors.sqlio.tables import LOAD

COLLECTOR = Spec(
    name="sqlio",
    title="SQLIO results and parameter files",
    tables=(LOAD,),
    result="sanpath_collectors.sqlio.reader:SqlioReader",
)
