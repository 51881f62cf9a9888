"""Tools that poll the switches of `fabric.py`, each as it is meant to be run, and the CPU time that each has spent.

Some poll when they are told to; some poll every ten seconds by themselves and write what they read.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType

from duckdb import connect

from sanpath import registry
from sanpath.plugin import Cost, Rows
from sanpath.recorder.request import RunRequest
from sanpath.recording.reading.recording import Recording
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.live_context import LiveContext
from tests.benchmarks.fabric import COLUMNS

EVERY_SECONDS = 10
REPETITIONS = 25
"""Of a GETBULK: what snmp_exporter asks by default; Telegraf's own default of 10 would need more requests."""

_HERE = "127.0.0.1"
_COMMUNITY = "public"
_ENTITIES = "switch_port"


def cpu_seconds(process_id: int) -> float:
    """User and system time of all threads of a process, by its CPU clock (clock_getcpuclockid, POSIX.1)."""
    return time.clock_gettime((~process_id << 3) | 2)


class Exporter:
    """snmp_exporter, asked as Prometheus asks it but without compression. It keeps nothing of what it reads."""

    def __init__(self, program: Path, folder: Path, http_port: int) -> None:
        self._address = f"{_HERE}:{http_port}"
        metrics = "".join(
            f"      - {{name: {name}, oid: {oid}, type: gauge, help: {name}, "
            "indexes: [{labelname: ifIndex, type: gauge}]}\n"
            for name, oid in COLUMNS.items()
        )
        config = folder / "snmp.yml"
        config.write_text(
            f"auths:\n  {_COMMUNITY}: {{version: 2, community: {_COMMUNITY}}}\n"
            f"modules:\n  ports:\n    walk: [{', '.join(COLUMNS.values())}]\n"
            f"    max_repetitions: {REPETITIONS}\n    metrics:\n{metrics}"
        )
        self._process = subprocess.Popen(
            [program, f"--config.file={config}", f"--web.listen-address={self._address}", "--log.level=error"]
        )
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://{self._address}/").close()
                break
            except OSError:
                time.sleep(0.1)

    def poll(self, agents: Sequence[int]) -> tuple[int, float]:
        """Values that were read, and seconds of CPU time."""
        before, values = cpu_seconds(self._process.pid), 0
        for agent in agents:
            query = f"target={_HERE}:{agent}&module=ports&auth={_COMMUNITY}"
            with urllib.request.urlopen(f"http://{self._address}/snmp?{query}") as answer:
                values += sum(line.startswith(b"if") for line in answer)
        return values, cpu_seconds(self._process.pid) - before

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def bulkwalk(agents: Sequence[int]) -> tuple[int, float]:
    """snmpbulkwalk, once for each column of each switch: values, and seconds of CPU time."""
    options = f"-v2c -c {_COMMUNITY} -Onq -Cr{REPETITIONS}"
    script = "\n".join(
        f"snmpbulkwalk {options} {_HERE}:{agent} {oid}" for agent in agents for oid in COLUMNS.values()
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, env=os.environ | {"MIBS": ""})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # It also says where the MIB ends.
    return sum(line.startswith(b".") and b"No more var" not in line for line in done.stdout.splitlines()), seconds


class Collectors:
    """sanpath's collector for each switch, in this process: what a recorder does short of writing.

    `learning_seconds`: CPU time of the first log-in, inventory and poll; `inventory_seconds`: of the inventory that
    a recorder repeats every five minutes.
    """

    def __init__(self, agents: Sequence[int]) -> None:
        spec = registry.spec("snmp_switch")
        make = registry.collector_class(spec)
        configs = [
            spec.config.model_validate(
                {"name": f"sw{agent}", "collector": spec.name, "host": _HERE, "port": agent, "community": _COMMUNITY}
            )
            for agent in agents
        ]
        self._runner = asyncio.Runner()
        self._collectors = [(make(config), LiveContext(RecorderClock(), Cost())) for config in configs]
        self.learning_seconds = self._spent(self._learn)
        self.inventory_seconds = self._spent(self._inventory)

    def __enter__(self) -> Collectors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._close())
        self._runner.close()

    def poll(self) -> tuple[int, float]:
        """Values that were read, and seconds of CPU time."""
        before = time.process_time()
        values = self._runner.run(self._poll())
        return values, time.process_time() - before

    def _spent(self, work: Callable[[], Coroutine[None, None, None]]) -> float:
        before = time.process_time()
        self._runner.run(work())
        return time.process_time() - before

    async def _learn(self) -> None:
        for collector, context in self._collectors:
            await collector.open(context)
        await self._inventory()
        await self._poll()

    async def _inventory(self) -> None:
        for collector, context in self._collectors:
            async for _ in collector.inventory(context):
                pass

    async def _poll(self) -> int:
        values = 0
        for collector, context in self._collectors:
            async for item in collector.poll(context):
                if isinstance(item, Rows) and item.table.kind == _ENTITIES:
                    values += sum(value is not None for column in item.values.values() for value in column)
        return values

    async def _close(self) -> None:
        for collector, _ in self._collectors:
            await collector.close()


