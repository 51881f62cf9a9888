"""The command that an experiment proposes runs, reads only, and keeps as many I/Os in flight as it says."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from sanpath.explanation.next_command import repeat_command
from sanpath.facts.compute import compute
from tests.support.san import San
from tests.support.stories import published

ABOUT = {
    "engine": "fio",
    "read_ratio": 1,
    "random_ratio": 1.0,
    "block_bytes": 65536,
    "threads": 4,
    "ioengine": "libaio",
    "files": 1,
    "working_set_bytes": 2**30,
}


def command(folder: Path, in_flight: float, **about: object) -> str | None:
    facts = compute(published(San(folder, about={**ABOUT, **about})).write())  # type: ignore[dict-item]
    return repeat_command(facts, facts.loads[0], in_flight)


def test_it_reads_from_the_same_device_with_as_many_in_flight(tmp_path: Path) -> None:
    made = command(tmp_path, 32)
    assert made is not None
    assert {"--filename=/dev/sda", "--readonly", "--rw=randread", "--numjobs=4", "--iodepth=8"} <= set(made.split())
    assert "--size=1073741824" in made.split(), "a larger range may be slower, whatever is outstanding"


def test_a_synchronous_engine_needs_a_process_for_each_outstanding_io(tmp_path: Path) -> None:
    made = command(tmp_path, 32, ioengine="psync", synchronous=True)
    assert made is not None
    assert {"--ioengine=psync", "--numjobs=32", "--iodepth=1"} <= set(made.split())


def test_nobody_is_told_to_write(tmp_path: Path) -> None:
    assert command(tmp_path, 32, read_ratio=0.7) is None


@pytest.mark.parametrize("engine", ["external:/tmp/evil.so", "libaio; touch evil", "$(evil)"])
def test_no_word_of_a_stranger_is_to_be_copied_into_a_shell(tmp_path: Path, engine: str) -> None:
    made = command(tmp_path, 32, ioengine=engine)
    assert made is not None
    assert "--ioengine=libaio" in made.split()
    assert "evil" not in made


def test_another_generator_has_another_command_line(tmp_path: Path) -> None:
    assert command(tmp_path, 32, engine="diskspd") is None


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_takes_it(tmp_path: Path) -> None:
    made = command(tmp_path / "r", 8, rw="randread")
    assert made is not None
    argv = shlex.split(made)[3:]
    subprocess.run([*argv, "--parse-only"], check=True, capture_output=True, timeout=60)
