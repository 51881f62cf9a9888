"""The load of a probe from a fio job file: only what an experiment varies changes, and no text of it is run."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import SanpathError
from sanpath.probe.experiment_steps import in_flight_order, possible_orders
from sanpath.probe.job_file import job_load
from sanpath.probe.job_options import LOAD, UNCHANGED
from sanpath.probe.plan import ProbePlan
from sanpath.probe.plan_from_recording import RecordedLoad, plan_of
from sanpath.sweep import commands
from sanpath.sweep.plan import PLANNED_FIO_OPTIONS
from tests.recorder.processes import sanpath

OF_SANPATH = ("readonly", "ioengine", "direct", "randrepeat", "lat_percentiles", "clat_percentiles")
JOB = """\
; a job as people keep it
[global]
ioengine=libaio   # asynchronous
direct=1
bs=8k
runtime=60
time_based
group_reporting

[oltp]
rw=randread
iodepth=8
numjobs=2
size=1g
offset=1m
refill_buffers
filename=/dev/mapper/mpatha:/dev/mapper/mpathb
write_bw_log=/etc/cron.d/oltp
"""


def written(folder: Path, text: str = JOB, **replaced: str) -> Path:
    """A job file; `replaced`: option → the line that takes the place of its line."""
    for name, line in replaced.items():
        text = "\n".join(line if old.startswith(f"{name}=") else old for old in text.splitlines())
    path = folder / "test.fio"
    path.write_text(text)
    return path


def printed(path: Path, *options: str) -> tuple[list[list[str]], str]:
    """The command lines of the steps, the first that of the load itself, and what is said about the job."""
    result = CliRunner().invoke(app, ["probe", str(path), *options, "--print"])
    assert result.exit_code == 0, result.exception
    return [shlex.split(line) for line in result.stdout.splitlines() if not line.startswith("#")], result.stderr


def refused(path: Path, *options: str) -> str:
    result = CliRunner().invoke(app, ["probe", str(path), *options])
    assert isinstance(result.exception, SanpathError), result.output
    assert result.exception.exit_code == 2
    assert "\n" not in str(result.exception)
    return str(result.exception)


def plan_of_job(path: Path) -> ProbePlan:
    return plan_of(
        str(path), RecordedLoad(job_load(path).keys, {}), (), ("budget.in_flight=1024",), allow_writes=True
    )


def test_the_steps_are_the_job_but_for_what_is_varied(tmp_path: Path) -> None:
    (start, more, *_), said = printed(written(tmp_path))
    job = {"--rw=randread", "--bs=8192", "--iodepth=8", "--numjobs=2", f"--size={1 << 30}", "--offset=1m"}
    assert job | {"--filename=/dev/mapper/mpatha:/dev/mapper/mpathb", "--refill_buffers=1", "--direct=1"} <= set(
        start
    )
    assert start[:2] == ["fio", "--readonly"]
    assert [set(start) - set(more), set(more) - set(start)] == [{"--iodepth=8"}, {"--iodepth=16"}]
    assert said.endswith(
        "left out, since a probe sets how long a step runs and what it reports: "
        "runtime, time_based, group_reporting, write_bw_log\n"
    )
    assert not any("cron" in word for word in start)


def test_targets_and_keys_can_be_given_beside_it(tmp_path: Path) -> None:
    (start, *_), _ = printed(
        written(tmp_path), "--target", "/dev/sdb", "--set", "seconds=5", "--set", "load.in_flight=4"
    )
    assert {"--filename=/dev/sdb", "--runtime=5000ms", "--iodepth=2"} <= set(start)
    (start, *_), _ = printed(written(tmp_path, numjobs="numjobs=1"), "--target", "nbd://192.0.2.1:10809")
    assert ("--ioengine=nbd" in start, "--ioengine=libaio" in start) == (True, False)


def test_a_plan_names_the_job_and_its_own_keys_come_first(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "plan.yaml").write_text("load: {job_file: test.fio, in_flight: 4}\nexperiments: smaller_blocks\n")
    (start, smaller), said = printed(tmp_path / "plan.yaml")
    assert {"--bs=8192", "--iodepth=2", "--numjobs=2", "--readonly"} <= set(start)
    assert "--bs=4096" in smaller
    assert "left out" in said
    (tmp_path / "plan.yaml").write_text("engine: diskspd\nload: {job_file: test.fio}\n")
    assert "load.job_file: is one of fio, and diskspd runs the load" in refused(tmp_path / "plan.yaml")
    (tmp_path / "plan.yaml").write_text("load: {job_file: none.fio}\n")
    assert "none.fio: cannot be read" in refused(tmp_path / "plan.yaml")


def test_without_direct_or_an_asynchronous_engine_the_load_is_as_of_the_job(tmp_path: Path) -> None:
    """fio's default engine has one I/O outstanding a job: more of them need more jobs."""
    path = written(tmp_path, ioengine="", direct="", numjobs="numjobs=4")
    (start, more, *_), said = printed(path)
    assert {"--ioengine=psync", "--direct=0", "--numjobs=4", "--iodepth=1"} <= set(start)
    assert {"--numjobs=8", "--iodepth=1"} <= set(more)
    assert "iodepth=8 has no effect: psync keeps one I/O outstanding per job, 4 in all" in said
    assert "direct=1 is not set" in said
    plan = plan_of_job(path)
    assert "more_jobs" not in [order.experiment for order in possible_orders(plan)]
    knee = in_flight_order(plan, 7, "knee", "").step
    assert (knee.threads, knee.in_flight_per_thread) == (7, 1)


