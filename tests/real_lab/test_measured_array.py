from __future__ import annotations

from pathlib import Path

import pytest

from real_lab.cases import CASES
from real_lab.measured_array import MeasuredArray
from real_lab.nbd_target import log_file

SECOND = 1_795_150_606  # 2026-11-20 04:56:46 UTC


class Lab:
    """A folder as the lab makes it, its log written by hand, and a clock that stands still."""

    def __init__(self, folder: Path) -> None:
        self.log = log_file(folder, 0)
        self.log.parent.mkdir()
        self.log.touch()
        self.now = SECOND + 0.5
        self.array = MeasuredArray(CASES["slow-port"], folder, now=lambda: self.now)
        self.requests = 0

    def served(self, second: int, at: float, seconds: float, action: str = "Read") -> None:
        self.requests += 1
        with self.log.open("a") as log:
            for mark, time in (("", at - seconds), ("...", at)):
                rest = "return=0" if mark else "offset=0x0 count=0x10000 ..."
                clock = f"{46 + second + int(time // 1):02d}.{round(time % 1 * 1e6):06d}"
                log.write(f"2026-11-20 04:56:{clock} connection=1 {mark}{action} id={self.requests} {rest}\n")

    def seen_at(self, now: float) -> MeasuredArray:
        self.now = SECOND + now
        self.array.read_on()
        return self.array


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_a_second_is_reported_as_a_whole_with_the_mean_service_time(lab: Lab) -> None:
    for at in (0.1, 0.5, 0.9):
        lab.served(1, at, seconds=0.002)
    lab.served(1, 0.95, seconds=0.006)
    [sample] = lab.seen_at(2.3).array_samples(None, None)
    assert sample.time_ms == (SECOND + 2) * 1000
    assert (sample.read.ops_per_second, sample.read.bytes_per_second) == (4, 4 * 65536)
    assert sample.read.service_usec == pytest.approx(3000)
    assert (sample.read.queue_usec, sample.write.ops_per_second) == (0.0, 0)


def test_transfer_time_is_unknown_not_zero(lab: Lab) -> None:
    lab.served(1, 0.1, seconds=0.002)
    [sample] = lab.seen_at(2.3).array_samples(None, None)
    assert sample.read.san_usec is None


def test_a_second_that_has_just_ended_is_not_reported_yet(lab: Lab) -> None:
    lab.served(1, 0.99, seconds=0.002)
    [sample] = lab.seen_at(2.1).array_samples(None, None)
    assert sample.time_ms == (SECOND + 1) * 1000


def test_a_window_gives_its_seconds_once_each_idle_ones_too(lab: Lab) -> None:
    lab.served(0, 0.5, seconds=0.002)
    lab.served(2, 0.5, seconds=0.002)
    array = lab.seen_at(4.5)
    rates = [sample.read.ops_per_second for sample in array.array_samples(0, None)]
    assert rates == [1, 0, 1, 0]
    middle = array.array_samples((SECOND + 2) * 1000, (SECOND + 3) * 1000)
    assert [sample.read.ops_per_second for sample in middle] == [0, 1]


def test_volume_host_and_port_agree_with_the_array(lab: Lab) -> None:
    lab.served(1, 0.5, seconds=0.002)
    lab.served(1, 0.6, seconds=0.002, action="Write")
    array = lab.seen_at(2.5)
    [sample] = array.array_samples(None, None)
    assert array.volume_sample("vol1") == array.host_sample("host1") == sample
    assert sample.write.ops_per_second == 1
    port = array.port_sample("CT0.ETH0")
    assert (port.transmitted_bytes_per_second, port.received_bytes_per_second) == (65536, 65536)
    with pytest.raises(KeyError):
        array.volume_sample("vol2")


def test_balance_names_the_initiator_and_the_target_port_once_there_was_io(lab: Lab) -> None:
    [idle] = lab.seen_at(2.5).balance()
    assert (idle.host, idle.initiator, idle.op_count) == ("host1", None, None)
    lab.served(1, 0.5, seconds=0.002)
    [row] = lab.seen_at(2.6).balance()
    assert (row.initiator, row.target, row.op_count) == ("10.213.1.1", "CT0.ETH0", 1)
