from __future__ import annotations

import json
from pathlib import Path

import pytest

from real_lab import network, state, system
from real_lab.cases import CASES
from real_lab.lifecycle import down, up
from real_lab.state import LabError, State


def test_a_saved_state_is_read_back_whole(tmp_path: Path) -> None:
    saved = State("srl-3fa9c1", "slow-port", "10.213.0.0/24")
    state.save(saved, tmp_path)
    assert state.load(tmp_path) == saved
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_a_folder_without_a_lab_has_none_and_down_does_nothing(tmp_path: Path) -> None:
    assert state.load(tmp_path) is None
    down(tmp_path)


def test_names_fit_what_linux_allows_for_an_interface() -> None:
    lab = State(state.new_lab_name(), "slow-port", "10.213.0.0/24")
    assert len(lab.management_interface) <= 15
    assert set(lab.namespaces) == {"host", "switch", "array"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"lab": "srl-1"}'])
def test_a_damaged_state_says_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(LabError, match="down --all"):
        down(tmp_path)


def test_a_state_that_names_something_else_is_refused(tmp_path: Path) -> None:
    content = {"lab": "eth0", "case": "slow-port", "management_network": "10.213.0.0/24"}
    (tmp_path / "state.json").write_text(json.dumps(content))
    with pytest.raises(LabError, match="not the name of a lab"):
        down(tmp_path)
    with pytest.raises(LabError, match="not the name of a lab"):
        network.remove("eth0")


def test_a_folder_with_somebody_elses_files_is_left_alone(tmp_path: Path) -> None:
    local = tmp_path / "sanpath.yaml"
    local.write_text("sources: []\n")
    with pytest.raises(LabError, match="not empty"):
        up(CASES["slow-port"], tmp_path)
    assert local.read_text() == "sources: []\n"


def test_processes_are_found_by_their_lab_and_ended(tmp_path: Path) -> None:
    lab = state.new_lab_name()
    system.start(["sleep", "60"], lab=lab, log_file=tmp_path / "log")
    system.start(["sh", "-c", "trap '' TERM; sleep 60 & wait"], lab=lab, log_file=tmp_path / "log")

    def found() -> set[int]:
        return system.processes_of(lambda name: name == lab)

    assert len(found()) >= 2
    system.stop(found)
    assert found() == set()