class Recorder:
    """sanpath's recorder, as `sanpath run` starts it: polls every ten seconds, and writes."""

    def __init__(self, agents: Sequence[int], folder: Path) -> None:
        self._agents, self._recording = agents, folder / "run.sanpath"
        config = folder / "sanpath.yaml"
        config.write_text(
            "sources:\n"
            + "".join(
                f"  - {{name: sw{agent}, collector: snmp_switch, host: {_HERE}, port: {agent}, "
                f"community: 'env:BENCH_COMMUNITY', every_seconds: {EVERY_SECONDS}}}\n"
                for agent in agents
            )
        )
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sanpath.recorder"],
            stdin=subprocess.PIPE,
            text=True,
            env=os.environ | {"BENCH_COMMUNITY": _COMMUNITY},
        )
        self._report(RunRequest(folder=self._recording, config=config).model_dump_json())

    @property
    def polled(self) -> int:
        """How often every switch has been polled."""
        try:
            polls = [poll.source for poll in Recording(self._recording).polls() if poll.outcome == "ok"]
        except Exception:
            return 0
        return min((polls.count(f"sw{agent}") for agent in self._agents), default=0)

    def cpu_seconds(self) -> float:
        """So far."""
        return cpu_seconds(self._process.pid)

    def values(self, first: float, last: float) -> int:
        """Read between two moments of the wall clock in seconds."""
        connection = connect()
        metrics = Recording(self._recording).view(connection, _ENTITIES)
        counts = " + ".join(f'count("{metric}")' for metric in metrics)
        query = f"SELECT {counts} FROM samples_{_ENTITIES} WHERE seen >= {first * 1e6} AND seen < {last * 1e6}"
        (row,) = connection.execute(query).fetchall()
        connection.close()
        return int(row[0])

    def end(self) -> None:
        """Have it write the rest."""
        self._report("stop")
        self._process.wait()

    def close(self) -> None:
        """End it, if it has not ended."""
        self._process.kill()
        self._process.wait()

    def _report(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()


class Telegraf:
    """Telegraf's agent with one input and one output: polls every ten seconds, and writes a file."""

    def __init__(self, program: Path, agents: Sequence[int], folder: Path) -> None:
        self._file = folder / "telegraf.lines"
        fields = "".join(
            f'  [[inputs.snmp.table.field]]\n    name = "{name}"\n    oid = "{oid}"\n'
            for name, oid in COLUMNS.items()
        )
        targets = ", ".join(f'"udp://{_HERE}:{agent}"' for agent in agents)
        config = folder / "telegraf.conf"
        config.write_text(
            f'[agent]\ninterval = "{EVERY_SECONDS}s"\nflush_interval = "{EVERY_SECONDS}s"\nomit_hostname = true\n'
            f'quiet = true\nsnmp_translator = "gosmi"\n'
            f'[[outputs.file]]\nfiles = ["{self._file}"]\ndata_format = "influx"\n'
            f'[[inputs.snmp]]\nagents = [{targets}]\nagent_host_tag = "source"\npath = []\nversion = 2\n'
            f'community = "{_COMMUNITY}"\nmax_repetitions = {REPETITIONS}\n'
            f'[[inputs.snmp.table]]\nname = "port"\nindex_as_tag = true\n{fields}'
        )
        self._process = subprocess.Popen([program, config], stderr=subprocess.DEVNULL)

    def cpu_seconds(self) -> float:
        """So far."""
        return cpu_seconds(self._process.pid)

    def values(self, first: float, last: float) -> int:
        """Read between two moments of the wall clock in seconds."""
        found = 0
        for line in self._file.read_text().splitlines():
            _, fields, moment = line.split(" ")
            found += fields.count("=") if first <= int(moment) / 1e9 < last else 0
        return found

    def end(self) -> None:
        """It writes the rest when it is told to end."""
        self._process.terminate()
        self._process.wait()

    close = end


def netsnmp_version() -> str:
    """As snmpbulkwalk tells it."""
    reported = subprocess.run(["snmpbulkwalk", "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"[\d.]+\d", reported.stdout + reported.stderr)
    return found[0] if found else "unknown"
