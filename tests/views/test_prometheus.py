"""What a Prometheus server gets: names and values from the diagnosis, text that parses whatever names there are."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

from sanpath.diagnosis.model import Diagnosis
from sanpath.views.live.reading.snapshot import SILENT_SECONDS, Snapshot
from sanpath.views.prometheus.exporter import EXPORTER_METRICS, SnapshotCollector
from sanpath.views.prometheus.exposition import LABEL_CHARACTERS, MAX_SERIES, render
from sanpath.views.prometheus.metric_declarations import METRICS
from tests.support.stories import STORIES, diagnosed

ROOT = Path(__file__).parents[2]
NASTY = '"} 1\nforged_metric{a="b\\" </script> \x1b[2J\u202e\u200b\x00\ud800 =cmd()'

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series(text: str) -> Series:
    found: Series = {}
    for family in parse(text):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, f"a server refuses a scrape with two of {key}"
            found[key] = sample.value
    return found


def values(found: Series, name: str) -> list[tuple[dict[str, str], float]]:
    return [(dict(labels), value) for (metric, labels), value in found.items() if metric == name]


def scraped(snapshot: Snapshot) -> str:
    """What an exporter gives that has looked, as OpenMetrics."""
    shown, registry = SnapshotCollector(), CollectorRegistry()
    shown.snapshot = snapshot
    registry.register(shown)
    text: str = openmetrics(registry).decode()
    return text


def test_the_verdict_its_bottleneck_and_the_newest_step() -> None:
    diagnosis = diagnosed("published")
    found = series(render(diagnosis))
    kinds = {labels["kind"]: value for labels, value in values(found, "sanpath_verdict")}
    assert [kind for kind, value in kinds.items() if value] == ["bottleneck"]
    assert len(kinds) == 7
    [(labels, _)] = values(found, "sanpath_bottleneck_info")
    bottleneck = diagnosis.verdict.bottlenecks[0]
    assert labels == {
        "entity": bottleneck.entity,
        "entity_kind": bottleneck.kind,
        "layer": "fabric",
        "direction": "read",
    }
    assert values(found, "sanpath_step_info") == [({"step": "t800"}, 1)]
    [(_, latency)] = values(found, "sanpath_load_latency_seconds")
    assert latency == pytest.approx(0.128)
    [(_, bandwidth)] = values(found, "sanpath_load_bytes_per_second")
    assert bandwidth == pytest.approx(6250 * 65536)
    assert {labels["rule"] for labels, _ in values(found, "sanpath_finding_info")} >= {"link-full"}


def test_the_parts_of_the_latency_are_all_there_and_sum_up() -> None:
    found = series(render(diagnosed("published")))
    parts = sum(value for _, value in values(found, "sanpath_latency_part_seconds"))
    [(_, rest)] = values(found, "sanpath_latency_unexplained_seconds")
    assert parts + rest == pytest.approx(0.128)


def test_what_is_not_known_has_no_series() -> None:
    found = series(render(diagnosed("array_not_observed")))
    assert not [labels for labels, _ in values(found, "sanpath_latency_part_seconds") if labels["plane"] == "array"]
    assert all(value == value for value in found.values()), "not a number"


@pytest.mark.parametrize("name", sorted(STORIES))
def test_only_declared_metrics_and_labels(name: str) -> None:
    labels = {f"sanpath_{m.name}{'_info' if m.kind == 'info' else ''}": set(m.labels) for m in METRICS}
    found = series(render(diagnosed(name)))
    assert found
    for metric, shown in found:
        assert {label for label, _ in shown} == labels[metric]


def test_every_metric_is_documented_and_has_its_unit_and_kind_in_its_name() -> None:
    page = (ROOT / "docs" / "prometheus.md").read_text(encoding="utf-8")
    for metric in METRICS:
        assert f"`sanpath_{metric.name}" in page
        assert (metric.kind == "counter") == metric.name.endswith("_total")
        assert not re.search(r"_(ms|us|kb|mb|percent|millis\w*|bits)(_|$)", metric.name)
    assert all(f"`{name}`" in page for name in EXPORTER_METRICS)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
@pytest.mark.parametrize("name", sorted(STORIES))
def test_promtool_has_nothing_to_say(name: str) -> None:
    command = ["promtool", "check", "metrics"]
    done = subprocess.run(command, input=render(diagnosed(name)), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def with_names(diagnosis: Diagnosis, more: str) -> Diagnosis:
    """The same with something added to every name."""
    return replace(
        diagnosis,
        run=replace(diagnosis.run, id=more),
        steps=[replace(s, name=s.name + more) for s in diagnosis.steps],
        verdict=replace(
            diagnosis.verdict,
            bottlenecks=[replace(b, entity=b.entity + more) for b in diagnosis.verdict.bottlenecks],
        ),
        latency_budget=[
            replace(
                b,
                lun=b.lun + more,
                step=b.step + more,
                parts=[replace(p, entity=more, what=p.what + more) for p in b.parts],
            )
            for b in diagnosis.latency_budget
        ],
        findings=[replace(f, entity=f.entity + more, direction=more) for f in diagnosis.findings],
        elements=[replace(e, entity=e.entity + more, step=e.step + more) for e in diagnosis.elements],
        sources=[replace(s, name=s.name + more) for s in diagnosis.sources],
    )


def test_names_forge_no_metric_and_reach_nobody_s_terminal() -> None:
    tame, nasty = render(diagnosed("published")), render(with_names(diagnosed("published"), NASTY))
    assert len(series(nasty)) == len(series(tame))
    assert not any(metric.startswith("forged") for metric, _ in series(nasty))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u200b\u202e\ud800]", nasty)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.text(max_size=300), min_size=2, max_size=4))
def test_any_names_parse_in_both_formats_and_no_series_comes_twice(names: list[str]) -> None:
    diagnosis = diagnosed("published")
    used = [e for e in diagnosis.elements if e.step == "t800"]
    elements = [replace(e, entity=name) for name in names for e in used]
    sources = [replace(diagnosis.sources[0], name=name) for name in names]
    named = replace(diagnosis, elements=elements, sources=sources)
    found = series(render(named))
    assert len(values(found, "sanpath_source_polls_total")) == len(names)
    assert all(len(value) <= LABEL_CHARACTERS + 5 for _, labels in found for _, value in labels)
    text = scraped(Snapshot(time.time(), named, newest=time.time()))
    assert {family.name for family in parse_openmetrics(text)} >= {"sanpath_verdict", "sanpath_source_polls"}


def test_the_series_of_a_huge_fabric_are_bounded_and_the_loaded_path_stays() -> None:
    diagnosis = diagnosed("published")
    [hot, *_] = [e for e in diagnosis.elements if e.step == "t800" and e.on_loaded_path]
    idle = [replace(hot, entity=f"link:{n}", on_loaded_path=False, utilisation=0.9) for n in range(MAX_SERIES + 10)]
    found = series(render(replace(diagnosis, elements=[*idle, hot])))
    shown = values(found, "sanpath_element_utilisation_ratio")
    assert len(shown) == MAX_SERIES
    assert hot.entity in {labels["entity"] for labels, _ in shown}
    left_out = {labels["metric"]: value for labels, value in values(found, "sanpath_series_left_out")}
    assert left_out["sanpath_element_utilisation_ratio"] == 11


def numbers(text: str) -> dict[str, Any]:
    return {sample.name: sample.value for family in parse_openmetrics(text) for sample in family.samples}


def snapshots() -> list[tuple[Snapshot, float, float]]:
    now, diagnosis = 1_000_000.0, diagnosed("published")
    return [
        (Snapshot(now, None, "there is no such recording"), 0, 0),
        (Snapshot(now, diagnosis, newest=now - 1), 1, 0),
        (Snapshot(now, diagnosis, newest=now - SILENT_SECONDS - 1), 0, 1),
        (Snapshot(now, diagnosis, ended=True, newest=now - SILENT_SECONDS - 1), 1, 0),
    ]


@pytest.mark.parametrize(
    ("seen", "up", "silent"), snapshots(), ids=["nothing yet", "a run", "recorder killed", "ended"]
)
def test_old_numbers_are_never_shown_as_if_they_were_of_now(seen: Snapshot, up: float, silent: float) -> None:
    found = numbers(scraped(seen))
    assert (found["sanpath_up"], found["sanpath_recorder_silent"]) == (up, silent)
    assert ("sanpath_verdict" in found) == bool(up)
