"""Files of this machine, and recorded ones in their place."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sanpath.plugin import Cost
from sanpath.transport.live_context import LiveContext
from tests.support.replay import ReplayContext


class StillClock:
    def now_us(self) -> int:
        return 1_700_000_000_000_000


def test_a_file_of_this_machine_is_read_whole_and_its_cost_booked(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"12345")
    (tmp_path / "a").mkdir()
    cost = Cost()
    files = LiveContext(StillClock(), cost).files
    assert asyncio.run(files.read(str(tmp_path / "b"))) == b"12345"
    assert asyncio.run(files.list(str(tmp_path))) == ["a", "b"]
    assert (cost.requests, cost.bytes_in) == (2, 5)


def test_what_is_not_there_or_cannot_be_read_is_none(tmp_path: Path) -> None:
    files = LiveContext(StillClock(), Cost()).files
    assert asyncio.run(files.read(str(tmp_path / "missing"))) is None
    assert asyncio.run(files.read(str(tmp_path))) is None
    assert asyncio.run(files.list(str(tmp_path / "missing"))) == []


def test_a_recorded_machine_moves_on_and_keeps_what_did_not_change(tmp_path: Path) -> None:
    for number, name, text in ((1, "proc/stat", "first"), (1, "etc/name", "db7"), (2, "proc/stat", "second")):
        path = tmp_path / f"{number}.files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    context = ReplayContext(StillClock(), tmp_path)
    assert asyncio.run(context.files.read("/proc/stat")) == b"first"
    for _ in range(2):
        context.advance()
        assert asyncio.run(context.files.read("/proc/stat")) == b"second"
    assert asyncio.run(context.files.read("/etc/name")) == b"db7"
    assert asyncio.run(context.files.list("/proc")) == ["stat"]
