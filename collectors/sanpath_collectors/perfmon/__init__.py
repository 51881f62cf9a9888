"""Windows' performance counters: a log of typeperf, logman, relog or Get-Counter, complete or growing."""

from sanpath.plugin import FollowedFileConfig, Spec
from sanpath_collectors.perfmon.tables import TABLES

COLLECTOR = Spec(
    name="perfmon",
    title="Windows' performance counters, from a log of typeperf, logman, relog or Get-Counter",
    tables=TABLES,
    config=FollowedFileConfig,
    collector="sanpath_collectors.perfmon.reader:PerfMonFile",
    result="sanpath_collectors.perfmon.reader:PerfMonLog",
)
