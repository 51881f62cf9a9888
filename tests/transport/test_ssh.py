"""SshMachine against a real OpenSSH server on this machine, against strangers, and against silence."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import asyncssh
import pytest
from pydantic import SecretStr

from sanpath.plugin import CollectorError, CommandReply, Cost, Failure, Machine, SshTarget
from sanpath.transport.live_context import LiveContext
from sanpath.transport.local_machine import MAX_FILE_BYTES
from sanpath.transport.ssh import session
from tests.transport.sshd import Server, running

T = TypeVar("T")


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder: neither the keys nor the configuration of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / ".ssh").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("sshd")) as one:
        yield one


def on(target: SshTarget | None, use: Callable[[Machine], Awaitable[T]]) -> tuple[T, Cost]:
    """Use a machine in a loop of its own."""

    async def run() -> tuple[T, Cost]:
        cost = Cost()
        machine = LiveContext(WallClock(), cost).machine(target)
        try:
            return await use(machine), cost
        finally:
            await machine.close()

    return asyncio.run(run())


def failure(target: SshTarget) -> CollectorError:
    with pytest.raises(CollectorError) as caught:
        on(target, lambda machine: machine.names(["/proc"]))
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.fixture
def odd_files(tmp_path: Path) -> Path:
    """Files whose names and contents are hard on a shell."""
    folder = tmp_path / "it's $(odd)"
    contents = {
        "binary": bytes(range(256)) * 17,
        "no end of line": b"a\nb",
        "like a mark": b"/bin/sh\0-s\0" + b"0" * 32 + b"\0/etc/passwd\0",
        "empty": b"",
        "-n": b"x",
        "[brackets]": b"y\n",
    } | {f"many{number}": f"{number}\n".encode() for number in range(250)}
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    return folder


def test_files_are_read_byte_for_byte_in_one_request_as_they_are_here(server: Server, odd_files: Path) -> None:
    patterns = [f"{odd_files}/*", f"{odd_files}/many1?", "/proc/sys/kernel/osrel*", f"{odd_files}/none*", "/no/such"]
    there, cost = on(server.target(), lambda machine: machine.read(patterns))
    here, _ = on(None, lambda machine: machine.read(patterns))
    assert there == here
    assert there[f"{odd_files}/binary"] == bytes(range(256)) * 17
    assert f"{odd_files}/empty" not in there
    assert f"{odd_files}/folder" not in there
    assert len(there) == 255 + 1
    assert cost.requests == 1
    assert cost.bytes_in >= sum(map(len, there.values()))


def test_names_are_those_that_are_here(server: Server, odd_files: Path) -> None:
    patterns = [f"{odd_files}/*", f"{odd_files}/many[1-2]", "/sys/block/*", "/no/such/*"]
    there, cost = on(server.target(), lambda machine: machine.names(patterns))
    here, _ = on(None, lambda machine: machine.names(patterns))
    assert there == here
    assert f"{odd_files}/folder" in there
    assert cost.requests == 1


@pytest.mark.parametrize("remote", [True, False])
def test_a_command_gets_its_words_as_they_are(server: Server, remote: bool) -> None:
    words = ["two words", "$(id)", "it's", "*", ""]
    target = server.target() if remote else None
    reply, _ = on(target, lambda machine: machine.run(["printf", "%s|", *words]))
    assert reply == CommandReply(0, "".join(f"{word}|" for word in words).encode(), b"")


@pytest.mark.parametrize("remote", [True, False])
def test_a_command_that_fails_says_so(server: Server, remote: bool) -> None:
    async def both(machine: Machine) -> tuple[CommandReply, CommandReply]:
        return await machine.run(["cat", "/no/such/file"]), await machine.run(["no-such-program"])

    (failed, missing), _ = on(server.target() if remote else None, both)
    assert failed.exit_code == 1
    assert b"No such file" in failed.errors
    assert missing.exit_code == 127


class Daemon:
    """Serves one client at a time at a Unix socket: greets it, and answers each line with the line in upper case."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with suppress(OSError), client, client.makefile("rb") as lines:
                client.sendall(b"hello\n")
                for line in lines:
                    client.sendall(line.upper())

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "daemon.sock")
    yield daemon
    daemon.close()


