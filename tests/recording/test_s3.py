"""A recording in an S3-compatible store: one makes it, and a store that is gone for a while costs nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sanpath.model import Event
from sanpath.recording.format import layout
from sanpath.recording.format.compaction import Retention
from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.store import store_at
from sanpath.recording.writing.clock import RecorderClock
from sanpath.recording.writing.store_clock import StoreClock
from sanpath.recording.writing.writer import Writer
from tests.recording.support import flush, numbers

moto = pytest.importorskip("moto.server", reason="moto[s3], flask and flask-cors are not installed")
pytest.importorskip("s3fs")


class Store:
    """moto's server; it forgets nothing while it is stopped."""

    def __init__(self) -> None:
        self._server = moto.ThreadedMotoServer("127.0.0.1", 0)
        self._server.start()
        _, self._port = self._server.get_host_and_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        self._server = moto.ThreadedMotoServer("127.0.0.1", self._port)
        self._server.start()


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    made = Store()
    before = dict(os.environ)
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "of the test",
        "AWS_ENDPOINT_URL": made.url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
    }
    import fsspec

    fsspec.filesystem("s3").mkdir("bucket")
    yield made
    made.stop()
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.usefixtures("store")
def test_of_several_that_begin_at_once_one_makes_the_recording() -> None:
    place = "s3://bucket/at-once.sanpath"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: layout.create(place), range(8)))
    assert {manifest.run_id for manifest in made} == {Recording(place).manifest.run_id}


@pytest.mark.usefixtures("store")
def test_no_two_writers_have_one_name() -> None:
    place = "s3://bucket/names.sanpath"
    layout.create(place)
    Writer(place, "host.1").header({"started_us": 1})
    with pytest.raises(FileExistsError):
        Writer(place, "host.1").header({"started_us": 2})
    assert Recording(place).started_us == 1


def test_what_could_not_be_written_is_written_when_the_store_is_back(store: Store) -> None:
    place = "s3://bucket/cut-off.sanpath"
    layout.create(place)
    writer = Writer(place, "host.1")
    flush(writer, 1)
    store.stop()
    try:
        with pytest.raises(OSError, match="cut-off") as caught:
            flush(writer, 2)
        assert "\n" not in str(caught.value)
    finally:
        store.start()
    writer.flush()
    assert list(numbers(Recording(place))) == [[1, 2]] * 4


@pytest.mark.usefixtures("store")
def test_its_clock_is_compared_to_less_than_its_second() -> None:
    """The store tells whole seconds; asked around the turn of one it tells more with each answer."""
    place = "s3://bucket/clock.sanpath"
    layout.create(place)
    ahead = RecorderClock(wall_ns=lambda: time.time_ns() + 37_000_000_000)
    compared = StoreClock(store_at(place), "host.1", ahead)
    low, high = float("-inf"), float("inf")
    for _ in range(12):
        event = compared.compare()
        assert isinstance(event, Event)
        middle, within = float(event.detail["offset_seconds"] or 0), float(event.detail["uncertainty_seconds"] or 0)
        low, high = max(low, middle - within), min(high, middle + within)
        if compared.exact:
            break
        time.sleep(compared.best_pause_seconds)
    assert low <= -37.0 + 0.01
    assert high >= -37.0 - 0.01
    assert high - low < 0.6
    assert store_at(place).list("writers") == []


@pytest.mark.usefixtures("store")
def test_what_an_earlier_start_has_left_is_dropped_by_the_age_that_the_store_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store tells whole seconds; what is written within two of them may be of one age."""
    monkeypatch.setattr("sanpath.recording.writing.previous_starts.SILENT_SECONDS", 0.5)
    place = "s3://bucket/started-again.sanpath"
    layout.create(place)
    first = Writer(place, "site.1")
    first.header({"started_us": 1, "recorder": "site"})
    flush(first, 1)
    flush(first, 2)
    first.close()
    time.sleep(2.6)
    successor = Writer(place, "site.2", keep_seconds=0, retention=Retention(0.5, lambda: 10**15))
    successor.header({"started_us": 1, "recorder": "site"})
    for number in (101, 102):
        flush(successor, number)
    successor.close()
    events, polls, inventory, samples = numbers(Recording(place))
    assert polls == samples == [101, 102]
    assert inventory == [1, 2, 101, 102]
    assert [seen for seen in events if seen < 200] == [1, 2, 101, 102]