def test_the_defaults_are_those_of_fio(tmp_path: Path) -> None:
    plan = plan_of_job(written(tmp_path, "[a]\nfilename=/dev/sdb\nrw=rw\nramp_time=1m\n"))
    assert (plan.load.block_bytes, plan.load.read_ratio, plan.load.access) == (4096, 0.5, "sequential")
    assert (plan.load.threads, plan.load.in_flight, plan.load.working_set_bytes) == (1, 1, None)
    assert plan.warmup_seconds == 60


def test_a_load_that_writes_needs_to_be_allowed(tmp_path: Path) -> None:
    path = written(tmp_path, rw="rw=randrw\nrwmixread=70")
    assert "allow it: --allow-writes" in refused(path)
    (start, *_), _ = printed(path, "--allow-writes")
    assert {"--rw=randrw", "--rwmixread=70"} <= set(start)


REFUSED = {
    "a command": ("exec_prerun=rm -rf /", "test.fio:19: exec_prerun: would run a command"),
    "a command after it": ("exec_postrun=x", "exec_postrun: would run a command"),
    "another file": ("include /etc/passwd", "include: reads another file"),
    "another file, as an option": ("include=x", "include: reads another file"),
    "a server": ("client=db2", "client: a probe runs its load itself"),
    "a library": ("ioengine=external:/tmp/evil.so", "ioengine: a probe runs a job with one of"),
    "verify": ("verify=crc32c", "verify: a probe only reads or writes"),
    "a rate": ("rate_iops=100", "rate_iops: throttles the load"),
    "think time": ("thinktime=10ms", "thinktime: throttles the load"),
    "block sizes": ("bssplit=4k/50:64k/50", "bssplit: a probe varies one block size"),
    "two block sizes": ("bs=4k,64k", "bs: a probe varies one block size"),
    "trim": ("rw=randtrim", "rw: a probe runs read, write"),
    "removed": ("unlink=1", "unlink: changes the target by more"),
    "files of its own": ("nrfiles=8", "nrfiles: makes or finds files by itself"),
    "a share": ("size=50%", "size: write bytes"),
    "a variable": ("iodepth=$ncpus", "iodepth: variables are not filled in"),
    "a shell": ("offset=`id`", "offset: variables are not filled in"),
    "unknown": ("profile=act", "profile: a probe does not know what this changes"),
    "a hidden option": ("random_distribution=zipf:1 --rw=write", "random_distribution: a probe does not know"),
    "no option": ("{{{", "is not an option of a fio job"),
    "two jobs": ("[second]\nrw=read", "has 2 jobs (lines 10, 19): a probe varies one"),
}


