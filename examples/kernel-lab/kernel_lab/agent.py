"""The switches' SNMP agents: net-snmp in each fabric's namespace, with configured port speeds."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from kernel_lab import network
from kernel_lab.cases import Case
from real_lab.agent import CACHE_TABLE, IF_HIGH_SPEED, IF_TABLE_CACHE_TIMEOUT
from real_lab.files import write_private
from real_lab.state import State
from real_lab.system import run, start


def start_agents(case: Case, state: State, folder: Path) -> None:
    """Start one agent per fabric; returns when all answer. Raises LabError."""
    community, setting_up = secrets.token_urlsafe(), secrets.token_urlsafe()
    write_private(folder / "secrets/community", community + "\n")
    for letter, fabric in network.fabrics(case).items():
        home, namespace = folder / f"agent-{letter}", network.namespace(state, letter)
        home.mkdir(mode=0o700)
        (home / "persistent").mkdir(mode=0o700)
        indexes = {
            link["ifname"]: link["ifindex"] for link in json.loads(run("ip", "-json", "-n", namespace, "link"))
        }
        speeds = {"p-host": fabric.host, "p-target": fabric.target}
        lines = [
            f"agentaddress udp:{network.switch_address(state, letter)}:161,udp:127.0.0.1:161",
            "dontLogTCPWrappersConnects yes",
            f"sysName sw-{letter}",
            "sysDescr sanpath kernel lab switch",
            f"rocommunity {community}",
            f"rwcommunity {setting_up} 127.0.0.1 .{CACHE_TABLE}",
            *(f"override {IF_HIGH_SPEED}.{indexes[port]} uinteger {rate or network.FAST_MEGABITS}"
              for port, rate in speeds.items()),
        ]  # fmt: skip
        write_private(home / "snmpd.conf", "\n".join(lines) + "\n")
        write_private(home / "snmp.conf", f"defVersion 2c\ndefCommunity {setting_up}\n")
        environment = {"SNMPCONFPATH": str(home), "SNMP_PERSISTENT_DIR": str(home / "persistent")}
        log = folder / "logs" / f"snmpd-{letter}.log"
        start(
            ["ip", "netns", "exec", namespace, "snmpd", "-f", "-C", "-c", str(home / "snmpd.conf"),
             "-I", "-smux", "-Lf", str(log)],
            lab=state.lab, log_file=log, environment=environment,
        )  # fmt: skip
        run("ip", "netns", "exec", namespace, "snmpset", "-t", "1", "-r", "20",
            "127.0.0.1", IF_TABLE_CACHE_TIMEOUT, "i", "1", lab=state.lab, environment=environment)  # fmt: skip
