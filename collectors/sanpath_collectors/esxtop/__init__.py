"""esxtop in batch mode: an ESXi host's counters of disks, adapters and paths for each second."""

from sanpath.plugin import FollowedFileConfig, Spec
from sanpath_collectors.esxtop.tables import TABLES

COLLECTOR = Spec(
    name="esxtop",
    title="ESXi's esxtop or resxtop in batch mode (-b), left behind or growing",
    tables=TABLES,
    config=FollowedFileConfig,
    collector="sanpath_collectors.esxtop.reader:EsxtopFile",
    result="sanpath_collectors.esxtop.reader:EsxtopLog",
)
