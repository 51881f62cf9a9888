"""The command with real processes: fio reads a file, within its budget; a step can be cut short."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.probe import print_line
from sanpath.cli.sessions.recorder_process import record
from sanpath.model import Event, Scalar
from sanpath.probe.plan import load_probe_plan
from sanpath.recorder.control import CUT, END, RUN
from sanpath.recorder.request import EndOrder, RunRequest, StepOrder, SweepRequest
from sanpath.recording.reading.recording import Recording
from sanpath.sweep.progress import PROBE_END, PROBE_PAUSE, STEP_BEGIN, STEP_END
from tests.recorder.processes import sanpath
from tests.support.san import San
from tests.support.stories import published

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")

BYTES = 256 << 20
PLAN: dict[str, Any] = {
    "target": {"filename": "file.img"},
    "load": {"block_bytes": "16k", "in_flight": 2},
    "seconds": 4,
    "warmup_seconds": 0,
    "pause_seconds": 0,
    "fio": {"ioengine": "psync", "direct": 0},
    "experiments": ["more_in_flight"],
    "guard": {"baseline_seconds": 0},
    "budget": {"seconds": 60, "steps": 2, "bytes": BYTES, "bytes_per_second": "20m"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the plan and its target are; the probe has been recorded into p.sanpath."""
    folder = tmp_path_factory.mktemp("probe")
    (folder / "file.img").write_bytes(bytes(8 << 20))
    (folder / "plan.yaml").write_text(yaml.safe_dump(PLAN))
    done = sanpath("probe", "plan.yaml", "--into", "p.sanpath", "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "probe.json").write_text(done.stdout)
    (folder / "probe.txt").write_text(done.stderr)
    return folder


def test_it_ends_with_its_steps_and_why(folder: Path) -> None:
    probe = json.loads((folder / "probe.json").read_text())["probe"]
    assert 1 <= len(probe["steps"]) <= 2
    assert probe["steps"][0]["experiment"] == "start"
    assert probe["ended"]
    printed = (folder / "probe.txt").read_text()
    assert "step 1 of at most 2" in printed
    assert f": {probe['ended']}" in printed
    assert "What was tried" in (folder / "p-report.md").read_text()
    assert "What was tried" in (folder / "p-report.html").read_text()


def test_fio_moved_no_more_than_the_budget(folder: Path) -> None:
    moved = 0
    outputs = list((folder / "p.sanpath" / "load").glob("*/*"))
    for output in outputs:
        text = output.read_text(errors="replace")
        if (begin := text.rfind('{\n  "fio version"')) >= 0:
            moved += sum(job["read"]["io_bytes"] for job in json.loads(text[begin:])["jobs"])
    assert 0 < moved <= BYTES
    assert moved <= 2 * 5 * (20 << 20), "two steps of four seconds, a second of slack each, at 20 MiB a second"


def test_the_same_load_after_a_change(folder: Path) -> None:
    done = sanpath("probe", "plan.yaml", "--after", "p.sanpath", "--into", "after.sanpath", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "more throughput: " in done.stderr or "less throughput: " in done.stderr
    ended = done.stdout.partition("What was tried")[2]
    assert "IOPS before" in ended


def test_it_begins_from_a_recording(folder: Path) -> None:
    """The recording has no plan: its load is known from what fio said about itself."""
    about: dict[str, Scalar] = {"engine": "fio", "read_ratio": 1.0, "random_ratio": 1.0, "block_bytes": 65536}
    published(San(folder / "r.sanpath", about=about, leave_out={"switch", "array"}), in_flight=(16,)).write()
    options = ["fio.ioengine=psync", "seconds=4", "warmup_seconds=0", "guard.baseline_seconds=0", "budget.steps=2"]
    words = [word for option in options for word in ("--set", option)]
    done = sanpath(
        "probe",
        "r.sanpath",
        "--target",
        "file.img",
        *words,
        "--into",
        "again.sanpath",
        "--format",
        "json",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["probe"]
    start, other = (step["experiment"] for step in found["steps"])
    assert start == "start" != other
    first, second = (done.stderr.index(f"step {number} of at most 2") for number in (1, 2))
    assert "why: it separates" in done.stderr[first:second]
    assert "why: the load of the recording" in done.stderr[second:]


def test_a_step_on_one_path_reads_that_device(folder: Path) -> None:
    plan = load_probe_plan(folder / "plan.yaml").model_copy(update={"seconds": 1.0})
    (folder / "path.img").write_bytes(bytes(1 << 20))
    into = folder / "path.sanpath"
    request = RunRequest(folder=into, sweep=SweepRequest(plan=plan.sweep_plan(), file="plan.yaml", by_order=True))

    def control(send: Callable[[str], None]) -> None:
        devices = (str(folder / "path.img"),)
        order = StepOrder(step=plan.start, experiment="one_path", host="local", devices=devices)
        send(RUN + order.model_dump_json())
        send(END + EndOrder(reason="done").model_dump_json())

    code, _ = record(lambda: request, lambda: None, None, 0.5, control)
    assert code == 0
    started = next(event for event in events(into) if event.name == "load-started")
    assert f"--filename={folder / 'path.img'}" in str(started.detail["command"])


def test_a_pause_polls_without_a_load(folder: Path) -> None:
    """It is marked with its begin, unless it was cut short."""
    plan = load_probe_plan(folder / "plan.yaml").model_copy(update={"seconds": 1.0})
    into = folder / "pause.sanpath"
    request = RunRequest(folder=into, sweep=SweepRequest(plan=plan.sweep_plan(), file="plan.yaml", by_order=True))

    def control(send: Callable[[str], None]) -> None:
        for number, seconds in enumerate((1.0, 600.0), start=1):
            step = replace(plan.start, key=f"probe-{number}", name=f"pause {number}")
            order = StepOrder(step=step, experiment="pause", host="local", seconds=seconds, is_pause=True)
            send(RUN + order.model_dump_json())
        send(END + EndOrder(reason="done").model_dump_json())
        lines.append(send)

    def progress() -> None:
        begun = [e for e in events(into) if e.name == STEP_BEGIN] if (into / "events").exists() else []
        if len(begun) == 2:
            lines[0](CUT)

    lines: list[Callable[[str], None]] = []
    code, _ = record(lambda: request, progress, None, 0.5, control)
    assert code == 0
    found = events(into)
    assert not [event for event in found if event.name in ("load-started", "step-begin")]
    (pause,) = [event for event in found if event.name == PROBE_PAUSE]
    assert pause.detail["step"] == "pause 1"
    assert 0.9 < (pause.seen - int(str(pause.detail["began_us"]))) / 1e6 < 3
    assert [event.detail["outcome"] for event in found if event.name == STEP_END] == ["done", "interrupted"]


def test_a_step_that_is_cut_short_is_not_judged(folder: Path) -> None:
    plan = load_probe_plan(folder / "plan.yaml").model_copy(update={"seconds": 600.0})
    target = plan.target.model_copy(update={"filename": (str(folder / "file.img"),)})
    sweep = plan.sweep_plan().model_copy(update={"target": target})
    into = folder / "cut.sanpath"
    request = RunRequest(folder=into, sweep=SweepRequest(plan=sweep, file="plan.yaml", by_order=True))
    lines: list[Callable[[str], None]] = []

    def control(send: Callable[[str], None]) -> None:
        lines.append(send)
        send(RUN + StepOrder(step=plan.start, experiment="start", host="local").model_dump_json())

    def progress() -> None:
        if (into / "events").exists() and any(e.name == STEP_BEGIN for e in events(into)):
            lines[0](CUT)
            lines[0](END + EndOrder(reason="others").model_dump_json())

    code, interrupted = record(lambda: request, progress, None, 0.5, control)
    assert (code, interrupted) == (0, False)
    by_name = {event.name: event.detail for event in events(into)}
    assert by_name[STEP_END]["outcome"] == "interrupted"
    assert by_name["step-dropped"]["step"] == plan.start.name
    assert by_name[PROBE_END]["reason"] == "others"


def events(recording: Path) -> list[Event]:
    return [event for _, event in Recording(recording).events()]


def test_no_name_reaches_the_terminal_as_a_control_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("  why: it separates \x1b[31mfa1\x07 (50%) from link:a (49%)")
    assert capsys.readouterr().err == "sanpath:   why: it separates �[31mfa1� (50%) from link:a (49%)\n"
