"""What a recorder hands to viewers on its machine: at once, to nobody else, and at no cost to itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sanpath.cli.sessions.child_process import environment
from sanpath.model import Event, Poll, Rows
from sanpath.pulse.newest import Newest
from sanpath.pulse.viewer import Viewer
from sanpath.recorder import viewer_socket
from sanpath.recorder.viewer_socket import ViewerSocket
from sanpath.recording.format import layout
from sanpath.recording.format.documents import Declaration, Header
from sanpath.recording.viewer_protocol import Hello, decoded, encoded, socket_path
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.mark import add_mark
from sanpath.recording.writing.writer import Writer
from sanpath_collectors.fio.tables import LOAD, LOG
from tests.recorder.support import PORT

PATIENCE_SECONDS = 20.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording that one recorder has begun, under the name "test"."""
    layout.create(tmp_path / "r.sanpath")
    Writer(tmp_path / "r.sanpath", "test").header(Header(started_us=time.time_ns() // 1000, recorder="test"))
    return tmp_path / "r.sanpath"


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not true():
            await asyncio.sleep(0.02)


def begun(now: int, name: str = "t1") -> Event:
    return Event(now, "step-begin", {"step": name, "group": 0, "loads": "j"})


def play(folder: Path, scene: Callable[[ViewerSocket, RecorderClock, Path], Awaitable[None]]) -> None:
    """A recorder that hands over, and what happens to it."""

    async def run() -> None:
        clock, run_id = RecorderClock(), layout.read_manifest(folder).run_id
        viewers = ViewerSocket(run_id, "test", clock)
        await viewers.start()
        path = socket_path(run_id, "test")
        assert path is not None
        try:
            await scene(viewers, clock, path)
        finally:
            await viewers.close()
        assert not path.exists()

    asyncio.run(run())


def test_a_viewer_knows_at_once_what_was_before_it_and_what_comes(folder: Path) -> None:
    async def scene(viewers: ViewerSocket, clock: RecorderClock, _: Path) -> None:
        viewers.take("fio", begun(clock.now_us(), "before"))
        viewer = Viewer(folder)
        following = asyncio.create_task(viewer.run())

        def step() -> str:
            pulse = viewer.pulse()
            return pulse.step if pulse is not None else ""

        await until(lambda: step() == "before")
        viewers.take("fio", begun(clock.now_us(), "after"))
        await until(lambda: step() == "after")
        pulse = viewer.pulse()
        assert pulse is not None
        assert pulse.live
        following.cancel()

    play(folder, scene)


@pytest.mark.parametrize("hands_over", [True, False])
def test_a_viewer_says_nothing_of_what_it_has_not_read(folder: Path, hands_over: bool) -> None:
    """At whatever moment it is asked, it has no pulse, or one that knows the step that ran before it came."""
    writer = Writer(folder, "test")
    writer.event("fio", begun(time.time_ns() // 1000, "before"))
    writer.flush()

    async def follow() -> None:
        viewer, steps = Viewer(folder), list[str | None]()
        following = asyncio.create_task(viewer.run())

        def is_known() -> bool:
            pulse = viewer.pulse()
            steps.append(pulse.step if pulse is not None else None)
            return steps[-1] is not None

        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_known():
                await asyncio.sleep(0)
        assert steps[-1] == "before"
        following.cancel()

    async def scene(viewers: ViewerSocket, clock: RecorderClock, _: Path) -> None:
        viewers.take("fio", begun(clock.now_us(), "before"))
        await follow()

    if hands_over:
        play(folder, scene)
    else:
        asyncio.run(follow())
    writer.close()


def test_nobody_but_its_owner_reaches_it(folder: Path) -> None:
    async def scene(_: ViewerSocket, __: RecorderClock, path: Path) -> None:
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert path.parent.stat().st_uid == os.getuid()

    play(folder, scene)


def test_a_viewer_that_never_reads_is_left_and_the_others_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer_socket, "MAX_PENDING_BYTES", 100_000)

    async def scene(viewers: ViewerSocket, clock: RecorderClock, path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.connect(str(path))
            viewer = Viewer(folder)
            following = asyncio.create_task(viewer.run())
            ports = [f"port{n}" for n in range(500)]
            for number in range(60):
                seen = clock.now_us()
                viewers.take("sw", Rows(PORT, ports, [seen] * 500, {"link_up": [number] * 500}))
                await asyncio.sleep(0.005)
            viewers.take("fio", begun(clock.now_us(), "still here"))
            await until(lambda: (p := viewer.pulse()) is not None and p.step == "still here")
            received = 0
            dead.setblocking(False)
            while more := dead.recv(1 << 16):  # It is closed at the other end: no error, an end.
                received += len(more)
            assert received < 60 * 500 * 10
            following.cancel()

    play(folder, scene)


def test_what_a_viewer_says_is_not_read(folder: Path) -> None:
    async def scene(viewers: ViewerSocket, clock: RecorderClock, path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as chatty:
            chatty.connect(str(path))
            await asyncio.sleep(0.1)
            chatty.setblocking(False)
            sent = 0
            with contextlib.suppress(BlockingIOError):
                while sent < 10_000_000:
                    sent += chatty.send(b"stop\n" * 10_000)
                    await asyncio.sleep(0)
            assert sent < 10_000_000
            viewers.take("fio", begun(clock.now_us()))
            await asyncio.sleep(0.1)
            assert b"step-begin" in chatty.recv(1 << 16)

    play(folder, scene)


def test_a_socket_that_a_killed_recorder_has_left_is_taken_away(folder: Path) -> None:
    left = socket_path("killed", "recorder")
    assert left is not None
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(left))

    async def scene(*_: object) -> None:
        assert not left.exists()

    play(folder, scene)


def test_a_mark_that_somebody_else_writes_is_noticed(folder: Path) -> None:
    writer, now = Writer(folder, "test"), time.time_ns() // 1000
    writer.poll(Poll("sw", now, now, now, "ok"))
    writer.flush()

    async def scene() -> None:
        viewer = Viewer(folder)
        following = asyncio.create_task(viewer.run())
        await until(lambda: viewer.pulse() is not None)
        before = viewer.pulse()
        assert before is not None
        await asyncio.to_thread(add_mark, folder, now, "changed to RR")
        await until(lambda: (p := viewer.pulse()) is not None and p.additions == before.additions + 1)
        following.cancel()

    asyncio.run(scene())
    writer.close()


def test_without_a_recorder_that_hands_over_segments_are_read(folder: Path) -> None:
    writer = Writer(folder, "test")
    now = time.time_ns() // 1000
    writer.event("fio", begun(now, "flushed"))
    writer.poll(Poll("sw", now, now, now, "ok"))
    writer.flush()

    async def scene() -> None:
        viewer = Viewer(folder)
        following = asyncio.create_task(viewer.run())
        await until(lambda: (p := viewer.pulse()) is not None and p.step == "flushed")
        writer.event("fio", begun(now + 1, "next"))
        writer.flush()
        await until(lambda: (p := viewer.pulse()) is not None and p.step == "next")
        pulse = viewer.pulse()
        assert pulse is not None
        assert not pulse.live
        following.cancel()

    asyncio.run(scene())
    writer.close()


def test_segments_tell_of_a_load_what_its_recorder_would(tmp_path: Path) -> None:
    """fio declares two tables of loads, one for its status and one for its logs."""
    layout.create(tmp_path / "r.sanpath")
    declared = Declaration(name="fio", collector="fio", every_seconds=1.0, tables=(LOAD, LOG))
    now = time.time_ns() // 1000
    writer = Writer(tmp_path / "r.sanpath", "test")
    writer.header(Header(started_us=now, recorder="test", sources=(declared,)))
    writer.event("fio", begun(now))
    for second in range(3):
        values = {column.metric: [1000 * second] for column in LOAD.columns}
        writer.samples("fio", Rows(LOAD, ["j"], [now + second * 1_000_000], values))
        writer.flush()

    async def scene() -> None:
        viewer = Viewer(tmp_path / "r.sanpath")
        following = asyncio.create_task(viewer.run())
        await until(lambda: (p := viewer.pulse()) is not None and len(p.loads) == 2)
        pulse = viewer.pulse()
        assert pulse is not None
        assert [(load.direction, load.ops_per_second) for load in pulse.loads] == [
            ("read", 1000.0),
            ("write", 1000.0),
        ]
        following.cancel()

    asyncio.run(scene())
    writer.close()


@pytest.mark.parametrize(
    "reported",
    [
        Hello(1, 2),
        ("fio", Event(5, "step-begin", {"step": "t", "offered": 1.5, "none": None})),
        ("sw", Poll("sw", 1, 2, 3, "ok")),
        ("sw", Rows(PORT, ["a", "b"], [1, 2], {"link_up": [2**64 - 1, None]}, [3, 4])),
    ],
    ids=["hello", "event", "poll", "rows"],
)
def test_a_line_holds_what_was_said(reported: object) -> None:
    assert decoded(encoded(reported)) == reported  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        b"", b"{", b"[]", b"3", b"null", b'{"source":1,"event":[1,"a",{}]}', b'{"source":"a","event":[1,"a"]}',
        b'{"source":"a","event":[1e99,"a",{}]}', b'{"now_us":99999999999999999999,"monotonic_ns":0}',
        b'{"source":"a","rows":{"kind":"load","columns":[],"entity":["a"],"seen":[],"device_time":null,"values":{}}}',
        b'{"source":"a","rows":{"kind":"l","columns":[],"entity":["a"],"seen":[1],"device_time":null,"values":{"b":["x"]}}}',
        encoded(("sw", Rows(PORT, ["a"], [1], {"link_up": [10**400]}))),
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_no_recorder_writes_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a line of a recorder"):
        decoded(line)


def test_what_is_kept_does_not_grow() -> None:
    newest = Newest()
    for number in range(5_000):
        newest.take("sw", Rows(PORT, ["p"], [number * 1_000_000], {"link_up": [number]}))
        newest.take("fio", begun(number))
        newest.take("sw", Poll("sw", number, number, number, "ok"))
    assert len(list(newest.snapshot())) < 1_100


def test_the_recorder_begins_without_the_libraries_of_the_analysis() -> None:
    code = "import sys, sanpath.recorder.process; print({'networkx', 'rich', 'textual'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
