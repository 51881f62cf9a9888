"""What asking a real agent costs: net-snmp's own, with 384 interfaces, against snmpbulkwalk; and memory over time.

The interfaces are in a network namespace. Needs root, iproute2, snmpd and snmpbulkwalk. Only the asking processes are
measured.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.rounds import interleaved, ratios, spread
from tests.benchmarks.snmp_client import COLUMNS, UPTIME

ROUNDS = 5
PAIRS = 192
"""Of virtual Ethernet interfaces: two ends each."""
WARM_UP = 101
POLLS, WALKS_IN_A_ROUND = 20, 5
MEMORY_POLLS = 1_000
AGENT_PORT = 1161
IF_X_ENTRY = "1.3.6.1.2.1.31.1.1.1"
BULKWALK = ["snmpbulkwalk", "-v2c", "-c", "public", "-Onq", "-Cr25", f"127.0.0.1:{AGENT_PORT}"]


def measure() -> str:
    """One line a question."""
    lacking = [program for program in ("ip", "snmpd", "snmpbulkwalk") if not shutil.which(program)]
    if os.geteuid() != 0:
        lacking.append("root")
    if lacking:
        return f"skipped: needs {', '.join(lacking)}"
    with namespace() as inside, tempfile.TemporaryDirectory() as folder, snmpd(inside, Path(folder)):
        lines = [_against_bulkwalk(inside), _memory(inside)]
    return "".join(f"\n  {line}" for line in lines)


def _against_bulkwalk(inside: list[str]) -> str:
    rows = _client(inside, "fast", AGENT_PORT, 0, 1)["rows"]
    values = rows * len(COLUMNS)
    in_table = len(
        subprocess.run([*inside, *BULKWALK, IF_X_ENTRY], check=True, capture_output=True).stdout.splitlines()
    )

    def a_value(client: str, polls: int) -> float:
        return _client(inside, client, AGENT_PORT, 2, polls)["poll_seconds"] / values

    fast, pysnmp, columns, table = interleaved(
        ROUNDS,
        lambda: a_value("fast", POLLS),
        lambda: a_value("pysnmp", 1),
        lambda: _walked(inside, COLUMNS) / values,
        lambda: _walked(inside, [IF_X_ENTRY]) / in_table,
    )
    return (
        f"{rows:.0f} interfaces x {len(COLUMNS)} columns, CPU a value: {spread(fast, 1e6, 'us')}, by pysnmp alone "
        f"{spread(pysnmp, 1e6, 'us')}; snmpbulkwalk {spread(columns, 1e6, 'us')} with a process a column, "
        f"{spread(table, 1e6, 'us')} with one for all of ifXTable: {spread(ratios(fast, columns))} and "
        f"{spread(ratios(fast, table))} times (goal 1.5)"
    )


def _memory(inside: list[str]) -> str:
    result = _client(inside, "fast", AGENT_PORT, WARM_UP, MEMORY_POLLS)
    before, after = result["before_bytes"] / 1e6, result["after_bytes"] / 1e6
    return f"memory over {MEMORY_POLLS} polls: {before:.1f} MB before, {after:.1f} MB after (goal: as before)"


@contextmanager
def namespace() -> Iterator[list[str]]:
    """A network namespace with many interfaces; yields what a command begins with that runs there."""
    name = f"sanpath-snmp-{os.getpid()}"
    _run("ip", "netns", "add", name)
    try:
        pairs = [f"link add a{n} type veth peer name b{n}" for n in range(PAIRS)]
        batch = "\n".join(["link set lo up", *pairs]) + "\n"
        subprocess.run(["ip", "-n", name, "-batch", "-"], input=batch, text=True, check=True, capture_output=True)
        yield ["ip", "netns", "exec", name]
    finally:
        _run("ip", "netns", "delete", name)


@contextmanager
def snmpd(inside: list[str], folder: Path) -> Iterator[None]:
    """net-snmp's agent; answers when the context is entered."""
    conf = folder / "snmpd.conf"
    conf.write_text(f"agentaddress udp:127.0.0.1:{AGENT_PORT}\nrocommunity public 127.0.0.1\n", encoding="utf-8")
    environment = os.environ | {"MIBS": "", "SNMP_PERSISTENT_DIR": str(folder)}
    command = [*inside, "snmpd", "-f", "-C", "-c", str(conf), "-Lf", str(folder / "log")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            ask = [*inside, "snmpget", "-v2c", "-c", "public", f"127.0.0.1:{AGENT_PORT}", UPTIME]
            while subprocess.run(ask, env=environment, capture_output=True, check=False).returncode:
                if process.poll() is not None:
                    raise RuntimeError((folder / "log").read_text(encoding="utf-8"))
                time.sleep(0.1)
            yield
        finally:
            process.terminate()


def _client(inside: list[str], client: str, port: int, warm_up: int, polls: int) -> dict[str, float]:
    module = [sys.executable, "-m", "tests.benchmarks.snmp_client"]
    command = [*inside, *module, client, "127.0.0.1", str(port), str(warm_up), str(polls)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _walked(inside: list[str], oids: list[str]) -> float:
    """Seconds of CPU time of walking these once, a process each. One shell in the namespace starts them all."""
    script = "\n".join(" ".join([*BULKWALK, oid]) for oid in oids * WALKS_IN_A_ROUND)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*inside, "sh", "-c", script], check=True, capture_output=True, env=os.environ | {"MIBS": ""})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds / WALKS_IN_A_ROUND


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
