"""Recordings of real kernels, as others get them in the data set, are judged as their labels say."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kernel_lab.cases import Case, Truth
from kernel_lab.named_cases import CASES
from kernel_lab.outcome import outcome
from sanpath.cli import app

DATA_SETS = [Path(__file__).parent / name for name in ("cases.tar.xz", "kvm-cases.tar.xz")]
"""Written by `lab.py dataset`; a few cases of each transport, and those of virtual machines."""


@cache
def _labels() -> dict[str, dict[str, Any]]:
    """Name of a case → its label."""
    labels: list[dict[str, Any]] = []
    for data_set in DATA_SETS:
        with tarfile.open(data_set) as tar:
            file = tar.extractfile("kernel-lab/labels.json")
            assert file is not None
            labels += json.load(file)
    return {label["recording"].removesuffix(".sanpath"): label for label in labels}


def _case(name: str) -> Case:
    """The case with its elements as the recording names them, which may have other names than the lab."""
    label = _labels()[name]
    return replace(CASES[name], truth=Truth(tuple(label["kinds"]), tuple(label["elements"])))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each recording where the lab has it: in a folder of its case."""
    extracted = tmp_path_factory.mktemp("data-set")
    for data_set in DATA_SETS:
        with tarfile.open(data_set) as tar:
            tar.extractall(extracted, filter="data")
    for recording in (extracted / "kernel-lab").glob("*.sanpath"):
        (extracted / recording.stem).mkdir()
        recording.rename(extracted / recording.stem / recording.name)
    return extracted


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """To start a process takes longer than the diagnosis."""

    def said(*words: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(CliRunner().invoke(app, [*words, "--format", "json"]).stdout)
        return document

    monkeypatch.setattr("kernel_lab.outcome._sanpath", said)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("name", _labels())
def test_a_recorded_case_is_judged_as_it_is_labelled(folder: Path, name: str) -> None:
    judged = outcome(_case(name), folder)
    assert judged.right, str(judged)


def test_an_array_that_limits_is_on_the_path_that_is_drawn(folder: Path) -> None:
    summary = outcome(CASES["nvme-fc-target-cap"], folder).document["summary"]
    assert "array:array1" in [element["entity"] for element in summary["path"]]


def test_the_recordings_are_of_every_transport() -> None:
    assert {label["transport"] for label in _labels().values()} == {case.transport for case in CASES.values()}
