"""A growing file as a source: what was there before the run is left out, what is added is read at every poll."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from sanpath.model import Column, Event, Rows, SourceEntity, SourceLink, Table
from sanpath.plugin import CollectorError, Cost, FollowedFile, FollowedFileConfig, Item, ResultReader
from sanpath.transport.live_context import LiveContext

LUN = Table("lun", (Column("in_flight"),))
HOST = Table("host", (Column("cpu_busy_ratio"),))
STARTED_US = 1_800_000_000_000_000
BEHIND_US = 90_000_000
"""The clock of the machine that writes the file is so far behind ours."""


class Lines(ResultReader):
    """A header `device NAME`, then lines `SECOND VALUE`; a line `MARK` is an event, `CPU VALUE` of the machine."""

    clock = "utc"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._rest = b""
        self._at = 0

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003
        return head.startswith(b"device ")

    def feed(self, added: bytes) -> Iterator[Item]:
        *lines, self._rest = (self._rest + added).split(b"\n")
        for line in lines:
            first, _, second = line.decode().partition(" ")
            if first == "device":
                yield SourceEntity("lun", second, second, {"device": (second,)})
            elif first == "CPU":
                yield Rows(HOST, [self.load], [self._at], {"cpu_busy_ratio": [float(second)]})
            elif first == "MARK":
                yield Event(self._at, "mark", {"name": "here"})
            else:
                self._at = STARTED_US - BEHIND_US + int(first) * 1_000_000
                yield Rows(LUN, ["sda"], [self._at], {"in_flight": [float(second)]})

    def finish(self) -> Iterable[Item]:
        return ()


class Followed(FollowedFile):
    reader = Lines


class Clock:
    def __init__(self) -> None:
        self.us = STARTED_US

    def now_us(self) -> int:
        return self.us


class Following:
    """A source that follows the file, and the clock it reads."""

    def __init__(self, path: Path) -> None:
        self.clock, self.path = Clock(), path
        self.context = LiveContext(self.clock, Cost())
        self.source = Followed(FollowedFileConfig(name="log", collector="lines", path=path, host="win1"))

    def open(self) -> None:
        asyncio.run(self.source.open(self.context))

    def added(self, text: str, at: float) -> list[Item]:
        """Write to the file, and poll `at` seconds after the start."""
        with self.path.open("a") as file:
            file.write(text)
        self.clock.us = STARTED_US + round(at * 1e6)
        return asyncio.run(self._poll())

    async def _poll(self) -> list[Item]:
        return [item async for item in self.source.poll(self.context)]

    def inventory(self) -> list[SourceEntity | SourceLink]:
        async def items() -> list[SourceEntity | SourceLink]:
            return [item async for item in self.source.inventory(self.context)]

        return asyncio.run(items())


@pytest.fixture
def following(tmp_path: Path) -> Following:
    file = tmp_path / "counters.txt"
    file.write_text("device sda\n-9 70\n-8 80\n")
    found = Following(file)
    found.open()
    return found


def seconds(moment_us: int) -> int:
    return (moment_us - STARTED_US) // 10**6


def samples(items: Iterable[Item]) -> list[tuple[float, int, int]]:
    """(value, seen and device time in seconds since the start) of each sample."""
    return [
        (
            row.values["in_flight"][0] or 0.0,
            (row.seen[0] - STARTED_US) // 10**6,
            (row.device_time[0] - STARTED_US) // 10**6,
        )
        for row in items
        if isinstance(row, Rows) and row.device_time is not None
    ]


def test_what_was_there_before_the_run_is_no_sample_but_its_things_are_known(following: Following) -> None:
    assert samples(following.added("", 1)) == []
    reported = following.inventory()
    assert [entity.local_id for entity in reported if isinstance(entity, SourceEntity)] == ["sda", "win1"]
    assert [link.relation for link in reported if isinstance(link, SourceLink)] == ["attached_to"]


def test_what_is_added_is_seen_now_and_keeps_the_time_of_its_own_clock(following: Following) -> None:
    assert samples(following.added("1 5\n", 1)) == [(5.0, 1, -89)]
    assert samples(following.added("2 6\n3 7\n", 4)) == [(6.0, 4, -88), (7.0, 4, -87)]


def test_half_a_line_waits_for_the_rest(following: Following) -> None:
    assert samples(following.added("1 5", 1)) == []
    assert samples(following.added("5\n", 2)) == [(55.0, 2, -89)]


def test_marks_in_the_file_are_brought_to_our_clock(following: Following) -> None:
    *_, mark = following.added("7 5\nMARK\n", 8)
    assert isinstance(mark, Event)
    assert (mark.seen - STARTED_US) / 1e6 == pytest.approx(8)


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    found = Following(tmp_path / "later.txt")
    found.open()
    assert found.added("device sda\n1 5\n", 2) != []


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.txt"
    file.write_text("hello\n")
    with pytest.raises(CollectorError, match="is not a file that collector lines follows"):
        Following(file).open()


def test_a_file_that_is_written_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    following = Following(tmp_path / "log")
    following.path.write_text("device sda\n")
    following.open()
    following.added("1 4\n2 5\n3 6\n", 3)
    following.path.write_text("device sda\n4 ")
    items = following.added("7\n", 5)
    assert [item.detail["code"] for item in items if isinstance(item, Event)] == ["file-restarted"]
    assert [item.values["in_flight"] for item in items if isinstance(item, Rows)] == [[7.0]]


def test_a_machine_that_the_file_does_not_name_is_the_configured_one(following: Following) -> None:
    of_machine = [item for item in following.added("1 5\nCPU 0.5\n", 2) if isinstance(item, Rows)][-1]
    assert (of_machine.table.kind, of_machine.entity) == ("host", ["win1"])
    following.source.config = FollowedFileConfig(name="log", collector="lines", path=following.path)
    assert [item.table.kind for item in following.added("2 5\nCPU 0.5\n", 3) if isinstance(item, Rows)] == ["lun"]
