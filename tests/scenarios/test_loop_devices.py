"""A test on a loop device: its own queue, the disk below its file, and settings that do not matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.model import Scalar
from sanpath_collectors.fio.tables import LOAD
from sanpath_collectors.linux_host.tables import HOST, LUN
from tests.support.recording import RecordingBuilder
from tests.support.stories import judged

OPS, LATENCY, ON_LOOP, ON_DISK = 10_000, 1.6e-3, 0.8e-3, 0.2e-3
"""16 reads outstanding: 8 of them at the loop device, 2 at the disk below."""


def on_loop(folder: Path, **about: Scalar) -> Diagnosis:
    """20 s of 4 KiB reads of loop0, whose file is on sdb. Both have a scheduler."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.source("db1", "linux_host", LUN, HOST)
    out.entity("fio", "load", "fio/s")
    out.entity("db1", "host", "db1", "db1", {"name": ("db1",)}, {"os": "Linux 6.1"})
    settings: dict[str, Scalar] = {"scheduler": "mq-deadline", "rotational": False, "nr_requests": 128}
    for name, more in (("loop0", about), ("sdb", {"kind": "disk"})):
        out.entity("db1", "lun", name, f"db1/{name}", {"device": (name,)}, {**settings, **more})
        out.link("db1", "attached_to", (("lun", name), ("host", "db1")))
    out.link("db1", "member_of", (("lun", "sdb"), ("lun", "loop0")), "backing_file")
    out.configure_link("load:fio/s runs_on host:db1")
    out.configure_link("load:fio/s targets lun:db1/loop0")
    mark: dict[str, Scalar] = {"step": "s", "group": 0, "loads": "fio/s", "offered": 16.0}
    out.event("fio", 4.0, "step-begin", **mark)
    for second in range(21):
        out.poll("fio", 4 + second)
        out.poll("db1", 4 + second)
        done = OPS * second
        waited = {"latency_seconds_read_total": round(1e9 * LATENCY * done)}
        moved = {"ops_read_total": done, "bytes_read_total": 4096 * done}
        out.samples("fio", LOAD, 4 + second, {"fio/s": moved | waited})
        # The kernel counts sectors of 512 bytes, and milliseconds.
        devices = {
            name: {
                "ops_read_total": done,
                "bytes_read_total": 8 * done,
                "latency_seconds_read_total": round(1e3 * seconds * done),
                "in_flight_seconds_total": round(1e3 * seconds * done),
            }
            for name, seconds in (("loop0", ON_LOOP), ("sdb", ON_DISK))
        }
        out.samples("db1", LUN, 4 + second, devices)
        busy = {"cpu_busy_seconds_total": 80 * second, "cpu_seconds_total": 800 * second}
        out.samples("db1", HOST, 4 + second, {"db1": busy})
    out.event("fio", 24.0, "step-end", **mark)
    return judged(out.write())


def test_the_latency_is_split_at_the_loop_device_and_at_the_disk_below(tmp_path: Path) -> None:
    (budget,) = on_loop(tmp_path, kind="loop").latency_budget
    above, inside = budget.parts[:2]
    assert above.what == "waits in the host's queue above lun:db1/loop0"
    assert inside.what == "waits in the host above the devices below lun:db1/loop0"
    assert (above.seconds[0], inside.seconds[0]) == pytest.approx((LATENCY - ON_LOOP, ON_LOOP - ON_DISK), rel=0.02)


@pytest.mark.parametrize("about", [{"kind": "loop"}, {"kind": "disk"}], ids=["now", "recorded before"])
def test_the_scheduler_that_matters_is_that_of_the_disk_below(tmp_path: Path, about: dict[str, Scalar]) -> None:
    found = on_loop(tmp_path, **about)
    assert {f.entity for f in found.findings if f.rule == "scheduler-on-flash" and f.outcome == "hit"} <= {
        "lun:db1/sdb"
    }
    judged_ones = {f.entity for f in found.findings if f.rule == "scheduler-on-flash"}
    assert "lun:db1/loop0" not in judged_ones