def ends_with_b(answer: bytes) -> bool:
    return answer.endswith(b"B\n")


@pytest.mark.parametrize("remote", [False, True])
def test_a_daemon_answers_on_its_socket_and_is_left_at_once(server: Server, daemon: Daemon, remote: bool) -> None:
    async def twice(machine: Machine) -> list[bytes]:
        return [await machine.exchange(str(daemon.path), b"a\nb\n", ends_with_b, 5.0) for _ in range(2)]

    answers, cost = on(server.target() if remote else None, twice)
    assert answers == [b"hello\nA\nB\n"] * 2
    assert cost.bytes_in >= 20


@pytest.mark.parametrize("remote", [False, True])
def test_a_daemon_that_serves_another_client_is_unreachable(server: Server, daemon: Daemon, remote: bool) -> None:
    with socket.socket(socket.AF_UNIX) as other_client:
        other_client.connect(str(daemon.path))
        assert other_client.recv(10) == b"hello\n"
        with pytest.raises(CollectorError, match="another client may be connected") as raised:
            on(
                server.target() if remote else None,
                lambda machine: machine.exchange(str(daemon.path), b"b\n", ends_with_b, 0.3),
            )
    assert raised.value.failure is Failure.UNREACHABLE


@pytest.mark.parametrize("remote", [False, True])
def test_a_socket_that_is_not_there_is_unreachable(server: Server, tmp_path: Path, remote: bool) -> None:
    with pytest.raises(CollectorError, match="nothing") as raised:
        on(
            server.target() if remote else None,
            lambda machine: machine.exchange(str(tmp_path / "nothing.sock"), b"b\n", ends_with_b, 5.0),
        )
    assert raised.value.failure is Failure.UNREACHABLE


def test_a_command_reads_no_input(server: Server) -> None:
    assert on(server.target(), lambda machine: machine.run(["cat"]))[0] == CommandReply(0, b"", b"")


def test_one_connection_serves_all_requests(server: Server) -> None:
    async def three(machine: Machine) -> set[bytes]:
        replies = [await machine.run(["printenv", "SSH_CONNECTION"]) for _ in range(3)]
        return {reply.output for reply in replies}

    assert len(on(server.target(), three)[0]) == 1


def test_a_file_that_is_too_large_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    for target in (server.target(), None):
        with pytest.raises(CollectorError, match="large") as caught:
            on(target, lambda machine: machine.read([f"{tmp_path}/*"]))
        assert caught.value.failure is Failure.UNREADABLE


def test_an_answer_without_end_is_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MAX_ANSWER_BYTES", 1 << 20)
    with pytest.raises(CollectorError, match="more than 1 MiB") as caught:
        on(server.target(), lambda machine: machine.run(["cat", "/dev/zero"]))
    assert caught.value.failure is Failure.UNREADABLE


def test_a_wrong_key_is_refused(server: Server, tmp_path: Path) -> None:
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(tmp_path / "other")
    refused = failure(server.target(key_file=tmp_path / "other"))
    assert refused.failure is Failure.REFUSED
    assert str(tmp_path / "other") in str(refused)


def test_a_wrong_password_is_refused_and_not_repeated(server: Server) -> None:
    refused = failure(server.target(key_file=None, user="nobody-here", password=SecretStr("hunter2")))
    assert refused.failure is Failure.REFUSED
    assert "nobody-here" in str(refused)
    assert "hunter2" not in str(refused)


