"""Cisco MDS and Nexus over NX-API: Fibre Channel ports with their counters and optics, logins, zones."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.cisco_nxapi.config import CiscoNxapiConfig
from sanpath_collectors.cisco_nxapi.tables import SWITCH_PORT
from sanpath_collectors.snmp_switch.tables import OPTICS, SWITCH

COLLECTOR = Spec(
    name="cisco_nxapi",
    title="Cisco MDS and Nexus over NX-API (Fibre Channel)",
    config=CiscoNxapiConfig,
    collector="sanpath_collectors.cisco_nxapi.collector:CiscoNxapi",
    tables=(SWITCH_PORT, OPTICS, SWITCH),
    rights=(
        Right(
            "A login with the role network-operator, and `feature nxapi` with HTTPS on the switch",
            "the show commands for interfaces, transceivers, logins, name server and zones",
            "nothing is read; a role that refuses single commands leaves what they show unknown",
        ),
    ),
)
