"""Any switch over SNMP: the standard interface tables (IF-MIB, RFC 2863)."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.snmp_if.config import SnmpIfConfig
from sanpath_collectors.snmp_if.tables import SWITCH, SWITCH_PORT, SWITCH_PORT_32

COLLECTOR = Spec(
    name="snmp_if",
    title="Any switch over SNMP (IF-MIB)",
    config=SnmpIfConfig,
    collector="sanpath_collectors.snmp_if.collector:SnmpIf",
    tables=(SWITCH_PORT_32, SWITCH_PORT, SWITCH),
    rights=(
        Right(
            "SNMP read access, by a v2c community or a v3 user (authPriv), to the subtrees 1.3.6.1.2.1.1, .2 and .31",
            "system group, ifTable and ifXTable",
            "every fact of the switch's ports and cables is unknown",
        ),
    ),
)
