"""A recording of some kilobytes that names more steps or paths than any test has: it is judged or refused, soon."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.errors import RecordingError
from sanpath.facts.time.steps import MAX_STEPS
from tests.support.recording import RecordingBuilder

SECONDS = 30
"""Each of these took minutes, or gigabytes."""


def with_paths(folder: Path, number: int) -> Path:
    """A host of so many initiators, an array of as many ports, and a switch between them."""
    made = RecordingBuilder(folder)
    for sentence in ("load:fio runs_on host:h", "switch_port:first member_of switch:sw"):
        made.configure_link(sentence)
    for item in range(number):
        for sentence in (
            f"hba:i{item} attached_to host:h",
            f"array_port:t{item} member_of array:a",
            f"switch_port:i{item} member_of switch:sw",
            f"switch_port:t{item} member_of switch:sw",
            f"switch_port:i{item} cabled_to hba:i{item}",
            f"switch_port:t{item} cabled_to array_port:t{item}",
        ):
            made.configure_link(sentence)
        for kind, name in (("hba", "i"), ("array_port", "t"), ("switch_port", "i"), ("switch_port", "t")):
            made.entity("config", kind, f"{name}{item}")
    for kind, name in (("load", "fio"), ("host", "h"), ("switch", "sw"), ("array", "a")):
        made.entity("config", kind, name)
    made.write()
    return folder


def with_steps(folder: Path, number: int, dropped: int = 0) -> Path:
    """So many steps, one after the other; and so many words that a step was cut short."""
    made = RecordingBuilder(folder)
    for step in range(number):
        made.event("fio", 2.0 * step, "step-begin", step=f"s{step}")
        made.event("fio", 2.0 * step + 2, "step-end", step=f"s{step}")
    for step in range(dropped):
        made.event("fio", 2.0 * number, "step-dropped", step=f"s{step}")
    made.write()
    return folder


def diagnosed(folder: Path) -> str:
    began = time.process_time()
    try:
        return CliRunner().invoke(app, ["diagnose", str(folder), "--fail-on", "never"], catch_exceptions=False).output
    finally:
        assert time.process_time() - began < SECONDS


@pytest.mark.slow
def test_the_paths_between_hundreds_of_initiators_and_ports_are_found(tmp_path: Path) -> None:
    assert "cannot tell" in diagnosed(with_paths(tmp_path / "r.sanpath", 300)).lower()


@pytest.mark.slow
def test_millions_of_paths_are_refused(tmp_path: Path) -> None:
    folder = with_paths(tmp_path / "r.sanpath", 700)
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 64 << 10
    with pytest.raises(RecordingError, match="more than 200,000 I/O paths of one load"):
        diagnosed(folder)


@pytest.mark.slow
def test_as_many_steps_as_are_accepted_are_judged(tmp_path: Path) -> None:
    assert f"s{MAX_STEPS - 1}" in diagnosed(with_steps(tmp_path / "r.sanpath", MAX_STEPS))


@pytest.mark.parametrize("dropped", [0, 100])
def test_more_steps_are_refused(tmp_path: Path, dropped: int) -> None:
    folder = with_steps(tmp_path / "r.sanpath", 12_000 + dropped, dropped)
    with pytest.raises(RecordingError, match="marks 12,000 steps: at most 5,000 can be judged"):
        diagnosed(folder)


def test_ten_thousand_words_that_a_step_was_cut_short_cost_little(tmp_path: Path) -> None:
    assert "s9999" in diagnosed(with_steps(tmp_path / "r.sanpath", 10_000, dropped=9_999))
