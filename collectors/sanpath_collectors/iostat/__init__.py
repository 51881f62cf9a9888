"""iostat of sysstat, as text or JSON: a file that it has left behind, or is still writing."""

from sanpath.plugin import FollowedFileConfig, Spec
from sanpath_collectors.iostat.tables import LUN

COLLECTOR = Spec(
    name="iostat",
    title="A Linux host's block devices, from what iostat writes into a file",
    tables=(LUN,),
    config=FollowedFileConfig,
    collector="sanpath_collectors.iostat.collector:Iostat",
    result="sanpath_collectors.iostat.reader:IostatResult",
)
