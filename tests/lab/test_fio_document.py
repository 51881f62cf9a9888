from __future__ import annotations

import json
import os
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sanpath_lab.fio.document import document, render
from sanpath_lab.fio.load_status import disk_status, load_status
from sanpath_lab.scenario import Scenario
from sanpath_lab.simulation import Simulation
from tests.lab.conftest import EPOCH_SECONDS

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings")


def decode(text: str) -> list[dict[str, Any]]:
    """The documents of a status stream, whatever stands between them."""
    decoder, documents, position = json.JSONDecoder(), [], text.find("{")
    while position >= 0:
        found, end = decoder.raw_decode(text, position)
        documents.append(found)
        position = text.find("{", end)
    return documents


def stream(simulation: Simulation, every_seconds: float = 0.1) -> list[dict[str, Any]]:
    """What fio prints over a whole run."""
    before, run, text = disk_status(simulation), simulation.begin_load(), ""
    while not run.finished:
        simulation.advance(simulation.now + every_seconds)
        text += render(document(asdict(load_status(simulation, run, before))))
    return decode(text)


@pytest.fixture(scope="module")
def documents(short: Scenario) -> list[dict[str, Any]]:
    return stream(Simulation(short, EPOCH_SECONDS))


def key_tree(value: Any) -> Any:
    """Keys in order, without the parts that differ from run to run."""
    if isinstance(value, dict):
        return [(k, key_tree(v)) for k, v in value.items() if k not in ("job options", "percentile")]
    return [key_tree(value[0])] if isinstance(value, list) else None


def test_keys_and_their_order_are_fios(documents: list[dict[str, Any]]) -> None:
    file = RECORDINGS / "fio/group_numjobs3_status.json"
    if not file.is_file():
        pytest.skip(f"no recordings at {RECORDINGS}")
    real = decode(file.read_text())[-1]
    assert key_tree(documents[-1]) == key_tree(real)
    percentiles = real["jobs"][0]["read"]["clat_ns"]["percentile"]
    assert list(documents[-1]["jobs"][0]["read"]["clat_ns"]["percentile"]) == list(percentiles)


def test_jobs_are_stonewalled_groups_with_their_options_as_text(documents: list[dict[str, Any]]) -> None:
    jobs = documents[0]["jobs"]
    assert [(job["jobname"], job["groupid"]) for job in jobs] == [
        ("t2", 0),
        ("t16", 1),
        ("t64", 2),
        ("t100", 3),
    ]
    options = jobs[3]["job options"]
    assert {k: options[k] for k in ("rw", "bs", "iodepth", "numjobs", "ramp_time")} == {
        "rw": "randread",
        "bs": "64k",
        "iodepth": "8",
        "numjobs": "100",
        "ramp_time": "0.25",
    }


@pytest.mark.parametrize("number", range(4))
def test_values_grow_start_over_once_and_freeze(documents: list[dict[str, Any]], number: int) -> None:
    reads = [one["jobs"][number]["read"] for one in documents]
    falls = [i for i, (a, b) in enumerate(pairwise(reads)) if b["total_ios"] < a["total_ios"]]
    assert len(falls) == 1, "at the end of the ramp"
    ended = next(i for i, read in enumerate(reads) if read["runtime"] >= 750)
    assert all(read == reads[-1] for read in reads[ended + 1 :])
    assert reads[-1]["lat_ns"]["N"] == reads[-1]["total_ios"] > 4000


@pytest.mark.slow
def test_the_ramp_counts_ios_but_no_latency(simulation: Simulation) -> None:
    first = stream(simulation)[1]["jobs"][0]["read"]
    assert first["total_ios"] > 500
    assert first["lat_ns"]["N"] == 0


def test_the_final_document_tells_the_published_story(documents: list[dict[str, Any]]) -> None:
    reads = [job["read"] for job in documents[-1]["jobs"]]
    assert [r["iops"] for r in reads] == pytest.approx([6290] * 4, rel=0.01)
    assert [r["lat_ns"]["mean"] / 1e6 for r in reads] == pytest.approx([2.54, 20.3, 81.4, 127.2], rel=0.02)
    assert all(r["bw_bytes"] == pytest.approx(r["iops"] * 65536, rel=1e-6) for r in reads)


def test_parts_agree_with_one_another(documents: list[dict[str, Any]]) -> None:
    for job in documents[-1]["jobs"]:
        read = job["read"]
        assert read["slat_ns"]["mean"] + read["clat_ns"]["mean"] == pytest.approx(read["lat_ns"]["mean"], rel=1e-6)
        assert sum(sum(job[f"latency_{unit}"].values()) for unit in ("ns", "us", "ms")) == pytest.approx(
            100, abs=1e-3
        )
        assert read["clat_ns"]["percentile"]["50.000000"] == pytest.approx(read["clat_ns"]["mean"], rel=0.03)
        assert job["job_runtime"] == pytest.approx(read["runtime"] * int(job["job options"]["numjobs"]), rel=0.02)
        assert job["usr_cpu"] + job["sys_cpu"] < 15


def test_the_guests_disk_sees_no_more_than_its_queue(documents: list[dict[str, Any]]) -> None:
    first, last = documents[-6]["disk_util"][0], documents[-3]["disk_util"][0]
    assert last["name"] == "sda"
    ios, ticks = last["read_ios"] - first["read_ios"], last["read_ticks"] - first["read_ticks"]
    assert ticks / ios == pytest.approx(32 / 6290 * 1e3, rel=0.02), "5 ms at the device while fio waits 127 ms"
    assert last["in_queue"] - first["in_queue"] == pytest.approx(32 * 300, rel=0.02)
