"""What is cleared must not depend on whether a step is described by the array's row or by its volume's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.facts.compute import compute
from sanpath.facts.storage.load_volumes import array_side
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from tests.support.san import KIB, AtArray, Flow, San

ARRAY_SECONDS = 0.0021
RATES = {1: 430.0, 2: 810.0}
"""I/Os in flight → I/Os per second. The latency is 2.33 and 2.47 ms, nearly all of it in the array."""


def too_few_in_flight(folder: Path, foreign_ratio: float) -> Recording:
    """A fast array with one and two I/Os in flight. In the second step it also serves a few I/Os of others."""
    san = San(folder, leave_out=frozenset({"disk", "switch"}))
    for n, rate in RATES.items():
        others = foreign_ratio * rate if n == 2 else 0.0
        at_array = {"read": AtArray(ARRAY_SECONDS, san=0.00002, others=others)}
        san.step(f"q{n}", n, read=Flow(rate, n / rate), array=at_array, block=4 * KIB)
    return san.write()


@pytest.mark.parametrize("foreign_ratio", [0.0, 0.01, 0.03, 0.04])
def test_an_array_whose_time_does_not_grow_is_cleared_whatever_few_others_it_serves(
    tmp_path: Path, foreign_ratio: float
) -> None:
    found = diagnose(too_few_in_flight(tmp_path, foreign_ratio))
    assert found.verdict.kind == "concurrency_limited"
    assert {c.entity for c in found.cleared} & {"array:fa1", "volume:fa1/vol01"}


@pytest.mark.parametrize(("spread_ratio", "described_by"), [(0.0, "volume:fa1/vol01"), (0.1, "array:fa1")])
def test_a_difference_within_the_sampling_error_is_no_foreign_io(
    tmp_path: Path, spread_ratio: float, described_by: str
) -> None:
    """At 12 windows and a spread of 10 %, two standard errors are 8 %, well above the 3 % by which both differ."""
    facts = compute(too_few_in_flight(tmp_path, 0.03))
    (load,) = [load for load in facts.loads if load.step == "q2" and load.direction == "read"]
    row = array_side(facts.topology, replace(load, throughput_spread=spread_ratio), facts.tables)
    assert row is not None
    assert row["entity"] == described_by


def test_each_load_is_cleared_with_its_own_processor_time(tmp_path: Path) -> None:
    """Files of two runs with 1 and 16 outstanding reads: 1.3 % and 5.7 % of a core."""
    for number, (depth, total, cpu) in enumerate(((1, 14_700, 1.3), (16, 60_840, 5.7))):
        latency = {"min": 1, "max": 4e7, "mean": 60e9 * depth / total, "N": total}
        read = {"total_ios": total, "io_bytes": 4096 * total, "runtime": 60_000, "lat_ns": latency}
        options = {"rw": "randread", "bs": "4k", "iodepth": f"{depth}", "ioengine": "libaio", "direct": "1"}
        job = {
            "jobname": "a",
            "error": 0,
            "job options": options,
            "usr_cpu": cpu,
            "sys_cpu": 0.0,
            "job_runtime": 60_000,
        }
        end = 1_800_000_000 + 100 * number
        document = {"fio version": "fio-3.28", "timestamp": end, "jobs": [job | {"read": read, "write": {}}]}
        file = tmp_path / f"{depth}.json"
        file.write_text(json.dumps(document, indent=2), encoding="utf-8")
        import_file(ImportRequest(file, tmp_path / "r.sanpath"))
    cleared = diagnose(Recording(tmp_path / "r.sanpath")).cleared
    assert [(c.up_to["ops_per_second"], c.because) for c in cleared] == [
        (pytest.approx(ops), f"its busiest process used no more than {used} of a core")
        for ops, used in ((1014, "5.7 %"), (245, "1.3 %"))
    ]


def test_a_generator_that_limits_is_not_cleared_by_an_idle_processor(tmp_path: Path) -> None:
    """It keeps 294 of 512 I/Os outstanding although no rate is set, and uses 75 % of a core."""
    latency = {"min": 1, "max": 16e6, "mean": 5.933e6, "N": 131426}
    read = {"total_ios": 131426, "io_bytes": 538_324_992, "io_kbytes": 525_708, "runtime": 2655, "lat_ns": latency}
    options = {"rw": "read", "bs": "4k", "iodepth": "512", "ioengine": "windowsaio", "direct": "1"}
    job = {"jobname": "a", "groupid": 0, "error": 0, "job options": options, "usr_cpu": 25.1, "sys_cpu": 50.3}
    document = {"fio version": "fio-3.13", "timestamp": 1_800_000_000, "jobs": [job | {"read": read, "write": {}}]}
    file = tmp_path / "result.json"
    file.write_text(json.dumps(document, indent=2), encoding="utf-8")
    import_file(ImportRequest(file, tmp_path / "r.sanpath"))
    found = diagnose(Recording(tmp_path / "r.sanpath"))
    assert found.verdict.suspects[0].verdict == "generator_limited"
    assert found.cleared == ()
