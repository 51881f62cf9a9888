"""What must hold for every recording, whatever it holds and whatever is missing."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnosis.experiment import Experiment
from sanpath.diagnosis.model import Diagnosis
from sanpath.facts.compute import compute
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.units import percent
from sanpath.verdict.places.host_queues import DEPTH_ERROR
from sanpath.verdict.places.table import place_tables
from sanpath.views import json, markdown, progress, terminal_report
from sanpath_collectors.fio.tables import LOAD
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT, HOST_PORT, KIB, AtArray, Flow, San
from tests.support.stories import OTHER_HOST, SECOND_HBA, SECOND_TARGET, STORIES, diagnosed, fast, judged, recorded


def random_san(folder: Path, rng: random.Random) -> San:
    """Numbers that need not fit together, in one to three short steps."""
    some = (SECOND_HBA, OTHER_HOST, SECOND_TARGET)
    ports = [fast(p, rng.choice([4, 8, 16])) for p in (HOST_PORT, ARRAY_PORT, *rng.sample(some, rng.randrange(4)))]
    left_out = {part for part in ("switch", "array", "array_samples", "disk", "steps") if rng.random() < 0.15}
    san = San(folder, ports=ports, leave_out=left_out)
    for number in range(rng.randrange(1, 4)):
        flows = {d: Flow(rng.uniform(0.5, 5e4), 10 ** rng.uniform(-4, 0)) for d in ("read", "write")}
        if rng.random() < 0.5:
            del flows[rng.choice(["read", "write"])]
        san.step(
            f"s{number}",
            rng.choice([1, 16, 800]),
            block=rng.choice([512, 8 * KIB, 64 * KIB, 1024 * KIB]),
            read=flows.get("read"),
            write=flows.get("write"),
            ports={p.name: (rng.uniform(0, 2e9), rng.uniform(0, 2e9)) for p in ports},
            disk={d: Flow(f.ops * rng.choice([1, 0.5]), rng.uniform(0, 2) * f.latency) for d, f in flows.items()},
            array={
                d: AtArray(10 ** rng.uniform(-5, -1), rng.choice([None, 0.001]), rng.random() / 100) for d in flows
            },
            seconds=rng.choice([1, 3, 8]),
            cpu=rng.random(),
            rate_limited=rng.random() < 0.2,
        )
    return san


def check(found: Diagnosis) -> None:
    """What a user may rely on."""
    for budget in found.latency_budget:
        parts = sum(sum(p.seconds) / 2 for p in budget.parts) + sum(budget.unexplained_seconds) / 2
        assert budget.total_seconds > 0
        assert parts == pytest.approx(budget.total_seconds, rel=1e-9, abs=1e-9)
        assert all(p.seconds[0] >= 0 for p in budget.parts)
    for bottleneck in found.verdict.bottlenecks:
        assert bottleneck.utilisation is None or 0 <= bottleneck.utilisation <= 1.05
        assert bottleneck.explains is None or 0 <= bottleneck.explains <= 1
        assert bottleneck.because
    assert (found.verdict.kind in ("bottleneck", "configured_cap")) == bool(found.verdict.bottlenecks)
    assert found.verdict.kind != "cannot_tell" or found.verdict.decide_with
    limiting = {b.entity for s in found.steps for b in s.verdict.bottlenecks}
    assert not limiting & {c.entity for c in found.cleared}
    at_one_with_itself(found)
    assert terminal_report.render(found, 100)
    assert markdown.render(found)
    assert json.render(found)
    assert progress.line(found)


def by_bayes(experiment: Experiment) -> None:
    """What its outcomes mean comes to what is known now, in the mean over the outcomes; and it tells something."""
    now = sum(m.probability for m in experiment.meanings)
    assert sum(m.if_seen for m in experiment.meanings) == pytest.approx(1)
    assert sum(m.if_not for m in experiment.meanings) in (pytest.approx(1), pytest.approx(0))
    spread = [(m.if_seen, m.if_not, m.probability / now) for m in experiment.meanings]
    assert all(min(seen, unseen) - 1e-9 <= before <= max(seen, unseen) + 1e-9 for seen, unseen, before in spread)
    # Beside a suspect that is as good as certain no other is listed.
    assert len(spread) == 1 or any(abs(seen - unseen) > 1e-6 for seen, unseen, _ in spread)


NOTHING_LIMITS = ("concurrency_limited", "demand_limited", "healthy")


def at_one_with_itself(found: Diagnosis) -> None:
    """What verdict, findings, waterfall and cleared list say of each other."""
    verdict = found.verdict
    probabilities = [suspect.probability for suspect in verdict.suspects]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1 + 1e-9
    assert all(each.in_flight is None or each.in_flight >= 1 for each in verdict.experiments)
    if verdict.experiment is not None:
        assert verdict.experiment.in_words == verdict.decide_with
        by_bayes(verdict.experiment)
    for finding in found.findings:
        if finding.in_this_run == "it limits this run":
            assert verdict.bottlenecks or verdict.kind in NOTHING_LIMITS or verdict.kind == "generator_limited"
        if verdict.bottlenecks and verdict.bottlenecks[0].entity == finding.entity:
            assert not (finding.in_this_run or "").startswith("it does not limit")
    for bottleneck in verdict.bottlenecks[:1]:
        if bottleneck.kind == "link" and bottleneck.utilisation is not None and " counted of " in verdict.headline:
            assert percent(bottleneck.utilisation) in verdict.headline
            assert f"in the {bottleneck.direction} direction" in verdict.headline
    for bottleneck in verdict.bottlenecks[:1]:
        assert bottleneck.kind in [s.kind for s in verdict.suspects if s.entity == bottleneck.entity]
    off_path = {element.entity for element in found.summary.off_path}
    for bottleneck in verdict.bottlenecks[:1]:
        # The path that is drawn is one that crosses what the first line names.
        assert bottleneck.entity not in off_path or off_path.issuperset(bottleneck.coincident)
    suspected = {suspect.entity for suspect in verdict.suspects if suspect.probability >= 0.05}
    assert verdict.kind in NOTHING_LIMITS or not suspected & {cleared.entity for cleared in found.cleared}
    step = next((s for s in found.steps if s.name == verdict.from_step), None)
    if step is None:
        return
    # The headline is about the direction in which the I/Os in flight spend their time.
    flying = {name: one.ops_per_second * one.latency_seconds.mean for name, one in step.directions.items()}
    for bottleneck in verdict.bottlenecks[:1]:
        assert flying[bottleneck.direction] >= 0.7 * max(flying.values())
    if verdict.kind in NOTHING_LIMITS:
        for budget in found.latency_budget:
            if budget.step == step.name and flying[budget.direction] == max(flying.values()):
                queued = sum(sum(p.seconds) / 2 for p in budget.parts if p.what.startswith(("waits", "queue", "QoS")))
                assert queued <= 0.25 * budget.total_seconds


def waits_fit_their_segments(recording: Recording) -> None:
    """No wait is shorter than is certain, or longer than its segment, and no more I/Os are below a queue than have a
    slot."""
    facts = compute(recording)
    for table in place_tables(facts, facts.loads):
        for index, segment in enumerate(table.segments):
            for low, likely, high in (segment.wait, segment.own_wait, segment.independent_wait):
                assert 0 <= low <= likely <= high
            if segment.queue is not None and segment.slots and segment.queue.in_slots is None:
                below = table.segments[index + 1 :]
                # What clocks say for certain stands, even if they contradict the number of slots.
                least = sum(each.seconds[0] for each in below)
                most = max(least, (1 + DEPTH_ERROR) * segment.slots / table.load.ops_per_second)
                assert segment.queue.above_parts or all(each.seconds[1] <= most + 1e-12 for each in below)


@pytest.mark.parametrize("seed", range(25))
def test_recordings_of_random_numbers(tmp_path: Path, seed: int) -> None:
    recording = random_san(tmp_path, random.Random(seed)).write(ended=seed % 2 == 0)
    check(judged(recording))
    waits_fit_their_segments(recording)


@pytest.mark.parametrize("name", STORIES)
def test_every_story(name: str) -> None:
    check(diagnosed(name))
    waits_fit_their_segments(recorded(name))


PIECES = [
    "events",
    "polls",
    "inventory",
    "samples/load",
    "samples/lun",
    "samples/switch_port",
    "samples/array",
    "writers",
]


@pytest.mark.parametrize("seed", range(14))
def test_pieces_that_are_missing_or_damaged(tmp_path: Path, seed: int) -> None:
    """Files that were lost, and files that were cut: it is told, and the rest is judged."""
    rng = random.Random(seed)
    folder = tmp_path / "copy"
    shutil.copytree(recorded("published").folder, folder)
    damaged = set()
    for piece in rng.sample(PIECES, rng.randrange(1, 5)):
        if rng.random() < 0.5 or piece == "writers":
            shutil.rmtree(folder / piece)
            continue
        for path in (folder / piece).glob("*.parquet"):
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            damaged.add(path.name)
    found = judged(Recording(folder))
    check(found)
    reported_of = {u.what for u in found.unobserved}
    assert all(any(name in what for what in reported_of) for name in damaged)


def test_an_empty_recording_says_that_there_is_nothing_to_judge(tmp_path: Path) -> None:
    layout.create(tmp_path)
    found = judged(Recording(tmp_path))
    check(found)
    assert found.verdict.kind == "cannot_tell"
    assert "nothing can be judged" in found.verdict.headline


def test_a_run_that_has_only_just_begun(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("fio", "fio", LOAD)
    out.event("fio", 1, "step-begin", step="a", group=0, loads="fio/a", offered=4)
    out.samples("fio", LOAD, 1, {"fio/a": {"ops_read_total": 0}})
    found = judged(out.write(ended=False))
    check(found)
    (step,) = found.steps
    assert step.directions == {}
    assert progress.NO_IO in progress.line(found)


def test_a_load_without_byte_counters_is_judged(tmp_path: Path) -> None:
    """Some load generators count operations only: their bytes follow from the block size."""
    found = judged(STORIES["published"](San(tmp_path, counts_bytes=False)).write())
    check(found)
    assert found.verdict == diagnosed("published").verdict


def test_a_load_without_bytes_and_block_size_is_judged_by_what_the_link_reads(tmp_path: Path) -> None:
    san = STORIES["published"](San(tmp_path, counts_bytes=False))
    san.steps = [replace(step, block=0) for step in san.steps]
    found = judged(san.write())
    check(found)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.entity == "link:esx7/vmhba2--sw1/fc1/7"
    assert (bottleneck.ceiling_bytes_per_second, bottleneck.ceiling_ops_per_second) == (None, None)


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_a_source_that_gave_nothing_is_named(tmp_path: Path, outcome: str) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("fa1", "flasharray", LOAD)
    for at in range(5):
        out.poll("fa1", at, "failed" if outcome == "failed" else "skipped", message="login refused")
    found = judged(out.write())
    check(found)
    (unseen,) = [u for u in found.unobserved if "fa1" in u.what]
    assert unseen.why == "login refused"
    (account,) = found.sources
    assert (account.failures, account.gaps) == ((5, 0) if outcome == "failed" else (0, 5))


def test_a_source_that_was_never_polled_is_named(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("fa1", "flasharray", LOAD)
    found = judged(out.write())
    assert any(u.what == "source fa1" for u in found.unobserved)
