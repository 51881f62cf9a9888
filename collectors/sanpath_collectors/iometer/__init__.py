"""Iometer: results, updates while a test runs, and configuration files."""

from __future__ import annotations

from sanpath.plugin import FollowedFileConfig, Spec
from sanpath_collectors.iometer.tables import LOAD

COLLECTOR = Spec(
    name="iometer",
    title="Iometer results (.csv), configuration (.icf), and its updates while it runs",
    config=FollowedFileConfig,
    collector="sanpath_collectors.iometer.reader:IometerUpdates",
    tables=(LOAD,),
    result="sanpath_collectors.iometer.reader:IometerReader",
)
