"""A mistake in a plan is one line and exit code 2, before anything is started; writing needs to be allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import SanpathError
from tests.recorder.processes import sanpath

GOOD = "target: {filename: /dev/null}\nload: {in_flight: 4}\n"

MISTAKES = {
    "no load": ("target: {filename: a}\n", "load: is required"),
    "no target": ("load: {in_flight: 4}\n", "target: is required"),
    "unknown key": (GOOD + "budgett: {}\n", "did you mean budget?"),
    "unknown key inside": (GOOD + "budget: {byte: 4}\n", "did you mean bytes?"),
    "unknown experiment": (GOOD + "experiments: [reboot]\n", "experiments.0"),
    "more than the budget": (GOOD + "budget: {in_flight: 2}\n", "is more than budget.in_flight (2)"),
    "no time for a step": (GOOD + "budget: {seconds: 10}\n", "is shorter than one step"),
    "an option of the budget": (GOOD + "fio: {rate: 1g}\n", "fio.rate: follows from the plan"),
    "a share of threads": (GOOD.replace("4}", "4, threads: 3}"), "give a multiple of 3"),
    "a range without a block": (GOOD.replace("4}", "4, working_set_bytes: 4k}"), "less than one block"),
    "a host twice": (GOOD + "hosts: [local, local]\n", "a host is named twice"),
    "paths of two targets": (
        GOOD.replace("/dev/null", "[a, b]") + "paths: [c]\n",
        "paths: are those of one target",
    ),
    "writes": (GOOD.replace("4}", "4, read_ratio: 0.7}"), "allow it: --allow-writes"),
    "files to make": ("target: {directory: /tmp}\nload: {in_flight: 4, working_set_bytes: 1g}\n", "--allow-writes"),
}


@pytest.mark.parametrize(("text", "answer"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(tmp_path: Path, text: str, answer: str) -> None:
    (tmp_path / "plan.yaml").write_text(text)
    result = CliRunner().invoke(app, ["probe", str(tmp_path / "plan.yaml")])
    assert isinstance(result.exception, SanpathError)
    assert result.exception.exit_code == 2
    assert answer in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.slow
def test_a_mistake_is_one_line_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(GOOD + "budgett: {}\n")
    done = sanpath("probe", "plan.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("sanpath: ")
    assert "plan.yaml:3" in done.stderr
    assert not list(tmp_path.glob("*.sanpath"))


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["--objective", "p98<=2ms"], "--objective: 'p98<=2ms' is not an objective"),
        (["--knee", "--objective", "p99<=2ms"], "one of --after, --knee and --objective"),
    ],
)
def test_mistakes_of_options(tmp_path: Path, options: list[str], answer: str) -> None:
    (tmp_path / "plan.yaml").write_text(GOOD)
    result = CliRunner().invoke(app, ["probe", str(tmp_path / "plan.yaml"), *options])
    assert isinstance(result.exception, SanpathError)
    assert (result.exception.exit_code, answer in str(result.exception)) == (2, True)


def test_print_shows_every_step_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(GOOD + "experiments: [more_in_flight, smaller_blocks]\n")
    result = CliRunner().invoke(app, ["probe", str(tmp_path / "plan.yaml"), "--print"])
    commands = [line for line in result.output.splitlines() if line.startswith("fio ")]
    assert ["--iodepth=4" in line for line in commands] == [True, False, True]
    assert "--iodepth=8" in commands[1]
    assert "--bs=32768" in commands[2]
    assert all("--readonly" in line for line in commands)


def test_one_path_is_the_same_load_on_another_device(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(GOOD + "paths: [/dev/sdb, /dev/sdc]\nexperiments: one_path\n")
    result = CliRunner().invoke(app, ["probe", str(tmp_path / "plan.yaml"), "--print"])
    start, one_path = (line for line in result.output.splitlines() if line.startswith("fio "))
    assert "--filename=/dev/null" in start
    assert start.replace("/dev/null", "/dev/sdb") == one_path
