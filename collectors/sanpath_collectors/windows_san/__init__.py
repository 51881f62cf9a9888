"""Windows on a SAN: multipath, disks and initiator ports from exports of Windows' tools."""

from sanpath.plugin import Right, Spec
from sanpath_collectors.windows_san.tables import HBA

COLLECTOR = Spec(
    name="windows_san",
    title="Windows' MPIO, disks and initiator ports, from mpclaim and PowerShell exports",
    tables=(HBA,),
    result="sanpath_collectors.windows_san.reader:WindowsSan",
    rights=(
        Right(
            "administrator of the host",
            "mpclaim and the classes of root/wmi answer nobody else",
            "paths, their policy and state, model and speed of the Fibre Channel ports, and what they have counted",
        ),
    ),
)
