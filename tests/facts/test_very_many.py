"""A source with very many samples keeps the windows of what matters; the diagnosis is the one of all windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.facts.compute import compute
from sanpath.facts.samples import sample_arrays, step_samples
from sanpath.recording.reading.recording import Recording
from sanpath.views.json import render
from tests.benchmarks.large_recording import SITE, large_recording


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many") / "site.sanpath"
    large_recording(folder, ports=120, polls=100)
    return folder


@pytest.fixture(scope="module")
def of_all_windows(folder: Path) -> str:
    return render(diagnose(Recording(folder)))


def kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many ports of the site have windows of their own."""
    kept: list[step_samples.StepSamples] = []
    original = step_samples.step_samples

    def seen(*arguments: object, **named: object) -> list[step_samples.StepSamples]:
        found = original(*arguments, **named)  # type: ignore[arg-type]  # as it is called
        kept.extend(sample for sample in found if sample.source == SITE and sample.seconds)
        return found

    with monkeypatch.context() as patch:
        patch.setattr("sanpath.facts.inputs.step_samples", seen)
        compute(Recording(folder))
    return len({sample.entity for sample in kept})


def test_a_long_run_keeps_the_windows_of_the_busiest_only(
    folder: Path, of_all_windows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept(folder, monkeypatch) == 120
    monkeypatch.setattr(
        step_samples, "_MAX_DETAILED_DIFFERENCES", 10_000
    )  # Twelve ports of a hundred polls, of eight counters that are known.
    assert kept(folder, monkeypatch) == 12
    assert render(diagnose(Recording(folder))) == of_all_windows


@pytest.mark.parametrize("values", [200_000, 30_000, 1_000])
def test_into_how_many_parts_it_is_cut_makes_no_difference(
    folder: Path, of_all_windows: str, monkeypatch: pytest.MonkeyPatch, values: int
) -> None:
    monkeypatch.setattr(step_samples, "_MAX_DETAILED_DIFFERENCES", 10_000)
    monkeypatch.setattr(sample_arrays, "_MAX_VALUES", values)
    assert render(diagnose(Recording(folder))) == of_all_windows
