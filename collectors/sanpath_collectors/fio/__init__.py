"""fio, started by `sanpath run -- fio job.fio`, read from its status output while it runs."""

from sanpath.plugin import Spec
from sanpath_collectors.fio.tables import LOAD, LUN

COLLECTOR = Spec(
    name="fio",
    title="fio, started by sanpath, read live from its status output",
    tables=(LOAD, LUN),
    load="sanpath_collectors.fio.collector:FioReader",
    commands=("fio",),
)
