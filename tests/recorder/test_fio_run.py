"""`sanpath run -- fio job.fio` with the real fio and nothing configured."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sanpath_collectors.fio.documents import Documents
from tests.recorder.conftest import job_file
from tests.recorder.processes import sanpath


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fio")


@pytest.fixture(scope="module")
def done(folder: Path, fio: str) -> subprocess.CompletedProcess[str]:
    job = job_file(folder, seconds=2.4)
    arguments = ("--into", "r.sanpath", "--format", "json", "--", fio, "--output-format=normal", job)
    return sanpath("run", *arguments, cwd=folder)


@pytest.fixture(scope="module")
def diagnosis(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_ends_well_with_one_object_on_standard_output(
    done: subprocess.CompletedProcess[str], diagnosis: dict[str, Any]
) -> None:
    assert done.returncode == 0, done.stderr
    assert diagnosis["schema"] == "sanpath.diagnosis/1"
    assert diagnosis["run"]["complete"] is True
    assert diagnosis["run"]["load_exit_code"] == 0


def test_what_fio_says_to_people_is_on_standard_error(done: subprocess.CompletedProcess[str]) -> None:
    assert "Run status group 0 (all jobs):" in done.stderr
    assert '"jobname"' not in done.stderr


def test_the_output_of_fio_is_kept(folder: Path, diagnosis: dict[str, Any]) -> None:
    assert diagnosis
    (output,) = (folder / "r.sanpath" / "load").glob("*/output")
    documents, text = Documents().feed(output.read_bytes())
    assert len(documents) >= 4
    assert [job["jobname"] for job in documents[-1]["jobs"]] == ["small", "deep", "deep"]
    assert "Run status group 1 (all jobs):" in text


def test_steps_carry_fios_names_and_what_was_in_flight(diagnosis: dict[str, Any]) -> None:
    assert [step["name"] for step in diagnosis["steps"]] == ["small", "deep"]
    assert [step["in_flight"]["configured"] for step in diagnosis["steps"]] == [1, 8]
    assert {step["origin"] for step in diagnosis["steps"]} == {"marks"}


def test_without_a_view_of_the_path_there_is_a_headline_and_no_culprit(diagnosis: dict[str, Any]) -> None:
    verdict = diagnosis["verdict"]
    assert verdict["kind"] in ("cannot_tell", "demand_limited")
    assert verdict["headline"]
    assert verdict["bottlenecks"] == []
    assert diagnosis["unobserved"]


def test_report_and_recording_lie_where_they_were_asked_for(
    folder: Path, done: subprocess.CompletedProcess[str]
) -> None:
    assert (folder / "r-report.md").read_text(encoding="utf-8").startswith("#")
    assert f"recording {folder / 'r.sanpath'}, report {folder / 'r-report.md'}" in done.stderr


@pytest.mark.parametrize("arguments", [["--nosuch"], ["nofile.fio"]])
def test_a_fio_that_fails_is_exit_code_4_and_says_its_own(tmp_path: Path, fio: str, arguments: list[str]) -> None:
    failed = sanpath("run", "--into", "r.sanpath", "--", fio, *arguments, cwd=tmp_path)
    assert failed.returncode == 4
    assert "sanpath: the load command ended with exit code 1" in failed.stderr
    assert f"fio: un{'recognized' if arguments == ['--nosuch'] else 'able to open'}" in failed.stderr
    if arguments == ["nofile.fio"]:  # Below the report, where it can be seen.
        assert failed.stderr.endswith("exit code 1: fio: unable to open 'nofile.fio' job file\n")


def test_the_load_runs_on_this_machine_when_nobody_says_otherwise(folder: Path, diagnosis: dict[str, Any]) -> None:
    assert diagnosis
    shown = sanpath("topology", "r.sanpath", cwd=folder).stdout
    assert f"load:fio on host:{platform.node()}" in shown
    assert "started by sanpath on this machine" in shown


def test_a_test_that_has_ended_is_not_joined_by_another(folder: Path, diagnosis: dict[str, Any], fio: str) -> None:
    assert diagnosis
    again = sanpath("run", "--into", "r.sanpath", "--", fio, "--version", cwd=folder)
    assert again.returncode == 2
    assert again.stderr.splitlines() == [
        f"sanpath: {folder / 'r.sanpath'}: holds a test that has ended; choose another folder with --into"
    ]


def test_a_load_that_fails_before_any_io_is_the_headline(tmp_path: Path, fio: str) -> None:
    done = sanpath("run", "--into", "r.sanpath", "--format", "json", "--", fio, "nosuch.fio", cwd=tmp_path)
    assert done.returncode == 4
    assert "failed with exit code 1 before any I/O" in json.loads(done.stdout)["verdict"]["headline"]


def test_a_load_that_nobody_reads_is_announced(tmp_path: Path) -> None:
    done = sanpath("run", "--into", "r.sanpath", "--", "true", cwd=tmp_path)
    assert "no collector reads the output of true; choose a collector with --load NAME" in done.stderr.splitlines()[0]
