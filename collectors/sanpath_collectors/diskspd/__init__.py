"""DiskSpd: the result it leaves behind, as text or as XML (-Rxml)."""

from sanpath.plugin import Spec
from sanpath_collectors.diskspd.tables import LOAD

COLLECTOR = Spec(
    name="diskspd",
    title="DiskSpd's result file, text or XML",
    tables=(LOAD,),
    result="sanpath_collectors.diskspd.reader:DiskSpdResult",
)
