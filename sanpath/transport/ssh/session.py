"""A Linux machine over SSH: one connection, and one /bin/sh on it that answers all requests."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import asyncssh

from sanpath.plugin import CollectorError, CommandReply, Cost, Failure, SshTarget
from sanpath.transport import unix_socket
from sanpath.transport.local_machine import check_size, invalid_argument_reply
from sanpath.transport.ssh import script
from sanpath.transport.ssh.login import failure_text, log_in, name_of

MAX_ANSWER_BYTES = 64 << 20
_CHUNK_BYTES = 64 << 10
_CLOSE_SECONDS = 1.0
_EXCERPT_BYTES = 200


@dataclass(slots=True)
class _Session:
    connection: asyncssh.SSHClientConnection
    shell: asyncssh.SSHClientProcess[bytes]
    word: str
    has_answered: bool = False


class SshMachine:
    """`plugin.Machine` over SSH. The first request logs in; after a lost connection the next one logs in again.

    A request costs one round trip, and one process on the machine: `cat`, or the command itself. After a cancelled
    request, the next one starts a new shell on the same connection.
    """

    def __init__(self, target: SshTarget, cost: Cost) -> None:
        self._target, self._cost = target, cost
        self._name = name_of(target)
        self._connection: asyncssh.SSHClientConnection | None = None
        self._session: _Session | None = None

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        """Read every non-empty file that matches a pattern. Raises CollectorError."""
        word, answer, _ = await self._ask(script.read_script(patterns))
        try:
            files = script.parse_files(answer, word)
        except ValueError as error:
            raise CollectorError(Failure.UNREADABLE, f"{self._name}: {error}: no Linux with /proc?") from error
        return {path: check_size(path, content) for path, content in files.items() if content}

    async def names(self, patterns: Sequence[str]) -> list[str]:
        """List the existing paths that match the patterns. Raises CollectorError."""
        word, answer, _ = await self._ask(script.names_script(patterns))
        return script.parse_names(answer, word)

    async def run(self, command: Sequence[str]) -> CommandReply:
        """Run a command. Raises CollectorError if the account cannot run any."""
        try:
            run_script = script.run_script(command)
        except UnicodeEncodeError:
            return invalid_argument_reply()
        word, answer, errors = await self._ask(run_script, with_errors=True)
        try:
            return script.parse_reply(answer, errors, word)
        except ValueError as error:
            raise CollectorError(Failure.UNREADABLE, f"{self._name}: does not answer like a shell") from error

    async def exchange(
        self, socket_path: str, request: bytes, is_complete: Callable[[bytes], bool], timeout_seconds: float
    ) -> bytes:
        """Send a request to a Unix socket of the machine, through its SSH server. Raises CollectorError.

        It needs no program on the machine, but `AllowStreamLocalForwarding`, which is on by default (sshd_config).
        """
        if self._session is None or self._session.connection.is_closed():
            await self.names([])
        if self._session is None:
            raise self._connection_lost("the shell has ended")
        self._cost.requests += 1
        connection = self._session.connection.open_unix_connection(socket_path, encoding=None)
        try:
            answer = await unix_socket.exchange(socket_path, connection, request, is_complete, timeout_seconds)
        except asyncssh.ChannelOpenError as error:
            # The server gives the same reason for a missing socket, a refused connection, and disabled forwarding.
            message = (
                f"{self._name}: {socket_path}: {error.reason}: does the socket exist, may this account open it, and "
                "does sshd allow AllowStreamLocalForwarding?"
            )
            raise CollectorError(Failure.UNREACHABLE, message) from error
        except asyncssh.Error as error:
            raise self._connection_lost(failure_text(error)) from error
        self._cost.bytes_in += len(answer)
        return answer

    async def close(self) -> None:
        """Log out; the connection to a machine that does not answer is aborted."""
        connection, self._connection, self._session = self._connection, None, None
        if connection is None:
            return
        connection.close()
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await connection.wait_closed()
        except (TimeoutError, OSError, asyncssh.Error):
            connection.abort()

    async def _ask(self, script: bytes, with_errors: bool = False) -> tuple[str, bytes, bytes]:
        """Run a script. Returns the word of the session, and the script's standard output and standard error.

        `with_errors` False: the script does not frame its standard error, which is not read.
        """
        if self._connection is None or self._connection.is_closed():
            self._connection, self._session = await log_in(self._target), None
        connection = self._connection
        self._cost.requests += 1
        try:
            async with asyncio.timeout(self._target.timeout_seconds):
                session = self._session = self._session or await _start_shell(connection)
                session.shell.stdin.write(script)
                answer = await self._answer(session, session.shell.stdout)
                errors = await self._answer(session, session.shell.stderr) if with_errors else b""
        except TimeoutError as error:
            self._abandon(connection)
            message = f"{self._name}: gave no answer in {self._target.timeout_seconds:g} s"
            raise CollectorError(Failure.UNREACHABLE, message) from error
        except (asyncssh.Error, OSError) as error:
            self._abandon(connection)
            raise self._connection_lost(failure_text(error)) from error
        except asyncio.CancelledError:
            # The machine may only be busy: a new shell costs it less than a new connection.
            if (late := self._session) is not None:
                late.shell.close()
            self._session = None
            raise
        except BaseException:
            self._abandon(connection)
            raise
        session.has_answered = True
        self._cost.bytes_in += len(answer) + len(errors)
        return session.word, answer, errors

    def _abandon(self, connection: asyncssh.SSHClientConnection) -> None:
        """Abort a connection on which the rest of an answer may still arrive."""
        self._connection = self._session = None
        connection.abort()

    async def _answer(self, session: _Session, stream: asyncssh.SSHReader[bytes]) -> bytes:
        received, end = bytearray(), script.end_line(session.word)
        while not received.endswith(end):
            chunk = await stream.read(_CHUNK_BYTES)
            if not chunk:
                raise await self._shell_ended(session, bytes(received))
            received += chunk
            if len(received) > MAX_ANSWER_BYTES:
                message = f"{self._name}: answers with more than {MAX_ANSWER_BYTES >> 20} MiB"
                raise CollectorError(Failure.UNREADABLE, message)
        return bytes(received)

    async def _shell_ended(self, session: _Session, errors: bytes) -> CollectorError:
        """Return the error for a shell that ended: the connection broke, or the account has no shell."""
        if not session.has_answered and not session.connection.is_closed():
            excerpt = (errors or await session.shell.stderr.read(_EXCERPT_BYTES))[:_EXCERPT_BYTES]
            message = f"{self._name}: this account cannot run {script.SHELL}"
            return CollectorError(Failure.REFUSED, message, excerpt.decode("utf-8", "replace").strip())
        return self._connection_lost("the shell has ended")

    def _connection_lost(self, message: str) -> CollectorError:
        return CollectorError(Failure.UNREACHABLE, f"{self._name}: the connection broke: {message}")


async def _start_shell(connection: asyncssh.SSHClientConnection) -> _Session:
    word = secrets.token_hex(16)
    return _Session(connection, await connection.create_process(f"{script.SHELL} {word}", encoding=None), word)
