"""A device of a host is on the way of all loads in its virtual machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.diagnosis.model import Interval
from sanpath.model import Scalar
from sanpath.recording.reading.recording import Recording
from sanpath.whatif.what_if import what_if
from sanpath_collectors.fio.tables import LOAD
from sanpath_collectors.linux_host.tables import LUN
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import KIB

SERVICE_SECONDS, SLOTS, LAST = 6e-4, 16, 78
STEPS = (("few", 5, 35, 1, 1), ("many", 45, 75, 32, SLOTS // 2))
"""Each with its begin, its end, and how many I/Os of either load are outstanding, and in the device."""


def loads_on_one_lun(folder: Path, in_guests: bool) -> Recording:
    """Two loads that share the full queue of a host's device, in its virtual machines or on the host itself."""
    out = RecordingBuilder(folder / "r.sanpath")
    table = replace(LUN, plane="host_block")
    out.source("os", "linux_host", table)
    out.entity("os", "host", "esx", ids={"name": ("esx",)})
    about: dict[str, Scalar] = {"kind": "disk", "queue_depth": SLOTS}
    out.entity("os", "lun", "sda", "esx/sda", {"device": ("sda",)}, about)
    out.link("os", "attached_to", (("lun", "sda"), ("host", "esx")))
    for at in range(LAST):
        done = 2 * sum(_reads(at, *step) for step in STEPS)
        out.poll("os", at)
        moved = {"ops_read_total": done, "bytes_read_total": 8 * done}
        moved |= {"latency_seconds_read_total": round(1e3 * done * SERVICE_SECONDS)}
        out.samples("os", table, at, {"sda": moved})
    for guest in ("vm1", "vm2"):
        source = f"{guest}/fio"
        out.source(source, "fio", LOAD)
        out.entity(source, "load", source, ids={"name": (source,)})
        out.configure_link(f"load:{source} runs_on {f'vm:{guest}' if in_guests else 'host:esx'}")
        if in_guests:
            out.configure_link(f"vm:{guest} runs_on host:esx")
        out.configure_link(f"load:{source} targets lun:esx/sda")
        for step in STEPS:
            _add_job(out, source, *step)
        for at in range(LAST):
            out.poll(source, at)
            begun = {f"{source}/{step[0]}": _counters(at, *step) for step in STEPS if at >= step[1]}
            if begun:
                out.samples(source, LOAD, at, begun)
    return out.write(True)


def _add_job(out: RecordingBuilder, source: str, name: str, begin: int, end: int, outstanding: int, _: int) -> None:
    job = f"{source}/{name}"
    out.entity(source, "load", job, ids={"name": (job,)})
    out.link(source, "member_of", (("load", job), ("load", source)))
    mark: dict[str, Scalar] = {
        "step": name,
        "loads": job,
        "block_bytes": 4 * KIB,
        "offered": outstanding,
        "rate_limited": False,
    }
    out.event(source, begin, "step-begin", **mark)
    out.event(source, end, "step-end", **mark)


def _counters(at: int, name: str, begin: int, end: int, outstanding: int, at_device: int) -> dict[str, Number]:
    done = _reads(at, name, begin, end, outstanding, at_device)
    waited = round(1e9 * outstanding * (min(at, end) - begin))
    return {"ops_read_total": done, "bytes_read_total": 4096 * done, "latency_seconds_read_total": waited}


def _reads(at: int, _: str, begin: int, end: int, __: int, at_device: int) -> int:
    """Reads of one load in a step until then."""
    return round(at_device / SERVICE_SECONDS * max(0, min(at, end) - begin))


def predicted(recording: Recording) -> Interval | None:
    facts, judgements = judge_recording(recording)
    _, many = what_if(facts, judgements, [f"lun:esx/sda.queue_depth={SLOTS}"], relieve=False).steps
    return many.predicted_ops_per_second


def test_a_queue_limits_loads_in_guests_as_those_on_the_host(tmp_path: Path) -> None:
    on_host, in_guests = (
        predicted(loads_on_one_lun(tmp_path / str(in_guests), in_guests)) for in_guests in (False, True)
    )
    assert on_host == in_guests == pytest.approx((SLOTS / SERVICE_SECONDS,) * 2, rel=0.01)
