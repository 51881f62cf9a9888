"""This machine's files and commands, and recorded ones in their place."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from sanpath.plugin import CollectorError, CommandReply, Cost, Failure, SshTarget
from sanpath.transport.live_context import LiveContext
from tests.support.replay import ReplayContext


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


def test_a_recorded_machine_answers_commands_and_moves_on(tmp_path: Path) -> None:
    (tmp_path / "1.commands.yaml").write_text(
        "hostname: |\n  db7\ndmsetup status: {errors: Permission denied, exit: 1}\n", encoding="utf-8"
    )
    (tmp_path / "2.commands.yaml").write_text("hostname: {output: db8}\n", encoding="utf-8")
    (tmp_path / "1.files" / "etc").mkdir(parents=True)
    (tmp_path / "1.files" / "etc" / "name").write_text("db7", encoding="utf-8")

    async def run() -> list[CommandReply]:
        context = ReplayContext(WallClock(), tmp_path)
        machine = context.machine(SshTarget("db7"))
        replies = [await machine.run(command.split()) for command in ("hostname", "dmsetup status", "ip address")]
        context.advance()
        replies += [await machine.run(command.split()) for command in ("hostname", "dmsetup status")]
        assert await machine.read(["/etc/*"]) == {"/etc/name": b"db7"}
        assert context.cost.requests == 6
        return replies

    first, denied, missing, later, still = asyncio.run(run())
    assert first == CommandReply(0, b"db7\n", b"")
    assert denied == still == CommandReply(1, b"", b"Permission denied")
    assert missing.exit_code == 127
    assert later == CommandReply(0, b"db8", b"")


def test_files_of_this_machine_are_one_request(tmp_path: Path) -> None:
    for name in ("a1", "a2", "b1"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    cost = Cost()
    machine = LiveContext(WallClock(), cost).machine()
    found = asyncio.run(machine.read([f"{tmp_path}/a?", f"{tmp_path}/a1"]))
    assert found == {f"{tmp_path}/a1": b"a1", f"{tmp_path}/a2": b"a2"}
    assert (cost.requests, cost.bytes_in) == (1, 4)


def test_a_command_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    async def run() -> int:
        machine = LiveContext(WallClock(), Cost()).machine()
        waiting = asyncio.ensure_future(machine.run(["sh", "-c", f"echo $$ > '{begun}'; exec sleep 60"]))
        while not (begun.exists() and begun.read_text(encoding="utf-8").endswith("\n")):
            await asyncio.sleep(0.02)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return int(begun.read_text(encoding="utf-8"))

    process = asyncio.run(run())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_command_whose_output_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanpath.transport.local_machine.MAX_OUTPUT_BYTES", 1 << 20)
    machine = LiveContext(WallClock(), Cost()).machine()
    for command in (["yes"], ["sh", "-c", "yes >&2"]):
        began = time.monotonic()
        with pytest.raises(CollectorError, match=f"{command[0]} writes more than 1 MiB") as raised:
            asyncio.run(machine.run(command))
        assert raised.value.failure is Failure.UNREADABLE
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_name_that_no_program_can_be_given_is_a_command_that_fails(name: str) -> None:
    """Paths of disks come from the JSON of a machine's monitor, which may say anything."""
    machine = LiveContext(WallClock(), Cost()).machine()
    assert asyncio.run(machine.run(["readlink", "-m", "--", name])).exit_code == 126
    assert asyncio.run(machine.read([f"/proc/{name}"])) == {}
    assert asyncio.run(machine.names([f"/proc/{name}"])) == []
    with pytest.raises(CollectorError) as raised:
        asyncio.run(machine.exchange(f"/tmp/{name}", b"", bool, 1.0))
    assert raised.value.failure is Failure.UNREACHABLE
