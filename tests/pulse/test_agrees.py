"""What a pulse says is what a diagnosis says of the same window, whenever it is asked."""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import dataclass

import pytest

from sanpath.facts.fabric.links import link_rows
from sanpath.facts.load.loads import LoadFacts
from sanpath.facts.load.loads_from_samples import load_facts
from sanpath.facts.samples.step_samples import step_samples
from sanpath.facts.time.placement import place_in_time
from sanpath.facts.time.steps import load_steps
from sanpath.model import Step
from sanpath.pulse.link_counters import wiring
from sanpath.pulse.model import Pulse
from sanpath.pulse.newest import Newest
from sanpath.pulse.poll_rounds import NOW
from sanpath.pulse.pulses import Pulses
from sanpath.recording.reading.recording import Recording
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from tests.pulse.support import judged_again
from tests.support.stories import recorded

STORIES = ("published", "mixed", "unequal")
CUTS = 16


@dataclass(frozen=True)
class Watched:
    """A recording, and its pulses at random moments."""

    recording: Recording
    topology: Topology
    pulses: list[tuple[int, Pulse]]


def watched(recording: Recording, cuts: int = CUTS, seed: int = 7) -> Watched:
    """One recording from its begin to its end, with a pulse at so many moments."""
    topology = resolve(recording.inventory())
    links, reported = wiring(topology), judged_again(recording)
    first, last = reported[0][0], reported[-1][0]
    drawn = random.Random(seed)
    moments = iter(sorted(drawn.randint(first, last) for _ in range(cuts)))
    newest, pulses, at = Newest(), [], next(moments)
    current = Pulses(newest)
    for moment, source, item in reported:
        while at is not None and moment > at:
            pulses.append((at, current.pulse(at, recording.started_us, recording.declarations, links)))
            at = next(moments, None)
        newest.take(source, item)
    return Watched(recording, topology, pulses)


def diagnosed(
    result: Watched, began_us: int, ended_us: int, at: int
) -> tuple[list[LoadFacts], dict[tuple[str, str], float]]:
    """The facts of a window: of the load, and the utilisation of each direction of a link."""
    with closing(result.recording.connect()) as connection:
        events = place_in_time(result.recording, connection).events
        here = [s for s in load_steps(events, 0, at) if s.start <= at <= s.end] or [None]
        loads = here[0].loads if here[0] is not None else ()
        step = Step(NOW, began_us, ended_us, "marks", loads, here[0].offered if here[0] else None)
        samples = {kind: step_samples(result.recording, connection, kind, [step]) for kind in ("load", "switch_port")}
    facts = load_facts(result.topology, [step], samples["load"])
    rows = link_rows(result.topology, [step], facts, samples)
    return facts, {(row["entity"], row["direction"]): row["utilisation"] for row in rows}


@pytest.fixture(scope="module", params=STORIES)
def story(request: pytest.FixtureRequest) -> Watched:
    return watched(recorded(request.param))


def test_the_load(story: Watched) -> None:
    compared = 0
    for at, pulse in story.pulses:
        if not pulse.loads:
            continue
        facts, _ = diagnosed(story, pulse.began_us, pulse.ended_us, at)
        assert [f.direction for f in pulse.loads] == [f.direction for f in facts]
        for local, theirs in zip(pulse.loads, facts, strict=True):
            for what in ("ops_per_second", "bytes_per_second", "latency_seconds", "in_flight_measured"):
                assert getattr(local, what) == pytest.approx(getattr(theirs, what), rel=1e-9), what
            assert (local.p50_seconds, local.p99_seconds) == (theirs.p50_seconds, theirs.p99_seconds)
        compared += 1
    assert compared >= CUTS // 3


def test_the_links(story: Watched) -> None:
    compared, known = 0, {}
    for at, pulse in story.pulses:
        for link in pulse.links:
            window = link.began_us, link.ended_us
            if window not in known:
                known[window] = diagnosed(story, *window, at)[1]
            used = known[window]
            assert link.utilisation == pytest.approx(used[link.entity, link.direction], rel=1e-9)
            compared += 1
        assert [link.utilisation for link in pulse.links] == sorted(
            (k.utilisation for k in pulse.links), reverse=True
        )
    assert compared >= CUTS


def test_the_step(story: Watched) -> None:
    """Whose name it is, and since when: of marks with and without a ramp."""
    begins = sorted((e.seen, str(e.detail["step"])) for _, e in story.recording.events() if e.name == "step-begin")
    ends = sorted(e.seen for _, e in story.recording.events() if e.name == "step-end")
    for at, pulse in story.pulses:
        begun = [(seen, name) for seen, name in begins if seen <= at]
        over = bool(begun) and any(begun[-1][0] <= seen <= at for seen in ends)
        expected = (begun[-1][1], (at - begun[-1][0]) / 1e6) if begun and not over else ("", 0.0)
        assert (pulse.step, pulse.step_seconds) == expected