def test_an_unknown_host_key_is_never_accepted(server: Server, home: Path) -> None:
    stranger = failure(server.target(known_hosts=None))
    assert stranger.failure is Failure.MISCONFIGURED
    assert asyncssh.read_public_key(server.folder / "host_key.pub").get_fingerprint() in str(stranger)
    assert f"ssh-keyscan -p {server.port} 127.0.0.1 >> ~/.ssh/known_hosts" in str(stranger)
    (home / ".ssh" / "known_hosts").write_bytes(b"nonsense\n" + server.known_hosts.read_bytes())
    assert on(server.target(known_hosts=None), lambda machine: machine.names(["/proc"]))[0] == ["/proc"]


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256"])
def test_a_changed_host_key_is_said_loudly(server: Server, tmp_path: Path, kind: str) -> None:
    known = asyncssh.generate_private_key(kind).export_public_key().decode()
    (tmp_path / "known").write_text(f"[127.0.0.1]:{server.port} {known}", encoding="utf-8")
    changed = failure(server.target(known_hosts=tmp_path / "known"))
    assert changed.failure is Failure.MISCONFIGURED
    assert "HOST KEY HAS CHANGED" in str(changed)
    assert f"ssh-keygen -R '[127.0.0.1]:{server.port}' -f {tmp_path / 'known'}" in str(changed)


def test_a_revoked_host_key_is_told_apart(server: Server, tmp_path: Path) -> None:
    (tmp_path / "known").write_bytes(b"@revoked " + server.known_hosts.read_bytes())
    assert "revoked" in str(failure(server.target(known_hosts=tmp_path / "known")))


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"known_hosts": Path("/no/such/file")}, "known_hosts /no/such/file"),
        ({"key_file": Path("/no/such/key")}, "key_file /no/such/key"),
    ],
)
def test_a_file_of_the_configuration_that_is_not_there_is_named(
    server: Server, change: dict[str, Path], reported: str
) -> None:
    wrong = failure(server.target(**change))
    assert wrong.failure is Failure.MISCONFIGURED
    assert reported in str(wrong)


def test_a_key_with_a_passphrase_is_a_mistake_of_the_configuration(server: Server, tmp_path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(tmp_path / "locked")]
    subprocess.run(command, check=True)
    wrong = failure(server.target(key_file=tmp_path / "locked"))
    assert wrong.failure is Failure.MISCONFIGURED
    assert "assphrase" in str(wrong)


def test_a_host_alias_of_the_users_configuration_is_honoured(server: Server, home: Path) -> None:
    lines = (f"Port {server.port}", "HostName 127.0.0.1", f"IdentityFile {server.key_file}", "SendEnv HOME_*")
    (home / ".ssh" / "config").write_text("Host db7\n" + "\n".join(lines) + "\n", encoding="utf-8")
    target = server.target(host="db7", port=None, key_file=None)
    assert on(target, lambda machine: machine.names(["/proc"]))[0] == ["/proc"]


def test_a_silent_server_is_unreachable() -> None:
    async def ask() -> CollectorError:
        async def say_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await heard.wait()
            writer.close()

        heard = asyncio.Event()
        listener = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        machine = LiveContext(WallClock(), Cost()).machine(SshTarget("127.0.0.1", port, timeout_seconds=0.3))
        try:
            with pytest.raises(CollectorError) as caught:
                await machine.names(["/proc"])
        finally:
            await machine.close()
            heard.set()
            listener.close()
            await listener.wait_closed()
        return caught.value

    silent = asyncio.run(ask())
    assert silent.failure is Failure.UNREACHABLE
    assert "no answer" in str(silent)


def test_nobody_there_is_unreachable(unused_port: int) -> None:
    gone = failure(SshTarget("127.0.0.1", unused_port))
    assert gone.failure is Failure.UNREACHABLE
    assert "refused" in str(gone).lower()


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def test_a_dropped_connection_is_one_failed_request_at_most(server: Server) -> None:
    async def connection(machine: Machine) -> str:
        try:
            return (await machine.run(["printenv", "SSH_CONNECTION"])).output.decode()
        except CollectorError as error:
            return error.failure.value

    async def run(machine: Machine) -> list[str]:
        before = await connection(machine)
        server.drop_connections()
        return [before, await connection(machine), await connection(machine)]

    before, at_once, after = on(server.target(), run)[0]
    assert at_once in (Failure.UNREACHABLE.value, after)
    assert before.startswith("127.0.0.1")
    assert after.startswith("127.0.0.1")
    assert before != after


