"""iostat and sar of sysstat, as text or JSON, from a complete file or one that is still being written."""

from sanpath.plugin import FollowedFileConfig, Spec
from sanpath_collectors.iostat.tables import HBA, HOST, LUN

COLLECTOR = Spec(
    name="iostat",
    title="A Linux host's block devices, network ports and processors, from what iostat or sar writes into a file",
    tables=(LUN, HOST, HBA),
    config=FollowedFileConfig,
    collector="sanpath_collectors.iostat.reader:Iostat",
    result="sanpath_collectors.iostat.reader:IostatResult",
)
