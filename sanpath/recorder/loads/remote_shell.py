"""A small POSIX shell on a host that starts a load on request, and ends it on request or if the connection is lost.

The shell prints a random word, answers each line with its clock, and on "go" replaces itself by the load. A second
shell waits for the end of the input, when sanpath closes it or the connection is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shlex
from collections.abc import Sequence
from typing import Any, Protocol

import asyncssh

from sanpath.errors import CollectorError, UsageError
from sanpath.plugin import SshTarget
from sanpath.recorder.loads.processes import environment
from sanpath.transport.ssh.login import log_in

CONNECTION_LOST = 255
"""Exit code of a load whose connection was lost, as of ssh(1)."""

_SCRIPT = r"""
word=$1; shift
echo "$word"
while read -r line && [ "$line" != go ]; do date +%s.%N; done
[ "$line" = go ] || exit 1
exec 3<&0
{
  read -r line
  kill -INT $$ || exit 0
  for second in 1 2 3 4 5; do kill -0 $$ && sleep 1; done
  kill -TERM $$ && sleep 2 && kill -KILL $$
  for file in /proc/[0-9]*/environ; do
    if tr "\0" "\n" <"$file" | grep -qx "SANPATH_LOAD=$word"; then
      process=${file#/proc/}
      kill -KILL "${process%/environ}"
    fi
  done
} <&3 >/dev/null 2>&1 &
date +%s.%N
SANPATH_LOAD=$word
export SANPATH_LOAD
exec "$@" </dev/null 3<&-
"""


class Shell(Protocol):
    """The shell of one host with its streams."""

    stdin: Any  # of asyncio or asyncssh: both offer what is used here
    stdout: Any
    stderr: Any

    async def wait_for_end(self) -> int:
        """Wait for the end. Returns the exit code: 128 + n after signal n, CONNECTION_LOST after that."""
        ...

    def close(self) -> None:
        """Close the connection: the second shell then ends the load."""
        ...


class _LocalShell:
    """A shell on this machine."""

    stdin: Any
    stdout: Any
    stderr: Any

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr

    async def wait_for_end(self) -> int:
        status = await self._process.wait()
        return 128 - status if status < 0 else status

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()


class _SshShell:
    """A shell over SSH."""

    stdin: Any
    stdout: Any
    stderr: Any

    def __init__(self, connection: asyncssh.SSHClientConnection, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._connection, self._process = connection, process
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr

    async def wait_for_end(self) -> int:
        await self._process.wait_closed()
        status = self._process.returncode
        return CONNECTION_LOST if status is None else 128 - status if status < 0 else status

    def close(self) -> None:
        self._connection.close()


async def open_shell(name: str, target: SshTarget | None, argv: Sequence[str]) -> Shell:
    """Return a shell that is ready to start `argv`; `target` None: on this machine. Raises UsageError."""
    word = secrets.token_hex(8)
    arguments = ["/bin/sh", "-c", _SCRIPT, "sanpath-load", word, *argv]
    shell: Shell
    if target is None:
        pipe = asyncio.subprocess.PIPE
        shell = _LocalShell(
            await asyncio.create_subprocess_exec(
                *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(word), start_new_session=True
            )
        )
    else:
        try:
            connection = await log_in(target)
            shell = _SshShell(
                connection, await connection.create_process(f"exec {shlex.join(arguments)}", encoding=None)
            )
        except (CollectorError, asyncssh.Error, OSError) as error:
            raise UsageError(f"host {name}: {error}") from error
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(target.timeout_seconds if target else 5.0):
            while line := await shell.stdout.readline():
                if line.strip() == word.encode():  # Login scripts may print something first.
                    return shell
    shell.close()
    raise UsageError(f"host {name}: this account cannot run /bin/sh there")
