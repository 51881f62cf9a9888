"""The switch's SNMP agent: net-snmp in the switch namespace, with configured port speeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from real_lab.cases import Case
from real_lab.files import Secrets, write_private
from real_lab.network import interface_indexes
from real_lab.state import State
from real_lab.system import run, start

IF_HIGH_SPEED = "1.3.6.1.2.1.31.1.1.1.15"
"""IF-MIB::ifHighSpeed. veth reports 10,000 whatever it can do, so the lab overrides it."""

CACHE_TABLE = "1.3.6.1.4.1.8072.1.5"
"""NET-SNMP-AGENT-MIB::nsCache: how long the agent answers from its cache."""

IF_TABLE_CACHE_TIMEOUT = f"{CACHE_TABLE}.3.1.2.1.3.6.1.2.1.2.2"
"""nsCacheTimeout, in seconds, of the cache behind ifTable and ifXTable; net-snmp starts with 3."""


def snmpd_configuration(
    case: Case, indexes: Mapping[str, int], address: str, read_community: str, set_up_community: str
) -> str:
    """Return snmpd.conf. The set-up community may only write cache timeouts, and only from inside the switch."""
    lines = [
        f"agentaddress udp:{address}:161,udp:127.0.0.1:161",
        "dontLogTCPWrappersConnects yes",
        "sysName sw1",
        "sysDescr sanpath real lab switch",
        f"rocommunity {read_community}",
        f"rwcommunity {set_up_community} 127.0.0.1 .{CACHE_TABLE}",
    ]
    lines += [
        f"override {IF_HIGH_SPEED}.{indexes[port.name]} uinteger {port.speed_megabits_per_second}"
        for fabric in case.fabrics
        for port in (fabric.host_port, fabric.array_port)
    ]
    return "\n".join(lines) + "\n"


def start_agent(case: Case, state: State, secrets: Secrets, folder: Path) -> None:
    """Start the agent and set the case's cache time; returns when it answers. Raises LabError."""
    home, switch = folder / "agent", state.namespaces["switch"]
    home.mkdir(mode=0o700)
    (home / "persistent").mkdir(mode=0o700)
    write_private(
        home / "snmpd.conf",
        snmpd_configuration(
            case,
            interface_indexes(state),
            state.switch_address,
            secrets.read_community,
            secrets.set_up_community,
        ),
    )
    write_private(home / "snmp.conf", f"defVersion 2c\ndefCommunity {secrets.set_up_community}\n")
    environment = {"SNMPCONFPATH": str(home), "SNMP_PERSISTENT_DIR": str(home / "persistent")}
    start(
        ["ip", "netns", "exec", switch, "snmpd", "-f", "-C", "-c", str(home / "snmpd.conf"),
         "-I", "-smux", "-Lf", str(folder / "logs" / "snmpd.log")],
        lab=state.lab, log_file=folder / "logs" / "snmpd.log", environment=environment,
    )  # fmt: skip
    seconds = 3 if case.counter_cache_seconds is None else case.counter_cache_seconds
    run("ip", "netns", "exec", switch, "snmpset", "-t", "1", "-r", "20",
        "127.0.0.1", IF_TABLE_CACHE_TIMEOUT, "i", str(seconds), lab=state.lab, environment=environment)  # fmt: skip
