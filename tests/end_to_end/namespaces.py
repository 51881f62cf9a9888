"""Network namespaces that see each other and nothing else: a hub, and sites that are cabled to it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from sanpath.cli.sessions.child_process import environment

HUB = "10.77.0.1"
"""The hub's address on its bridge; the sites have those that follow."""


def skip_unless_there_can_be_any() -> None:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    tried = subprocess.run(["ip", "netns", "add", f"sp{os.getpid()}try"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no network namespace can be made here: {tried.stderr.strip()}")
    ip("netns", "delete", f"sp{os.getpid()}try")


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout


class Namespaces:
    """The hub and its sites; what is started in one ends with it."""

    def __init__(self, folder: Path, sites: Sequence[str]) -> None:
        self._folder, self.sites = folder, sites
        self._mark = f"sp{os.getpid()}"
        self._running: list[subprocess.Popen[str]] = []

    def build(self) -> None:
        hub = self._name("hub")
        ip("netns", "add", hub)
        ip("-n", hub, "link", "set", "lo", "up")
        ip("-n", hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", hub, "address", "add", f"{HUB}/24", "dev", "bridge")
        ip("-n", hub, "link", "set", "bridge", "up")
        for number, site in enumerate(self.sites, 2):
            name, port = self._name(site), f"port{number}"
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            ip("link", "add", port, "netns", hub, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", name, "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", hub, "link", "set", port, "master", "bridge", "up")

    def remove(self) -> None:
        for process in self._running:
            if process.stdin:
                process.stdin.close()
        for site in ("hub", *self.sites):
            self.kill(site)
            subprocess.run(["ip", "netns", "delete", self._name(site)], capture_output=True, check=False)
        for process in self._running:
            process.wait(10)

    def start(
        self,
        site: str,
        command: Sequence[str],
        log: str,
        more: Mapping[str, str],
        stdout: IO[str] | int | None = None,
    ) -> subprocess.Popen[str]:
        """Run a command in a site; what it says goes to `log`.out and `log`.err."""
        out = stdout if stdout is not None else (self._folder / f"{log}.out").open("w")
        with (self._folder / f"{log}.err").open("w") as err:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self._name(site), *command],
                cwd=self._folder,
                env=environment() | more,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=err,
                text=True,
            )
        self._running.append(process)
        return process

    def run(self, site: str, command: Sequence[str], more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command in a site to its end."""
        return subprocess.run(
            ["ip", "netns", "exec", self._name(site), *command],
            cwd=self._folder,
            env=environment() | more,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def kill(self, site: str) -> None:
        """kill -9 for everything that runs in a site."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self._name(site)], capture_output=True, text=True, check=False
        )
        for process in listed.stdout.split():
            try:
                os.kill(int(process), signal.SIGKILL)
            except ProcessLookupError:
                continue

    def _name(self, site: str) -> str:
        return f"{self._mark}{site}"


@contextmanager
def namespaces(folder: Path, *sites: str) -> Iterator[Namespaces]:
    skip_unless_there_can_be_any()
    made = Namespaces(folder, sites)
    try:
        made.build()
        yield made
    finally:
        made.remove()


def until(met: Callable[[], object], what: str, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, f"no {what} after {seconds:.0f} s"
        time.sleep(0.2)


def output_of(process: subprocess.Popen[str]) -> dict[str, object]:
    """The first line of a process, which is JSON."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "it ended without a word"
    found: dict[str, object] = json.loads(line)
    return found


def sanpath(*words: str) -> list[str]:
    return [sys.executable, "-m", "sanpath", *words]
