"""A net-snmp agent of our own for the time of a test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running(folder: Path, configuration: str) -> Iterator[int]:
    """The UDP port on 127.0.0.1 of an agent with this snmpd.conf. Skips where snmpd is not installed."""
    if not shutil.which("snmpd"):
        pytest.skip("net-snmp (snmpd) is not installed")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    conf, log = folder / "snmpd.conf", folder / "log"
    conf.write_text(f"agentaddress udp:127.0.0.1:{port}\n{configuration}", encoding="utf-8")
    environment = os.environ | {"MIBS": "", "SNMP_PERSISTENT_DIR": str(folder)}
    process = subprocess.Popen(
        ["snmpd", "-f", "-C", "-c", str(conf), "-Lf", str(log)], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            if log.exists() and "NET-SNMP version" in log.read_text(encoding="utf-8"):
                break
            time.sleep(0.05)
        else:
            pytest.fail(f"snmpd did not start: {log.read_text(encoding='utf-8') if log.exists() else 'no log'}")
        yield port
    finally:
        process.terminate()
        process.wait(10)
