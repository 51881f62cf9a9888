"""fio: started by `sanpath run -- fio job.fio` and read live, or its results and logs by `sanpath import`."""

from sanpath.plugin import Spec
from sanpath_collectors.fio.tables import LOAD, LOG, LUN

COLLECTOR = Spec(
    name="fio",
    title="fio: live from its status output, or its results and logs",
    tables=(LOAD, LOG, LUN),
    load="sanpath_collectors.fio.load_reader:FioLoad",
    result="sanpath_collectors.fio.reader:FioResult",
    result_endings=(".log", ".json", ".txt", ".out"),
    commands=("fio",),
)
