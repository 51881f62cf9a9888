"""DiskSpd: the result that it prints when it ends, as text or as XML (-Rxml)."""

from sanpath.plugin import Spec
from sanpath_collectors.diskspd.tables import HOST, LOAD

COLLECTOR = Spec(
    name="diskspd",
    title="DiskSpd, started by sanpath or from its result file, text or XML",
    tables=(LOAD, HOST),
    load="sanpath_collectors.diskspd.load_reader:DiskSpdLoad",
    commands=("diskspd",),
    result="sanpath_collectors.diskspd.reader:DiskSpdResult",
    result_endings=(".xml", ".txt", ".out"),
)
