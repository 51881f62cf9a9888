"""A Linux host on a Linux storage server: what their kernels tell, and what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.verdict.model import Diagnosis
from sanpath_collectors.linux_target.tables import CONTROLLER
from tests.scenarios.test_without_a_generator import LUN
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import KIB, NAA, AtArray, Flow, San
from tests.support.stories import NOTHING, judged

SERVED = 0.005
"""Seconds that the media need for an I/O; they take four at a time."""
OPS = 4 / SERVED


class Storage(San):
    """fio on a device of the host that it calls by a link of its own: dm-0 and its two paths count the I/Os.
    `busy`: share of the server's processors."""

    busy: float = 0.1

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        out.source("esx7", "linux_host", LUN)
        out.thing("esx7", "host", "esx7", ids={"name": ("esx7",)})
        for device in ("dm-0", "sda", "sdb"):
            naa = (NAA,) if device == "dm-0" else ()
            out.thing("esx7", "lun", device, f"esx7/{device}", {"device": (device,), "naa": naa})
            out.tie("esx7", "attached_to", (("lun", device), ("host", "esx7")))
            if device != "dm-0":
                out.tie("esx7", "member_of", (("lun", device), ("lun", "dm-0")), "slaves")
        last = self.steps[-1].end + 2
        for second in range(int(last)):
            out.poll("esx7", second)
            whole = {**self._disk(second)}
            whole |= {f"bytes_{d}_total": 8 * KIB * int(whole[f"ops_{d}_total"] or 0) for d in ("read", "write")}
            half: dict[str, Number] = {metric: int(value or 0) // 2 for metric, value in whole.items()}
            out.samples("esx7", LUN, second, {"dm-0": whole, "sda": half, "sdb": half})
        out.source("srv", "linux_target", CONTROLLER)
        out.thing("srv", "controller", "srv", "srv")
        out.tie("srv", "member_of", (("controller", "srv"), ("array", "fa1")))
        for second in range(int(last)):
            out.poll("srv", second)
            ticks: dict[str, Number] = {
                "cpu_busy_seconds_total": round(100 * second * self.busy),
                "cpu_seconds_total": 100 * second,
            }
            out.samples("srv", CONTROLLER, second, {"srv": ticks})


def load_of(folder: Path, served: float, busy: float = 0.1) -> Diagnosis:
    """16 and 64 in flight give the same; the host's device waits nearly all of it."""
    san = Storage(folder, leave_out={"disk"})
    san.busy = busy
    for in_flight in (16, 64):
        latency = in_flight / OPS
        read = Flow(OPS, latency)
        counted = OPS * (4 * 2076 + 52)
        san.step(
            f"q{in_flight}",
            in_flight,
            block=8 * KIB,
            read=read,
            disk={"read": Flow(OPS, latency - 1e-4)},
            ports={"fc1/7": (counted, NOTHING), "fc1/1": (counted, NOTHING)},
            array={"read": AtArray(served, queue=None)},
        )
    return judged(san.write())


def test_a_device_that_nobody_names_is_the_one_that_carries_the_load(tmp_path: Path) -> None:
    """The host's clock is read: no queue of the host is suspected, and what waits before the server's own clock is
    the server's."""
    found = load_of(tmp_path, SERVED)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == "array:fa1"
    assert not any(suspect.kind == "lun" for suspect in found.verdict.suspects)


@pytest.mark.parametrize("busy", [0.3, 0.99])
def test_processors_of_a_controller_that_have_no_room_left_make_it_surer(tmp_path: Path, busy: float) -> None:
    found = load_of(tmp_path, SERVED, busy)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == "array:fa1"
    speaks = [words for words in found.verdict.suspects[0].because if "processors" in words]
    assert bool(speaks) == (busy > 0.9)
