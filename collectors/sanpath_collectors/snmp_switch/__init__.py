"""A switch over SNMP: its vendor's Fibre Channel tables if it has them, and the standard interface tables."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.snmp_switch.config import SnmpSwitchConfig
from sanpath_collectors.snmp_switch.tables import SWITCH, SWITCH_PORT, SWITCH_PORT_32, SWITCH_PORT_63

COLLECTOR = Spec(
    name="snmp_switch",
    title="A switch over SNMP: Cisco, Brocade, any Ethernet",
    config=SnmpSwitchConfig,
    collector="sanpath_collectors.snmp_switch.collector:SnmpSwitch",
    tables=(SWITCH_PORT, SWITCH_PORT_63, SWITCH_PORT_32, SWITCH),
    rights=(
        Right(
            "SNMP read access, by a v2c community or a v3 user, to the subtrees 1.3.6.1.2.1.1, .2 and .31",
            "system group, ifTable and ifXTable",
            "every fact of the switch's ports and cables is unknown",
        ),
        Right(
            "the same to 1.3.6.1.4.1.9.9 (Cisco)",
            "credit stall, timeouts, logins and name server: CISCO-FC-FE, CISCO-NS and CISCO-VSAN",
            "slow drain, and which device is on which port, are unknown",
        ),
        Right(
            "the same to 1.3.6.1.3.94 and 1.3.6.1.4.1.1588 (Brocade), with FA-MIB among the MIB capabilities",
            "64-bit octets, credit stall, name server and inter-switch links: FCMGMT-MIB and SW-MIB",
            "octets may have 32 bits only; slow drain, logins and inter-switch links are unknown",
        ),
        Right(
            "the same to 1.0.8802.1.1.2 and 1.3.6.1.2.1.17 (Ethernet)",
            "LLDP neighbours and forwarding tables",
            "which Ethernet port leads to which host or array has to be configured by hand",
        ),
    ),
)
