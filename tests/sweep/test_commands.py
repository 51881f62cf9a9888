"""Command lines: what each generator is told, and that the real fio takes it."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sanpath.sweep import commands
from sanpath.sweep.matrix import steps
from sanpath.sweep.plan import Plan
from tests.recorder.processes import sanpath

LUNS = {"filename": ["/dev/disk/by-path/pci-0000:3b:00.0", "/dev/sdc"]}
EXPORTS = {"uri": ["nbd://10.0.0.1:10809", "nbd://10.0.0.2:10809"]}


def plan(matrix: dict[str, Any], target: dict[str, Any] | None = None, **changes: Any) -> Plan:
    result = {"target": target or LUNS, "matrix": matrix, "allow_writes": True} | changes
    return Plan.model_validate(result)


def fio_options(made: Plan, step: int = 0) -> dict[str, str]:
    words = commands.fio(made, steps(made)[step])
    return dict(word.removeprefix("--").split("=", 1) for word in words if "=" in word)


def test_in_flight_is_shared_by_the_threads() -> None:
    options = fio_options(plan({"in_flight": 16, "threads": 4}))
    assert (options["iodepth"], options["numjobs"]) == ("4", "4")


def test_luns_are_one_job_and_exports_a_job_each() -> None:
    luns = fio_options(plan({"in_flight": 16}))
    assert luns["filename"] == r"/dev/disk/by-path/pci-0000\:3b\:00.0:/dev/sdc"
    assert luns["iodepth"] == "16"
    made = plan({"in_flight": 16}, EXPORTS)
    words = commands.fio(made, steps(made)[0])
    assert [word for word in words if word.startswith(("--name", "--uri"))] == [
        "--name=step-01-1",
        "--uri=nbd://10.0.0.1:10809",
        "--name=step-01-2",
        "--uri=nbd://10.0.0.2:10809",
    ]
    assert "--iodepth=8" in words
    assert "--group_reporting" not in words


def test_only_so_many_targets_are_used() -> None:
    made = plan({"in_flight": 2, "targets": [1, 2]})
    assert fio_options(made)["filename"] == r"/dev/disk/by-path/pci-0000\:3b\:00.0"
    assert fio_options(made, 1)["filename"].endswith(":/dev/sdc")


@pytest.mark.parametrize(
    ("ratio", "access", "expected"),
    [
        (1, "random", {"rw": "randread"}),
        (0, "random", {"rw": "randwrite"}),
        (0.7, "random", {"rw": "randrw", "rwmixread": "70"}),
        (1, "sequential", {"rw": "read"}),
        (0, "sequential", {"rw": "write"}),
        (0.25, "sequential", {"rw": "rw", "rwmixread": "25"}),
    ],
)
def test_what_is_read_and_how(ratio: float, access: str, expected: dict[str, str]) -> None:
    options = fio_options(plan({"in_flight": 1, "read_ratio": ratio, "access": access}))
    assert {name: options.get(name) for name in ("rw", "rwmixread") if name in options} == expected


def test_threads_that_read_in_sequence_have_parts_of_their_own() -> None:
    matrix = {"in_flight": 4, "threads": 4, "access": "sequential"}
    assert fio_options(plan(matrix))["offset_increment"] == "25%"
    options = fio_options(plan(matrix | {"working_set_bytes": "8g"}))
    assert (options["size"], options["offset_increment"]) == (str(2 << 30), str(1 << 30))
    assert "offset_increment" not in fio_options(plan(matrix | {"access": "random"}))


def test_a_steady_step_may_last_as_long_as_at_most() -> None:
    assert fio_options(plan({"in_flight": 1}, seconds=7.5))["runtime"] == "7500ms"
    assert fio_options(plan({"in_flight": 1}, steady={"at_most_seconds": 90}))["runtime"] == "90000ms"


def test_extra_options_have_the_last_word() -> None:
    words = commands.fio(made := plan({"in_flight": 1}, fio={"direct": False, "ioengine": "sync"}), steps(made)[0])
    assert words.index("--direct=0") > words.index("--direct=1")
    assert words.index("--ioengine=sync") > words.index("--ioengine=libaio")


def test_what_stands_before_fio_stays_there() -> None:
    made = plan({"in_flight": 1}, command="ip netns exec 'a b' fio")
    assert commands.fio(made, steps(made)[0])[:5] == ("ip", "netns", "exec", "a b", "fio")


def test_the_real_fio_takes_every_combination(tmp_path: Path) -> None:
    fio = shutil.which("fio")
    if fio is None:
        pytest.skip("fio is not installed")
    data = [tmp_path / "one:two", tmp_path / "three"]
    for file in data:
        file.write_bytes(bytes(1 << 20))
    targets: list[dict[str, Any]] = [{"filename": list(map(str, data))}, {"directory": str(tmp_path)}]
    # Not an export: fio would connect to it.
    for target, access, threads, size in itertools.product(targets, ("random", "sequential"), (1, 2), (None, "1m")):
        if target.get("directory") and size is None:
            continue
        matrix = {"in_flight": 4, "threads": threads, "access": access, "read_ratio": 0.7, "working_set_bytes": size}
        made = plan(matrix, target, fio={"direct": 0})
        words = [*commands.fio(made, steps(made)[0]), "--parse-only"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)


def test_diskspd_keeps_as_much_in_flight() -> None:
    matrix = {"in_flight": 32, "threads": 4, "read_ratio": 0.7, "block_bytes": "64k"}
    made = plan(matrix, {"filename": [r"C:\a b\one.dat", "#1"]}, engine="diskspd")
    line = commands.shell_command(made, steps(made)[0])
    assert line == (r'diskspd -b65536 -d20 -W5 -F4 -O8 -w30 -r -Sh -L -D1000 -Rxml "C:\a b\one.dat" #1 > step-01.xml')


def test_diskspd_and_vdbench_are_held_below_a_rate() -> None:
    """DiskSpd's rate is one of each thread and target, in bytes a millisecond; vdbench's is that of all, in I/Os."""
    matrix = {"in_flight": 32, "threads": 4, "block_bytes": "64k"}
    made = plan(matrix, {"filename": ["#1", "#2"]}, engine="diskspd")
    assert "-g12500" in commands.command(made, steps(made)[0], 100_000_000)
    assert "-g1" in commands.command(made, steps(made)[0], 7999), "zero would be no limit"
    assert not any(word.startswith("-g") for word in commands.command(made, steps(made)[0]))
    made = plan({"in_flight": 32, "block_bytes": "64k"}, engine="vdbench")
    script = commands.command(made, steps(made)[0], 100_000_000)[2]
    assert "rd=step-01,wd=wd1,iorate=1525,distribution=deterministic,elapsed=20" in script


def test_vdbench_keeps_as_much_in_flight() -> None:
    made = plan({"in_flight": 32, "access": "sequential", "working_set_bytes": "8g"}, engine="vdbench")
    lines = commands.shell_command(made, steps(made)[0]).splitlines()
    assert lines[1:3] == [
        f"sd=sd1,lun={LUNS['filename'][0]},openflags=o_direct,threads=16,size={4 << 30}",
        f"sd=sd2,lun=/dev/sdc,openflags=o_direct,threads=16,size={4 << 30}",
    ]
    assert lines[3:5] == [
        "wd=wd1,sd=sd*,xfersize=65536,rdpct=100,seekpct=0",
        "rd=step-01,wd=wd1,iorate=max,elapsed=20,interval=1,warmup=5",
    ]
    assert lines[-1] == "vdbench -f step-01.vdb -o step-01"


def test_vdbench_prints_the_report_that_is_read_and_leaves_nothing(tmp_path: Path) -> None:
    vdbench = tmp_path / "vdbench"
    vdbench.write_text('#!/bin/sh\nmkdir "$4"; cp "$2" "$4/flatfile.html"; echo for people\n')
    vdbench.chmod(0o755)
    made = plan({"in_flight": 32}, engine="vdbench", command=str(vdbench))
    words = commands.command(made, steps(made)[0])
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert done.stdout.splitlines()[-1] == "rd=step-01,wd=wd1,iorate=max,elapsed=20,interval=1,warmup=5"
    assert done.stderr == "for people\n"
    assert [file.name for file in tmp_path.iterdir()] == ["vdbench"]


def test_print_shows_every_step_on_every_host_and_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        "engine: diskspd\nhosts: [win1, win2]\ntarget: {filename: X.dat}\nmatrix: {in_flight: [1, 8]}\n"
    )
    done = sanpath("sweep", "plan.yaml", "--print", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# 64 KiB random read, 1 outstanding a host",
        "# on win1",
        "# on win2",
        "# 64 KiB random read, 8 outstanding a host",
        "# on win1",
        "# on win2",
    ]
    assert sum(line.startswith("diskspd ") for line in lines) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.yaml"]


def test_a_printed_fio_line_can_be_pasted() -> None:
    made = plan({"in_flight": 1}, {"filename": "/mnt/a b"})
    assert "--filename=/mnt/a b" in shlex.split(commands.shell_command(made, steps(made)[0]))