@pytest.mark.parametrize(("line", "answer"), REFUSED.values(), ids=REFUSED)
def test_what_a_probe_does_not_run_is_refused(tmp_path: Path, line: str, answer: str) -> None:
    assert answer in refused(written(tmp_path, f"{JOB}{line}\n"))


lines = st.lists(
    st.tuples(
        st.sampled_from(
            sorted({*LOAD, *UNCHANGED, *("exec_prerun", "include", "filename", "output", "write_lat_log", "[x]")})
        ),
        st.sampled_from(("1", "8k", "randwrite", "psync", "a:b", "zipf:1.2", "/etc/shadow", "x --rw=write", "$(id)"))
        | st.text(max_size=20),
    )
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines)
def test_no_text_of_a_job_becomes_another_option(tmp_path: Path, given_lines: list[tuple[str, str]]) -> None:
    """Whatever stands in it, it is refused in one line, or its steps have options of fixed lists alone."""
    text = "".join(f"{name}={value}\n" for name, value in given_lines)
    path = tmp_path / "any.fio"
    path.write_text(f"[a]\nrw=randread\nfilename=/dev/null\n{text}", encoding="utf-8", errors="replace")
    try:
        made = plan_of_job(path)
    except SanpathError as error:
        assert "\n" not in str(error)  # noqa: PT017 - most of them are refused
        return
    words = commands.fio(made.sweep_plan(), made.start)
    assert words[:2] == ("fio", "--readonly")
    options = {word.partition("=")[0] for word in words[1:]}
    assert options <= {f"--{name}" for name in {*PLANNED_FIO_OPTIONS, *UNCHANGED, *OF_SANPATH}}


def test_what_is_tested_is_named_by_the_person(tmp_path: Path) -> None:
    assert "name the device or file to test with --target" in refused(written(tmp_path, filename=""))
    assert "give filename as well, or --target" in refused(written(tmp_path, filename="directory=/mnt/x"))
    assert "names no file or device" in refused(written(tmp_path, filename="filename=-"))
    (start, *_), _ = printed(written(tmp_path, filename="directory=/mnt/x\nfilename=a\\:b:c"))
    assert "--filename=/mnt/x/a\\:b:/mnt/x/c" in start
    assert "has 0 jobs" in refused(written(tmp_path, "[global]\nrw=read\n"))


def test_a_file_that_fio_would_have_to_make_is_not_probed(tmp_path: Path) -> None:
    path = written(tmp_path, filename=f"filename={tmp_path / 'data.img'}")
    assert "data.img: there is no such file or device: make it first" in refused(path)
    (tmp_path / "data.img").write_bytes(bytes(4096))
    assert "has 4,096 bytes, less than the job's size: make it first" in refused(path, "--allow-writes")
    assert not list(tmp_path.glob("*.sanpath"))


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_a_job_is_probed_with_real_fio(tmp_path: Path) -> None:
    """With the job's I/Os outstanding, and within the rate."""
    (tmp_path / "data.img").write_bytes(bytes(8 << 20))
    job = written(
        tmp_path, JOB.replace("direct=1", "direct=0"), filename="filename=data.img", size="size=8m", offset=""
    )
    settings = ["seconds=5", "warmup_seconds=0", "pause_seconds=0", "guard.baseline_seconds=0", "budget.steps=2"]
    settings += ["budget.bytes_per_second=20m", "experiments=[more_in_flight]"]
    options = [word for setting in settings for word in ("--set", setting)]
    done = sanpath("probe", job.name, *options, "--into", "p.sanpath", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sanpath: test.fio: left out, since a probe sets" in done.stderr
    diagnosis = json.loads(done.stdout)
    start, *others = diagnosis["probe"]["steps"]
    assert (start["experiment"], len(others) <= 1) == ("start", True)
    assert diagnosis["steps"][0]["in_flight"]["configured"] == 16
    moved = sum(direction["bytes_per_second"] for direction in diagnosis["steps"][0]["directions"].values())
    assert 0 < moved <= 1.2 * (20 << 20)
