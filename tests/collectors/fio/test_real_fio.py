"""The fio of this machine: what it prints and leaves behind, read as `sanpath import` and `sanpath run` read it.

All runs go on at the same time, held to a few hundred I/Os a second, so that the whole takes about six seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sanpath.plugin import Event, Item
from sanpath_collectors.fio.documents import Documents
from sanpath_collectors.fio.load_reader import FioLoad
from tests.collectors.fio.printed import DIRECTIONS, Reported

PROGRAM = shutil.which("fio")
PATIENCE_SECONDS = 20.0

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no fio on this machine")

COMMON = ("--size=16m", "--bs=4k", "--rate_iops=200", "--time_based", "--filename=data")
FORMS = """
[global]
size=16m
rate_iops=150
runtime=1500ms
time_based
filename=data
[reader]
ioengine=libaio
iodepth=4
rw=randread
bs=4k
numjobs=2
[mixed]
ioengine=psync
rw=randrw
rwmixread=70
bs=8k
[grouped]
stonewall
group_reporting
ioengine=psync
iodepth=8
rw=write
bs=16k
numjobs=2
"""
MIXED_GROUP = """
[global]
ioengine=libaio
size=16m
rate_iops=100
runtime=1
time_based
filename=data
group_reporting
[one]
rw=randread
iodepth=2
[two]
rw=randwrite
iodepth=8
"""


class Fio:
    """One run in a folder of its own, with its standard output in a file there."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        folder.mkdir()
        (folder / "data").write_bytes(os.urandom(1 << 24))
        self.folder, self.output = folder, folder / "out"
        with self.output.open("wb") as out:
            self._process = subprocess.Popen(
                [str(PROGRAM), *arguments],
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=os.environ | {"TMPDIR": str(folder)},
            )
        self.pid = self._process.pid

    def ended(self) -> Fio:
        """Itself, when it has ended."""
        self._process.wait(PATIENCE_SECONDS)
        return self

    def kill(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def wait_for(self, documents: int) -> None:
        """Until it has written so many documents."""
        until(lambda: len(self.documents()) >= documents)

    def documents(self) -> list[dict[str, Any]]:
        """Those it has written so far."""
        return Documents().feed(self.output.read_bytes())[0]

    def children(self) -> list[int]:
        """The processes of its jobs."""
        listed = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        return [int(child) for child in listed.split()]

    def stop(self, children: Sequence[int] = ()) -> None:
        """End it and its jobs, which outlive it."""
        if self._process.poll() is None:
            children = [*children, *self.children()]
            self.kill(signal.SIGKILL)
            self.ended()
        for child in filter(alive, children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        until(lambda: not any(map(alive, children)))

    def reported(self, name: str = "out") -> Reported:
        """What is said of a file it has written."""
        return Reported.of_file(self.folder / name)


def until(reached: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        assert time.monotonic() < deadline, "fio did not get there"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether it still is a process of fio."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(str(PROGRAM).encode())
    except OSError:
        return False


def all_forms(folder: Path) -> Fio:
    folder.mkdir()
    job_file = folder / "forms.fio"
    job_file.write_text(FORMS, encoding="utf-8")
    return Fio(folder / "run", str(job_file), "--output-format=json,json+,normal,terse").ended()


def mixed_group(folder: Path) -> Fio:
    folder.mkdir()
    job_file = folder / "mixed.fio"
    job_file.write_text(MIXED_GROUP, encoding="utf-8")
    return Fio(folder / "run", str(job_file), "--output-format=json").ended()


def interrupted(folder: Path) -> Fio:
    status = ("--output-format=json", "--status-interval=1")
    run = Fio(folder, "--name=i", "--runtime=30", "--rw=randread", *COMMON, *status)
    try:
        run.wait_for(1)
        run.kill(signal.SIGINT)
        return run.ended()
    finally:
        run.stop()


def killed(folder: Path) -> Fio:
    status = ("--output-format=json", "--status-interval=1")
    run = Fio(folder, "--name=k", "--runtime=30", "--rw=randread", "--numjobs=2", *COMMON, *status)
    children: list[int] = []
    try:
        run.wait_for(1)
        children = run.children()
        run.kill(signal.SIGKILL)
        run.ended()
        (folder / "survivors").write_text(json.dumps([alive(child) for child in children]), encoding="ascii")
        return run
    finally:
        run.stop(children)


def ramp(folder: Path) -> Fio:
    status = ("--output-format=json", "--status-interval=500ms")
    return Fio(folder, "--name=r", "--ramp_time=1", "--runtime=2", "--rw=randrw", *COMMON, *status).ended()


def asked(folder: Path) -> Fio:
    run = Fio(folder, "--name=u", "--runtime=4", "--rw=randread", "--output-format=json", *COMMON)
    try:
        until(run.children)
        time.sleep(1)
        run.kill(signal.SIGUSR1)
        run.wait_for(1)
        (folder / "fio-dump-status").touch()
        run.wait_for(2)
        return run.ended()
    finally:
        run.stop()


def raw_logs(folder: Path) -> Fio:
    logs = ("--write_lat_log=raw", "--write_bw_log=raw", "--write_iops_log=raw")
    histograms = ("--write_hist_log=raw", "--log_hist_msec=500", "--log_hist_coarseness=2")
    return Fio(
        folder, "--name=l", "--runtime=2", "--rw=randrw", "--output-format=json", *COMMON, *logs, *histograms
    ).ended()


def mean_logs(folder: Path) -> Fio:
    logs = ("--write_lat_log=avg", "--write_bw_log=avg", "--write_iops_log=avg", "--log_avg_msec=500")
    more = ("--log_unix_epoch=1", "--output-format=json")
    return Fio(folder, "--name=m", "--runtime=2", "--rw=randrw", *COMMON, *logs, *more).ended()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Fio]]:
    folder = tmp_path_factory.mktemp("fio")
    kinds = (all_forms, mixed_group, interrupted, killed, ramp, asked, raw_logs, mean_logs)
    with ThreadPoolExecutor(len(kinds)) as pool:
        started = {kind.__name__: pool.submit(kind, folder / kind.__name__) for kind in kinds}
        yield {name: run.result() for name, run in started.items()}


@pytest.fixture(scope="module")
def forms(runs: dict[str, Fio]) -> dict[str, Reported]:
    """Each form of the one run, as if it had been printed alone."""
    run = runs["all_forms"]
    output = run.output.read_text(encoding="utf-8")
    (document,), text = Documents().feed(output.encode())
    plain = json.loads(json.dumps(document))
    for entry in plain["jobs"]:
        for direction in DIRECTIONS:
            entry[direction]["clat_ns"].pop("bins", None)
    terse = "".join(re.findall(r"^3;.*\n", text, re.MULTILINE))
    printed = {
        "json+": json.dumps(document, indent=2),
        "json": json.dumps(plain, indent=2),
        "normal": text.replace(terse, ""),
        "terse": terse,
        "all": output,
    }
    for form, content in printed.items():
        (run.folder / form).write_text(content, encoding="utf-8")
    return {form: run.reported(form) for form in printed}


LOADS = ["f/reader", "f/reader#2", "f/mixed", "f/grouped"]
PRINTED_ALONE = ["json+", "normal", "terse", "all"]


@pytest.mark.parametrize("form", PRINTED_ALONE)
def test_operations_and_bytes_are_equal_in_every_form(forms: dict[str, Reported], form: str) -> None:
    for load in LOADS:
        expected, found = forms["json"].gained(load), forms[form].gained(load)
        for metric in ("ops_read_total", "ops_write_total", "bytes_read_total", "bytes_write_total"):
            assert found[metric] == expected[metric], (load, metric)
        assert sum(expected[f"ops_{direction}_total"] for direction in DIRECTIONS) > 0


@pytest.mark.parametrize("form", PRINTED_ALONE)
def test_latencies_are_equal_but_for_what_a_form_rounds(forms: dict[str, Reported], form: str) -> None:
    for load in LOADS:
        expected, found = forms["json"].rows[load][-1][1], forms[form].rows[load][-1][1]
        for direction in DIRECTIONS:
            waited = f"latency_seconds_{direction}_total"
            assert found[waited] == pytest.approx(expected[waited], rel=1e-3), (load, direction)
            for which in ("p50", "p95", "p99", "max"):
                metric = f"latency_seconds_{which}_{direction}"
                value = expected[metric]
                # Text and terse cut off to microseconds, text of long latencies to milliseconds.
                rounded = None if value is None else pytest.approx(value, rel=0.02, abs=1.1e-6)
                assert found[metric] == rounded, (load, metric)


@pytest.mark.parametrize("form", PRINTED_ALONE)
def test_steps_are_equal_in_every_form(forms: dict[str, Reported], form: str) -> None:
    def lengths(reported: Reported) -> list[float]:
        times = [moment for _, _, moment in reported.steps]
        return [end - begin for begin, end in zip(times[::2], times[1::2], strict=True)]

    expected, found = forms["json"], forms[form]
    assert [(name, step) for name, step, _ in found.steps] == [(name, step) for name, step, _ in expected.steps]
    assert lengths(found) == pytest.approx(lengths(expected), abs=0.005)
    assert found.summaries == [True, True]
    # Terse lines tell no options.
    assert found.reported("step-begin", "offered") == ([None, None] if form == "terse" else [9, 2])


@pytest.mark.parametrize("form", PRINTED_ALONE)
def test_little_gives_the_same_number_in_flight_in_every_form(forms: dict[str, Reported], form: str) -> None:
    for load in LOADS:
        assert forms[form].in_flight(load) == pytest.approx(forms["json"].in_flight(load), rel=0.02)
        assert forms[form].in_flight(load) < 4


def test_only_json_plus_tells_the_distribution(runs: dict[str, Fio], forms: dict[str, Reported]) -> None:
    """Of those directions whose submission takes little of the latency: its bins are of the completion."""
    (document,), _ = Documents().feed(runs["all_forms"].output.read_bytes())
    done = [
        entry[direction] for entry in document["jobs"] for direction in DIRECTIONS if entry[direction]["total_ios"]
    ]
    means = [(body["clat_ns"]["mean"], body["lat_ns"]["mean"]) for body in done]
    with_bins = sum(whole - completion <= max(50_000, 0.2 * whole) for completion, whole in means)
    assert len(done) == 5
    outcome = {form: len(reported.events("latency-histogram")) for form, reported in forms.items()}
    assert outcome == {"json+": with_bins, "all": with_bins, "json": 0, "normal": 0, "terse": 0}


def test_the_profile_of_the_json_forms_is_complete(forms: dict[str, Reported]) -> None:
    assert (
        forms["json"].entities["f/grouped"].items()
        >= {
            "engine": "fio",
            "ioengine": "psync",
            "rw": "write",
            "block_bytes": 16384.0,
            "in_flight_configured": 2,
            "asked_in_flight": 16,
            "synchronous": True,
            "threads": 2,
            "read_ratio": 0.0,
            "random_ratio": 0.0,
            "direct": False,
            "working_set_bytes": 16777216.0,
            "seconds": 1.5,
            "rate_limited": True,
        }.items()
    )


def test_an_interrupted_run_has_its_end_after_the_text_between(runs: dict[str, Fio]) -> None:
    reported = runs["interrupted"].reported()
    documents = runs["interrupted"].documents()
    assert len(documents) >= 2
    assert reported.warnings == ["interrupted"]
    assert [name for name, _, _ in reported.steps] == ["step-begin", "step-end"]
    assert reported.column("f/i", "ops_read_total")[-1] == documents[-1]["jobs"][0]["read"]["total_ios"]


def test_a_killed_run_has_no_end_while_its_jobs_go_on(runs: dict[str, Fio]) -> None:
    reported = runs["killed"].reported()
    assert json.loads((runs["killed"].folder / "survivors").read_text()) == [True, True]
    assert reported.warnings == ["no-end"]
    assert [name for name, _, _ in reported.steps] == ["step-begin", "step-end"]
    assert set(reported.rows) == {"f/k", "f/k#2"}


def test_a_series_with_a_ramp_begins_anew_once(runs: dict[str, Fio]) -> None:
    reported = runs["ramp"].reported()
    assert [name for name, _, _ in reported.steps] == ["step-begin", "ramp-end", "step-end"]
    begin, settled, end = (moment for _, _, moment in reported.steps)
    assert settled - begin == pytest.approx(1.0, abs=0.3)
    assert end - settled == pytest.approx(2.0, abs=0.3)
    counted = [value for value in reported.column("f/r", "ops_read_total") if value is not None]
    assert sum(later < earlier for earlier, later in pairwise(counted)) == 1
    assert counted[-1] == runs["ramp"].documents()[-1]["jobs"][0]["read"]["total_ios"]
    assert reported.warnings == []


def test_documents_that_were_asked_for_by_signal_and_file_are_a_series(runs: dict[str, Fio]) -> None:
    reported = runs["asked"].reported()
    assert len(runs["asked"].documents()) >= 3
    assert reported.summaries == [False]
    assert len(reported.rows["f/u"]) == len(runs["asked"].documents()) + 1
    assert reported.moments["f/u"] == sorted(reported.moments["f/u"])
    assert not (runs["asked"].folder / "fio-dump-status").exists()


def test_jobs_of_different_options_in_one_group_are_not_given_a_queue_depth(runs: dict[str, Fio]) -> None:
    reported = runs["mixed_group"].reported()
    assert [code for code in reported.warnings if code != "completion-percentiles"] == ["mixed-jobs"]
    assert reported.reported("step-begin", "offered") == [None]
    assert "in_flight_configured" not in reported.entities["f/one"]


def test_a_raw_log_sums_up_to_what_the_document_says(runs: dict[str, Fio]) -> None:
    run = runs["raw_logs"]
    entry = run.documents()[-1]["jobs"][0]
    gained = run.reported("raw_lat.1.log").gained("f/raw.1")
    for direction in DIRECTIONS:
        body = entry[direction]
        assert gained[f"ops_{direction}_total"] == body["total_ios"]
        assert gained[f"bytes_{direction}_total"] == body["io_bytes"]
        waited = body["lat_ns"]["mean"] * body["lat_ns"]["N"] * 1e-9
        assert gained[f"latency_seconds_{direction}_total"] == pytest.approx(waited, rel=1e-6)
        for kind in ("bw", "iops"):
            assert run.reported(f"raw_{kind}.1.log").gained("f/raw.1")[f"ops_{direction}_total"] == body["total_ios"]


def test_a_histogram_log_counts_what_the_document_says_but_for_its_last_window(runs: dict[str, Fio]) -> None:
    run = runs["raw_logs"]
    body = run.documents()[-1]["jobs"][0]["read"]
    reported = run.reported("raw_clat_hist.1.log")
    counted = reported.gained("f/raw.1")["ops_read_total"]
    assert 0.5 * body["total_ios"] < counted <= body["total_ios"]
    raw = run.reported("raw_lat.1.log").rows["f/raw.1"][-1][1]
    median = reported.column("f/raw.1", "latency_seconds_p50_read")[-1]
    assert median == pytest.approx(raw["latency_seconds_p50_read"], rel=0.5)


def test_logs_of_means_sum_up_to_about_what_the_document_says(runs: dict[str, Fio]) -> None:
    run = runs["mean_logs"]
    document = run.documents()[-1]
    moved, done = run.reported("avg_bw.1.log"), run.reported("avg_iops.1.log")
    assert moved.clock == "utc"
    assert moved.moments["f/avg.1"][-1] == pytest.approx(document["timestamp_ms"] / 1000, abs=1.5)
    # fio sometimes leaves out the last window.
    share = (moved.moments["f/avg.1"][-1] - moved.moments["f/avg.1"][0]) / 2
    assert 0.7 < share < 1.05
    for direction in DIRECTIONS:
        body = document["jobs"][0][direction]
        assert moved.gained("f/avg.1")[f"bytes_{direction}_total"] == pytest.approx(
            share * body["io_bytes"], rel=0.05
        )
        assert done.gained("f/avg.1")[f"ops_{direction}_total"] == pytest.approx(share * body["total_ios"], rel=0.05)
        means = [v for v in run.reported("avg_lat.1.log").column("f/avg.1", f"latency_seconds_mean_{direction}") if v]
        assert sum(means) / len(means) == pytest.approx(body["lat_ns"]["mean"] * 1e-9, rel=0.5)


@pytest.mark.parametrize("name", ["all_forms", "interrupted", "killed", "ramp", "asked", "mixed_group"])
def test_live_and_import_tell_the_same_figures(runs: dict[str, Fio], name: str) -> None:
    output = runs[name].output.read_bytes()
    live = read_live([output[at : at + 4096] for at in range(0, len(output), 4096)])
    imported = runs[name].reported()
    assert live.entities.keys() == {
        key.replace("f/", "fio/") if "/" in key else {"f": "fio"}.get(key, key) for key in imported.entities
    }
    for load, rows in imported.rows.items():
        last = live.rows[load.replace("f/", "fio/")][-1][1]
        assert last == rows[-1][1]
        assert live.entities[load.replace("f/", "fio/")] == imported.entities[load]
    assert marks(live) == marks(imported)


def marks(reported: Reported) -> list[tuple[str, list[str]]]:
    """Each step with its marks. When one group has ended is known only after the next has begun."""
    of_step: dict[str, list[str]] = {}
    for event, step, _ in reported.steps:
        of_step.setdefault(step, []).append(event)
    return list(of_step.items())


def read_live(parts: Sequence[bytes]) -> Reported:
    reader, seen = FioLoad(), 1_700_000_000_000_000
    items: list[Item] = []
    for part in parts:
        seen += 1_000_000
        items += reader.feed(part, seen)
    items += reader.finish(seen)
    return Reported([item for item in items if not isinstance(item, Event) or item.name != "data-warning"])
