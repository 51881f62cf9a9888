"""An OpenSSH server of our own on 127.0.0.1 for the time of a test: own host key, own port, one account: ours."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import asyncssh
import pytest

from sanpath.plugin import SshTarget

_PROGRAM = shutil.which("sshd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")


@dataclass(frozen=True)
class Server:
    """A running sshd, and what it takes to log in."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def key_file(self) -> Path:
        return self.folder / "key"

    def target(self, **changes: object) -> SshTarget:
        whole = SshTarget("127.0.0.1", self.port, None, self.key_file, None, self.known_hosts, timeout_seconds=10.0)
        return replace(whole, **changes)  # type: ignore[arg-type]  # as the tests say

    def drop_connections(self) -> None:
        """End the processes that serve a connection; the server itself goes on."""
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                words = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
                if int(words[1]) == self.process.pid:
                    os.kill(int(stat.parent.name), signal.SIGKILL)


@contextmanager
def running(folder: Path, *settings: str) -> Iterator[Server]:
    """A server with these settings beside ours. Skips where there is no sshd or it cannot start."""
    if _PROGRAM is None:
        pytest.skip("openssh-server (sshd) is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    for name in ("host_key", "key"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(folder / name)
        (folder / name).chmod(0o600)
        key.write_public_key(folder / f"{name}.pub")
    public = (folder / "host_key.pub").read_text(encoding="utf-8")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}", encoding="utf-8")
    lines = (
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder}/host_key",
        f"AuthorizedKeysFile {folder}/key.pub",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PermitRootLogin yes",
        *settings,
    )
    (folder / "sshd_config").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if os.getuid() == 0:  # where sshd locks itself in; a distribution makes it when it starts its own
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    log = folder / "log"
    process = subprocess.Popen([_PROGRAM, "-D", "-f", str(folder / "sshd_config"), "-E", str(log)])
    server = Server(port, folder, process)
    try:
        for _ in range(200):
            if "Server listening" in (reported := log.read_text(encoding="utf-8") if log.exists() else ""):
                break
            if process.poll() is not None:
                pytest.skip(f"sshd does not start here: {reported.strip()}")
            time.sleep(0.05)
        else:
            pytest.fail(f"sshd did not start: {reported}")
        yield server
    finally:
        server.drop_connections()
        process.terminate()
        process.wait(10)