def test_a_connection_that_drops_during_a_request_is_unreachable(server: Server) -> None:
    async def run(machine: Machine) -> CollectorError:
        await machine.names(["/proc"])
        waiting = asyncio.ensure_future(machine.run(["sleep", "9"]))
        while not (server.process.poll() is None and _sleeps()):
            await asyncio.sleep(0.02)
        server.drop_connections()
        with pytest.raises(CollectorError) as caught:
            await waiting
        assert await machine.names(["/proc"]) == ["/proc"]
        return caught.value

    assert on(server.target(), run)[0].failure is Failure.UNREACHABLE


def _sleeps() -> bool:
    return any(_line(path) == b"sleep\x009\x00" for path in Path("/proc").glob("[0-9]*/cmdline"))


def _line(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_request_without_an_answer_is_unreachable_and_the_next_one_answered(server: Server) -> None:
    async def run(machine: Machine) -> list[str]:
        with pytest.raises(CollectorError, match="no answer") as caught:
            await machine.run(["sleep", "9"])
        assert caught.value.failure is Failure.UNREACHABLE
        return await machine.names(["/proc"])

    assert on(server.target(timeout_seconds=1.0), run)[0] == ["/proc"]


def test_a_cancelled_request_costs_no_new_login(server: Server) -> None:
    async def run(machine: Machine) -> list[bytes]:
        before = await machine.run(["printenv", "SSH_CONNECTION"])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await machine.run(["sleep", "9"])
        after = await machine.run(["printenv", "SSH_CONNECTION"])
        return [before.output, after.output]

    before, after = on(server.target(), run)[0]
    assert before == after


def test_what_start_up_files_write_is_dropped(tmp_path: Path) -> None:
    greet = 'ForceCommand echo Welcome to db7; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"'
    with running(tmp_path, greet) as greeting:
        read, _ = on(greeting.target(), lambda machine: machine.read(["/proc/sys/kernel/ostype"]))
        assert read == {"/proc/sys/kernel/ostype": b"Linux\n"}
        ran, _ = on(greeting.target(), lambda machine: machine.run(["echo", "done"]))
        assert ran.output == b"done\n"


def test_an_account_without_a_shell_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, "ForceCommand echo This account is not available; exit 1") as closed:
        refused = failure(closed.target())
    assert refused.failure is Failure.REFUSED
    assert "This account is not available" in refused.excerpt


def test_the_library_is_loaded_by_the_first_that_needs_it() -> None:
    code = (
        "import sys; from sanpath.plugin import Cost; from sanpath.transport.live_context import LiveContext; "
        "LiveContext(None, Cost()).machine(None); print('asyncssh' in sys.modules)"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = [{root!r}, {root + '/collectors'!r}]; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_a_path_that_is_no_text_is_read_as_it_is_here(server: Server, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).write_bytes(b"x")

    async def found(machine: Machine) -> Mapping[str, bytes]:
        return await machine.read(await machine.names([f"{tmp_path}/*"]))

    for target in (server.target(), None):
        assert on(target, found)[0] == {f"{tmp_path}/\udcff": b"x"}


@pytest.mark.parametrize("remote", [True, False])
def test_a_name_that_no_machine_has_is_found_nowhere(server: Server, remote: bool) -> None:
    """Paths of disks come from the JSON of a machine's monitor, which may say anything."""

    async def both(machine: Machine) -> tuple[CommandReply, Mapping[str, bytes]]:
        return await machine.run(["readlink", "\ud800"]), await machine.read(["/proc/\ud800"])

    (reply, files), _ = on(server.target() if remote else None, both)
    assert reply.exit_code == 126
    assert files == {}


def test_an_answer_like_that_of_no_shell_is_unreadable(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.script, "_RUN_SCRIPT", session.script._RUN_SCRIPT.replace("%d", "many%.0s"))
    with pytest.raises(CollectorError, match="does not answer like a shell") as caught:
        on(server.target(), lambda machine: machine.run(["true"]))
    assert caught.value.failure is Failure.UNREADABLE
