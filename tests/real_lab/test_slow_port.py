"""The lab by itself, measured with fio, the agent's counters and the array's REST answers: no analysis yet."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real_lab.support import RunningLab, command_line, lab_name, processes_of

pytestmark = pytest.mark.slow

IF_NAME = "1.3.6.1.2.1.31.1.1.1.1"
IF_HC_OUT_OCTETS = "1.3.6.1.2.1.31.1.1.1.10"
IF_HIGH_SPEED = "1.3.6.1.2.1.31.1.1.1.15"
NS_CACHE_TIMEOUT = "1.3.6.1.4.1.8072.1.5.3.1.2.1.3.6.1.2.1.2.2"

FULL_PORT_BYTES_PER_SECOND = 50e6  # 400 Mbit/s
AGENT_CACHE_SECONDS = 1.0


class Switch:
    """What anybody with the configured community learns from the agent, by interface name."""

    def __init__(self, lab: RunningLab, home: Path) -> None:
        source = yaml.safe_load(lab.config.read_text())["sources"][0]
        community = (lab.folder / source["community"].removeprefix("file:")).read_text().strip()
        home.mkdir()
        (home / "snmp.conf").write_text(f"defVersion 2c\ndefCommunity {community}\n")
        self._environment = {**os.environ, "SNMPCONFPATH": str(home), "MIBS": ""}
        self._address = source["host"]

    def column(self, oid: str) -> dict[str, str]:
        names, values = self._walk(IF_NAME), self._walk(oid)
        return {names[index]: value for index, value in values.items()}

    def ask(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        words = [command, "-Onq", self._address, *arguments]
        return subprocess.run(words, env=self._environment, capture_output=True, text=True, check=False)

    def _walk(self, oid: str) -> dict[str, str]:
        lines = self.ask("snmpbulkwalk", oid).stdout.splitlines()
        return {name.rpartition(".")[2]: value.strip('"') for name, _, value in (x.partition(" ") for x in lines)}


class Array:
    """A REST 2 session that trusts the certificate in the lab's folder and no other."""

    def __init__(self, lab: RunningLab) -> None:
        source = yaml.safe_load(lab.config.read_text())["sources"][1]
        self._base = f"https://{source['host']}"
        self._tls = ssl.create_default_context(cafile=str(lab.folder / source["ca_file"]))
        token = (lab.folder / source["api_token"].removeprefix("file:")).read_text().strip()
        with self._open("/api/api_version") as answer:
            newest = json.load(answer)["version"][-1]
        self._api = f"/api/{newest}"
        with self._open(f"{self._api}/login", {"api-token": token}, method="POST") as answer:
            self._session = {"x-auth-token": answer.headers["x-auth-token"]}

    def items(self, path: str) -> list[dict[str, Any]]:
        with self._open(self._api + path, self._session) as answer:
            found: list[dict[str, Any]] = json.load(answer)["items"]
        return found

    def _open(self, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> Any:
        request = urllib.request.Request(self._base + path, headers=headers or {}, method=method)
        return urllib.request.urlopen(request, context=self._tls, timeout=10)


def fio(lab: RunningLab, queue_depth: int, seconds: int) -> dict[str, Any]:
    """The reads of one fio job."""
    job = lab.load.index("fio") + 1
    options = [
        "--name=probe", "--ioengine=nbd", "--uri=nbd://10.213.1.2:10809", "--rw=randread", "--bs=64k",
        f"--iodepth={queue_depth}", "--time_based", f"--runtime={seconds}", "--output-format=json",
    ]  # fmt: skip
    done = subprocess.run([*lab.load[:job], *options], capture_output=True, text=True, check=True)
    reads: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]
    return reads


def test_port_is_full_and_the_array_is_fast(slow_port_lab: RunningLab, tmp_path: Path) -> None:
    switch, array = Switch(slow_port_lab, tmp_path / "snmp"), Array(slow_port_lab)
    assert {name: switch.column(IF_HIGH_SPEED)[name] for name in ("p-host", "p-array")} == {
        "p-host": "400",
        "p-array": "10000",
    }

    octets_before = int(switch.column(IF_HC_OUT_OCTETS)["p-host"])
    began = time.time()
    reads = fio(slow_port_lab, queue_depth=16, seconds=6)
    time.sleep(AGENT_CACHE_SECONDS + 1.5)
    octets = int(switch.column(IF_HC_OUT_OCTETS)["p-host"]) - octets_before

    seconds = reads["runtime"] / 1000
    assert 0.85 < octets / seconds / FULL_PORT_BYTES_PER_SECOND < 1.02
    assert reads["lat_ns"]["mean"] / 1e6 > 15

    window = f"resolution=1000&start_time={int(began * 1000)}&end_time={int(time.time() * 1000)}"
    samples = array.items(f"/arrays/performance?{window}")
    served = sum(sample["reads_per_sec"] for sample in samples)
    assert served / seconds == pytest.approx(reads["iops"], rel=0.05)
    busy = [sample["reads_per_sec"] for sample in samples if sample["reads_per_sec"] > 0]
    whole_seconds = busy[1:-1]
    assert len(whole_seconds) >= 4
    assert sum(whole_seconds) / len(whole_seconds) == pytest.approx(reads["iops"], rel=0.05)
    service = sum(s["service_usec_per_read_op"] * s["reads_per_sec"] for s in samples) / served
    assert 2000 <= service < 4000


def test_topology_names_what_the_sources_name(slow_port_lab: RunningLab, tmp_path: Path) -> None:
    config = yaml.safe_load(slow_port_lab.config.read_text())
    ports = Switch(slow_port_lab, tmp_path / "snmp").column(IF_NAME)
    [target] = Array(slow_port_lab).items("/network-interfaces")
    cables = [link.split(" cabled_to ") for link in config["topology"]["links"] if " cabled_to " in link]
    assert {port.removeprefix("switch_port:sw1/") for port, _ in cables} <= set(ports)
    assert f"array_port:fa1/{target['name'].upper()}" in {far_end for _, far_end in cables}
    job = Path(slow_port_lab.load[-1]).read_text()
    assert f"nbd://{target['eth']['address']}:" in job


def test_secrets_are_private_and_on_no_command_line(slow_port_lab: RunningLab) -> None:
    folder = slow_port_lab.folder
    private = [*(folder / "secrets").iterdir(), *(folder / "agent").glob("*.conf")]
    assert {oct(file.stat().st_mode & 0o777) for file in private} == {"0o600"}
    values = [file.read_text().strip() for file in (folder / "secrets").iterdir()]
    values.append((folder / "agent" / "snmp.conf").read_text().split()[-1])
    running = [command_line(process) for process in processes_of(lab_name(folder))]
    assert len(running) >= 3
    logs = [log.read_text() for log in (folder / "logs").iterdir()]
    for text in (*running, *logs, slow_port_lab.config.read_text()):
        assert not any(value in text for value in values)


def test_the_configured_community_reads_a_fresh_cache_and_cannot_write(
    slow_port_lab: RunningLab, tmp_path: Path
) -> None:
    switch = Switch(slow_port_lab, tmp_path / "snmp")
    assert switch.ask("snmpget", NS_CACHE_TIMEOUT).stdout.split()[-1] == "1"
    assert switch.ask("snmpset", "-t", "0.3", "-r", "0", NS_CACHE_TIMEOUT, "i", "9").returncode != 0
    assert switch.ask("snmpget", NS_CACHE_TIMEOUT).stdout.split()[-1] == "1"
