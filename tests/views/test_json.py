"""The JSON object against its schema and against the contract, key by key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.views import json as view
from tests.support.stories import STORIES, diagnosed

ROOT = Path(__file__).parents[2]

KINDS = {
    *("bottleneck", "concurrency_limited", "demand_limited", "generator_limited", "configured_cap", "healthy"),
    "cannot_tell",
}
LAYERS = {"load", "guest", "host", "fabric", "array_front", "array_back"}

RUN = {"id", "tool_version", "rulebook_version", "start", "end"}
STEP = {"name", "start", "end", "origin", "directions", "in_flight", "windows_used", "valid", "verdict"}
DIRECTION = {"ops_per_second", "bytes_per_second", "latency_seconds"}
LATENCY = {"mean", "p50", "p95", "p99", "max", "histogram"}
VERDICT = {"kind", "grade", "from_step", "headline", "bottlenecks", "knee_in_flight", "r0", "next"}
BOTTLENECK = {
    *("entity", "kind", "layer", "direction", "utilisation", "ceiling_bytes_per_second", "ceiling_ops_per_second"),
    *("coincident", "limited_by", "wait_at", "culprit", "victims", "explains", "because", "overturn_if"),
}
NEXT = {"entity", "predicted_ops_per_second", "predicted_latency_seconds"}
BUDGET = {"step", "direction", "lun", "total_seconds", "parts", "unexplained_seconds"}
PART = {"plane", "layer", "entity", "seconds", "limited_by"}
FINDING = {
    *("rule", "role", "severity", "entity", "direction", "steps", "outcome", "evidence", "summary", "gain", "fix"),
}
FIX = {"platform", "commands", "scope", "disruption", "verify", "undo"}
CLEARED = {"entity", "up_to", "because"}
UNOBSERVED = {"what", "why", "consequence"}
SOURCE = {"name", "kind", "polls", "failures", "gaps", "clock_offset_seconds", "cost_seconds"}


def printed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(view.render(diagnosed(name)))
    return found


@pytest.fixture(params=sorted(STORIES))
def story(request: pytest.FixtureRequest) -> dict[str, Any]:
    return printed(str(request.param))


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return view.schema(Diagnosis, "diagnosis")


def test_it_fits_its_schema(story: dict[str, Any], schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(schema).validate(story)


def test_the_published_schema_is_this_one(schema: dict[str, Any]) -> None:
    path = ROOT / "docs" / "diagnosis.schema.json"
    assert json.loads(path.read_text(encoding="utf-8")) == schema, "run make docs"


def test_the_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("breach", [{"verdict": None}, {"steps": "none"}])
def test_what_is_no_diagnosis_does_not_fit_it(
    story: dict[str, Any], schema: dict[str, Any], breach: dict[str, Any]
) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({**story, **breach})


def test_every_key_of_the_contract_is_there(story: dict[str, Any]) -> None:
    assert story["schema"] == "sanpath.diagnosis/1"
    assert set(story["run"]) >= RUN
    assert set(story["verdict"]) >= VERDICT
    assert set(story["verdict"]["r0"]) >= {"seconds", "from_step"}
    for key, keys in (("steps", STEP), ("latency_budget", BUDGET), ("findings", FINDING), ("cleared", CLEARED)):
        assert all(set(entry) >= keys for entry in story[key]), key
    for key, keys in (("unobserved", UNOBSERVED), ("sources", SOURCE)):
        assert all(set(entry) >= keys for entry in story[key]), key
    for step in story["steps"]:
        assert set(step["in_flight"]) >= {"configured", "measured"}
        assert set(step["verdict"]) >= {"kind", "grade", "bottlenecks"}
        assert set(step["directions"]) <= {"read", "write"}
        for result in step["directions"].values():
            assert set(result) >= DIRECTION
            assert set(result["latency_seconds"]) >= LATENCY
    for bottleneck in (
        *story["verdict"]["bottlenecks"],
        *(b for s in story["steps"] for b in s["verdict"]["bottlenecks"]),
    ):
        assert set(bottleneck) >= BOTTLENECK
    assert all(set(part) >= PART for budget in story["latency_budget"] for part in budget["parts"])
    assert all(set(fix) >= FIX for finding in story["findings"] for fix in finding["fix"])
    assert story["verdict"]["next"] is None or set(story["verdict"]["next"]) >= NEXT


def test_words_come_from_closed_lists(story: dict[str, Any]) -> None:
    verdicts = [story["verdict"], *(s["verdict"] for s in story["steps"])]
    assert {v["kind"] for v in verdicts} <= KINDS
    assert {v["grade"] for v in verdicts} <= {"A", "B", "C"}
    assert {b["layer"] for v in verdicts for b in v["bottlenecks"]} <= LAYERS
    assert {p["layer"] for b in story["latency_budget"] for p in b["parts"]} <= LAYERS
    assert {f["outcome"] for f in story["findings"]} <= {"hit", "unknown"}
    assert {s["origin"] for s in story["steps"]} <= {"marks", "found", "whole run"}


def test_the_verdict_is_that_of_the_step_it_names(story: dict[str, Any]) -> None:
    verdict = story["verdict"]
    step = next(s for s in story["steps"] if s["name"] == verdict["from_step"])
    assert (verdict["kind"], verdict["grade"]) == (step["verdict"]["kind"], step["verdict"]["grade"])
    fastest = max(sum(d["bytes_per_second"] for d in s["directions"].values()) for s in story["steps"])
    local = sum(d["bytes_per_second"] for d in step["directions"].values())
    assert local >= 0.97 * fastest


def test_entities_are_kind_and_name_and_times_are_utc(story: dict[str, Any]) -> None:
    named = [c["entity"] for c in story["cleared"]] + [
        p["entity"] for b in story["latency_budget"] for p in b["parts"]
    ]
    assert all(entity.partition(":")[0] and entity.partition(":")[2] for entity in named)
    assert all(s[key].endswith("Z") for s in (story["run"], *story["steps"]) for key in ("start", "end"))


def test_ratios_are_ratios_and_latencies_are_seconds() -> None:
    found = printed("published")
    (bottleneck,) = found["verdict"]["bottlenecks"]
    assert bottleneck["utilisation"] == pytest.approx(0.977, abs=0.001)
    assert bottleneck["ceiling_bytes_per_second"] == pytest.approx(412.7e6, rel=0.001)
    last = found["steps"][-1]["directions"]["read"]
    assert last["latency_seconds"]["mean"] == pytest.approx(0.128, rel=0.001)
    assert last["latency_seconds"]["p50"] is None
    assert last["latency_seconds"]["histogram"] is None
    assert found["run"]["complete"] is True


def test_intervals_are_low_then_high(story: dict[str, Any]) -> None:
    intervals = [p["seconds"] for b in story["latency_budget"] for p in b["parts"]]
    if following := story["verdict"]["next"]:
        intervals += [following["predicted_ops_per_second"], following["predicted_latency_seconds"]]
    assert all(low <= high for low, high in intervals)


def test_directions_without_io_have_no_budget_and_every_total_is_positive(story: dict[str, Any]) -> None:
    moved = {(s["name"], d) for s in story["steps"] for d in s["directions"]}
    assert {(b["step"], b["direction"]) for b in story["latency_budget"]} == moved
    assert all(b["total_seconds"] > 0 for b in story["latency_budget"])
