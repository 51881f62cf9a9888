"""Recordings of real kernels, as others get them in the data set, are judged as their labels say."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from kernel_lab.named_cases import CASES
from kernel_lab.outcome import outcome

DATA_SET = Path(__file__).parent / "cases.tar.xz"
"""Written by `lab.py dataset`; a few cases of each transport."""


def _labels() -> list[dict[str, object]]:
    with tarfile.open(DATA_SET) as tar:
        file = tar.extractfile("kernel-lab/labels.json")
        assert file is not None
        labels: list[dict[str, object]] = json.load(file)
    return labels


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each recording where the lab has it: in a folder of its case."""
    extracted = tmp_path_factory.mktemp("data-set")
    with tarfile.open(DATA_SET) as tar:
        tar.extractall(extracted, filter="data")
    for recording in (extracted / "kernel-lab").glob("*.sanpath"):
        (extracted / recording.stem).mkdir()
        recording.rename(extracted / recording.stem / recording.name)
    return extracted


@pytest.mark.parametrize("name", [str(label["recording"]).removesuffix(".sanpath") for label in _labels()])
def test_a_recorded_case_is_judged_as_it_is_labelled(folder: Path, name: str) -> None:
    judged = outcome(CASES[name], folder)
    assert judged.right, str(judged)


def test_an_array_that_limits_is_on_the_path_that_is_drawn(folder: Path) -> None:
    summary = outcome(CASES["nvme-fc-target-cap"], folder).document["summary"]
    assert "array:array1" in [element["entity"] for element in summary["path"]]


def test_the_recordings_are_of_every_transport() -> None:
    assert {label["transport"] for label in _labels()} == {case.transport for case in CASES.values()}
