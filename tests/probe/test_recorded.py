"""A probe begins from a recording: its load and its suspects, and nothing else that a stranger may have written."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import diagnose
from sanpath.errors import SanpathError
from sanpath.model import Scalar
from sanpath.probe.budget import Spent
from sanpath.probe.experiment_steps import Finish, Order
from sanpath.probe.search import continue_from
from sanpath.recording.reading.recording import Recording
from sanpath_lab.generator import draw
from sanpath_testbed.defects import Defects
from sanpath_testbed.experiments import heaviest_step_alone
from sanpath_testbed.outcome import judge
from sanpath_testbed.probes import probe, probe_plan
from sanpath_testbed.record import LabRecorder
from tests.support.san import KIB, Flow, San
from tests.support.stories import mixed, published

FIO: dict[str, Scalar] = {"engine": "fio", "read_ratio": 1.0, "random_ratio": 1.0, "block_bytes": 65536, "threads": 4}
EVIL = "x --filename=/dev/evil --rw=write; touch /tmp/evil $(evil) `evil`\nfilename=/dev/evil"
SEED = 70154
"""One step is not sure whether too few I/Os are outstanding or the array limits."""


def recorded(folder: Path, in_flight: int = 16, **about: Scalar) -> Path:
    """A recording of one step of reads, of a load that says this about itself."""
    path = folder / "r.sanpath"
    published(San(path, about={**FIO, **about}), in_flight=(in_flight,)).write()
    return path


def printed(recording: Path, *options: str) -> list[list[str]]:
    """The command lines of the steps, the first that of the load itself."""
    result = CliRunner().invoke(app, ["probe", str(recording), *options, "--print"])
    assert result.exit_code == 0, result.exception
    return [shlex.split(line) for line in result.output.splitlines() if not line.startswith("#")]


def refused(recording: Path, *options: str) -> str:
    """What a person reads who has to name something."""
    result = CliRunner().invoke(app, ["probe", str(recording), *options])
    assert isinstance(result.exception, SanpathError), result.output
    assert result.exception.exit_code == 2
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_the_load_is_that_of_the_recording(tmp_path: Path) -> None:
    start = printed(recorded(tmp_path), "--target", "/dev/mapper/mpatha")[0]
    wanted = {"--rw=randread", "--bs=65536", "--numjobs=4", "--iodepth=4", "--readonly", "--direct=1"}
    assert wanted <= set(start)
    assert "--filename=/dev/mapper/mpatha" in start


def test_a_load_through_the_file_cache_goes_through_it_again(tmp_path: Path) -> None:
    assert "--direct=0" in printed(recorded(tmp_path, direct=False), "--target", "/dev/sdb")[0]


def test_exports_are_targets_too(tmp_path: Path) -> None:
    start = printed(recorded(tmp_path), "--target", "nbd://10.0.0.1:10809", "--set", "load.threads=1")[0]
    assert "--uri=nbd://10.0.0.1:10809" in start


def test_another_engine_runs_it_as_in_a_sweep(tmp_path: Path) -> None:
    start = printed(recorded(tmp_path, engine="DiskSpd"), "--target", "#1")[0]
    assert start[0] == "diskspd"
    assert {"-b65536", "-F4", "-O4", "-w0", "-r", "#1"} <= set(start)


@pytest.mark.parametrize(
    ("about", "options", "answer"),
    [
        ({}, [], "name the device or file to test with --target"),
        (
            {"engine": "Iometer"},
            ["--target", "a"],
            "load generator is none of fio, diskspd, vdbench: give --set engine=",
        ),
        ({"random_ratio": 0.5}, ["--target", "a"], "random or sequential: give --set load.access="),
        ({"rate_limited": True}, ["--target", "a"], "limited to a rate: give --set load.in_flight="),
        ({}, ["--target", "a", "--set", "load.in_flight"], "write KEY=VALUE"),
        ({}, ["--target", "a", "--set", "load.in_fligt=3"], "did you mean in_flight?"),
        ({}, ["--target", "a", "--set", "budget.in_flight=2"], "is more than budget.in_flight (2)"),
        ({}, ["--target", "a", "--set", "target.uri=b"], "name the target with --target"),
        ({}, ["--target", "a", "--set", "load.read_ratio=0.5"], "allow it: --allow-writes"),
        ({"read_ratio": 0.0}, ["--target", "a", "--set", "seconds=[]"], "seconds: "),
    ],
)
def test_what_a_recording_cannot_give_is_asked_for(
    tmp_path: Path, about: dict[str, Scalar], options: list[str], answer: str
) -> None:
    assert answer in refused(recorded(tmp_path, **about), *options)


def test_a_plan_has_its_target_itself(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("target: {filename: /dev/null}\nload: {in_flight: 4}\n")
    assert "go with a recording" in refused(tmp_path / "plan.yaml", "--target", "/dev/sdb")
    assert "there is no such recording" in refused(tmp_path / "none.sanpath", "--target", "/dev/sdb")


def test_a_load_that_wrote_needs_to_be_allowed(tmp_path: Path) -> None:
    path = tmp_path / "w.sanpath"
    mixed(San(path, about={**FIO, "read_ratio": 0.5, "threads": 1})).write()
    options = ["--target", "/dev/sdb", "--set", "budget.in_flight=1024"]
    assert "allow it: --allow-writes" in refused(path, *options)
    assert "--rwmixread=50" in printed(path, *options, "--allow-writes")[0]


def test_nothing_that_a_stranger_wrote_reaches_a_command_line(tmp_path: Path) -> None:
    """Names, options, engine and numbers of the recording are hostile; only what was checked is used."""
    path = tmp_path / "evil.sanpath"
    words = ("ioengine", "rw", "filename", "command", "fill", "uri", "directory", "fio", "exec_prerun")
    about: dict[str, Scalar] = {**FIO, **dict.fromkeys(words, EVIL), "threads": EVIL, "working_set_bytes": EVIL}
    san = San(path, about={**about, "block_bytes": EVIL, "read_ratio": EVIL})
    san.step(EVIL, 16, read=Flow(10_000, 0.0016), block=64 * KIB)
    san.write()
    honest = tmp_path / "honest.sanpath"
    san = San(honest, about={**FIO, "threads": 1})
    san.step("t16", 16, read=Flow(10_000, 0.0016), block=64 * KIB)
    san.write()
    assert printed(path, "--target", "/dev/sdb") == printed(honest, "--target", "/dev/sdb")
    engine = refused(recorded(tmp_path, engine=EVIL), "--target", "/dev/sdb")
    assert "load generator is none of fio, diskspd, vdbench" in engine
    assert "evil" not in engine


@pytest.mark.parametrize("number", [float("inf"), float("nan"), -5.0, 1e300, 0.0])
def test_numbers_of_a_stranger_have_limits(tmp_path: Path, number: float) -> None:
    path = recorded(tmp_path, block_bytes=number, threads=number, working_set_bytes=number)
    result = CliRunner().invoke(app, ["probe", str(path), "--target", "/dev/sdb", "--print"])
    if result.exit_code:
        assert isinstance(result.exception, SanpathError)
        return
    assert {"--bs=65536", "--numjobs=1"} <= set(shlex.split(result.output.splitlines()[1]))


def test_a_certain_verdict_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.sanpath"
    published(San(path, about=FIO)).write()
    assert diagnose(Recording(path)).verdict.grade == "A"
    options = ["--target", "/dev/none", "--set", "budget.in_flight=1024", "--into", str(tmp_path / "p.sanpath")]
    result = CliRunner().invoke(app, ["probe", str(path), *options])
    assert result.exit_code == 0, result.exception
    assert "nothing is run: the verdict is settled: confidence A" in result.stderr
    assert "BOTTLENECK" in result.stdout
    assert not (tmp_path / "p.sanpath").exists()


@pytest.mark.slow
def test_the_first_step_separates_the_suspects_and_the_load_follows(tmp_path: Path) -> None:
    """In the lab: the same verdict as of a probe that begins with the load itself."""
    drawn = draw(SEED)
    scenario = heaviest_step_alone(drawn.scenario)
    plan = probe_plan(scenario)
    with asyncio.Runner() as runner:
        recorder = LabRecorder(scenario, tmp_path / "r.sanpath", Defects(scenario, None, drawn.reading))
        runner.run(recorder.begin())
        runner.run(recorder.run_load())
        recorder.end()
    verdict = diagnose(Recording(tmp_path / "r.sanpath")).verdict
    assert verdict.kind == "cannot_tell"
    search = continue_from(verdict)
    first = search(plan, None, Spent())
    assert isinstance(first, Order)
    assert first.experiment == "more_in_flight"
    assert "separates" in first.reason

    diagnoses, finish = probe(scenario, drawn.reading, plan, search)
    assert finish.reason.startswith("the verdict is settled: confidence A")
    assert judge("draw", SEED, None, drawn.scenario.truth, diagnoses[-1]).is_right
    alone, both = (diagnosis.probe for diagnosis in diagnoses)
    assert alone is not None
    assert both is not None
    assert "to be compared with the load itself" in alone.steps[0].outcome
    assert [trial.experiment for trial in both.steps] == ["start", "more_in_flight"]
    assert both.steps[1].is_seen is True
    assert both.steps[1].ruled_out


def test_without_room_for_the_comparison_nothing_is_run(tmp_path: Path) -> None:
    path = tmp_path / "r.sanpath"
    published(San(path, about=FIO, leave_out={"switch", "array"}), in_flight=(16,)).write()
    plan = probe_plan(heaviest_step_alone(draw(SEED).scenario))
    short = plan.model_copy(update={"budget": plan.budget.model_copy(update={"steps": 1})})
    finish = continue_from(diagnose(Recording(path)).verdict)(short, None, Spent())
    assert isinstance(finish, Finish)
    assert "no room for an experiment and for the load that it is compared with" in finish.reason
