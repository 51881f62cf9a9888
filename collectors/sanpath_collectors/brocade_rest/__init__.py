"""Brocade over the REST interface of Fabric OS: ports with their counters and optics, logins, zones."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.brocade_rest.config import BrocadeRestConfig
from sanpath_collectors.brocade_rest.tables import SWITCH_PORT
from sanpath_collectors.snmp_switch.tables import OPTICS, SWITCH

COLLECTOR = Spec(
    name="brocade_rest",
    title="Brocade over REST (Fabric OS 8.2 and later)",
    config=BrocadeRestConfig,
    collector="sanpath_collectors.brocade_rest.collector:BrocadeRest",
    tables=(SWITCH_PORT, OPTICS, SWITCH),
    rights=(
        Right(
            "A login with the role user, allowed for the REST interface and the virtual fabric",
            "switch, ports, statistics, optics and name server",
            "nothing is read",
        ),
        Right(
            "The same to brocade-zone",
            "the effective zones",
            "which target ports an initiator may see is unknown",
        ),
    ),
)
