"""Which step decides the verdict of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.diagnose import judge_recording
from sanpath.diagnosis.model import Suspect
from sanpath.facts.samples.step_samples import MIN_WINDOWS
from sanpath.model import DIRECTIONS
from sanpath.verdict.model import Judgement
from sanpath.verdict.run_verdict import judgement_of_run, judgement_of_steps
from tests.support.san import San
from tests.support.stories import published


@pytest.fixture
def limited(tmp_path: Path) -> Judgement:
    """The judgement of a step with 800 outstanding I/Os, which names a link."""
    _, judgements = judge_recording(published(San(tmp_path)).write())
    found = judgement_of_steps(judgements)
    assert found.bottlenecks
    return found


def undecided(judged: Judgement) -> Judgement:
    """A step that is a fifth faster, and of which nothing is known."""
    load = judged.load
    faster = replace(
        load,
        step="faster",
        ops_per_second=1.2 * load.ops_per_second,
        bytes_per_second=1.2 * load.bytes_per_second,
        latency_seconds=load.latency_seconds / 1.2,
    )
    return replace(judged, load=faster, kind="cannot_tell", grade="C", bottlenecks=())


def test_a_step_that_shows_a_limit_decides_beside_a_faster_one_that_shows_none(limited: Judgement) -> None:
    assert judgement_of_steps([undecided(limited), limited]) is limited


def test_a_step_with_fewer_outstanding_ios_says_nothing_of_a_faster_one(limited: Judgement) -> None:
    calmer = replace(limited, load=replace(limited.load, in_flight_measured=limited.load.in_flight_measured / 2))
    unknown = undecided(limited)
    assert judgement_of_steps([unknown, calmer]) is unknown


def test_of_two_steps_that_show_a_limit_the_faster_one_decides(limited: Judgement) -> None:
    faster = replace(undecided(limited), kind=limited.kind, bottlenecks=limited.bottlenecks)
    assert judgement_of_steps([limited, faster]) is faster


def test_a_deeper_step_with_as_many_ios_a_second_decides_though_they_were_smaller(limited: Judgement) -> None:
    """Of a mix of sizes, as many I/Os a second have 8 % fewer bytes by chance: more outstanding ones gave no more."""
    load = limited.load
    deeper = replace(
        load,
        step="deeper",
        in_flight_measured=2 * load.in_flight_measured,
        bytes_per_second=0.92 * load.bytes_per_second,
    )
    judged = replace(limited, load=deeper)
    assert judgement_of_steps([limited, judged]) is judged


@pytest.mark.parametrize(("scatter", "decides"), [(0.01, 0), (0.1, 1), (1.0, 0)])
def test_steps_whose_throughput_scatters_as_much_as_it_differs_are_equally_fast(
    scatter: float, decides: int, limited: Judgement
) -> None:
    """A deeper step is a fifth slower; at a scatter of 1 it is two fifths slower, which is no chance."""
    slower = 0.8 if scatter < 1 else 0.6
    load = replace(limited.load, throughput_spread=scatter)
    deeper = replace(
        load,
        step="deeper",
        in_flight_measured=2 * load.in_flight_measured,
        ops_per_second=slower * load.ops_per_second,
        bytes_per_second=slower * load.bytes_per_second,
    )
    judgements = [replace(limited, load=load), replace(limited, load=deeper)]
    assert judgement_of_steps(judgements) is judgements[decides]


def test_small_ios_whose_number_scatters_are_not_as_fast_as_large_ones(limited: Judgement) -> None:
    """A twelfth of the size, twelve times as many, a quarter fewer bytes: 3 % of scatter is that of each."""
    load = replace(limited.load, throughput_spread=0.01)
    small = replace(
        load,
        step="small",
        in_flight_measured=2 * load.in_flight_measured,
        ops_per_second=12 * load.ops_per_second,
        bytes_per_second=0.75 * load.bytes_per_second,
        throughput_spread=0.015,
    )
    large = replace(limited, load=load)
    assert judgement_of_steps([large, replace(limited, load=small)]) is large


def test_a_direction_that_loses_to_the_other_does_not_make_a_step_slower(limited: Judgement) -> None:
    """Reads and writes share what is full. With more outstanding I/Os, reads get the larger part of it."""

    def steps(name: str, reads: float, writes: float, in_flight: float) -> list[Judgement]:
        return [
            replace(
                limited,
                load=replace(
                    limited.load,
                    step=name,
                    direction=direction,
                    in_flight_measured=in_flight / 2,
                    ops_per_second=share * limited.load.ops_per_second,
                    bytes_per_second=share * limited.load.bytes_per_second,
                ),
            )
            for direction, share in zip(DIRECTIONS, (reads, writes), strict=True)
        ]

    judgements = [*steps("few", 0.4, 0.6, 8.0), *steps("many", 0.5, 0.49, 64.0)]
    assert judgement_of_steps(judgements).load.step == "many"


@pytest.mark.parametrize("windows", range(MIN_WINDOWS + 1))
def test_a_step_that_has_hardly_begun_does_not_decide_beside_one_that_is_as_fast(
    windows: int, limited: Judgement
) -> None:
    deeper = replace(limited.load, step="deeper", in_flight_measured=2 * limited.load.in_flight_measured)
    begun = replace(limited, load=deeper, windows=windows, grade="C")
    assert limited.windows >= MIN_WINDOWS
    assert judgement_of_steps([limited, begun]) is (begun if windows == MIN_WINDOWS else limited)
    if windows > 0:
        unseen = replace(limited, windows=0)
        assert judgement_of_steps([unseen, begun]) is begun


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("names_the_same", [True, False])
def test_of_two_limits_at_one_throughput_the_one_with_more_outstanding_ios_is_believed(
    is_open: bool, names_the_same: bool, tmp_path: Path
) -> None:
    """The step with more of them was too short for a grade. While it goes on, its first window is not believed."""
    facts, judgements = judge_recording(published(San(tmp_path)).write())
    limited = judgement_of_steps(judgements)
    name = next(step.name for step in facts.steps if step.name != limited.load.step)
    steps = tuple(replace(step, is_open=is_open and step.name == name) for step in facts.steps)
    facts = replace(facts, steps=steps)
    load = replace(limited.load, step=name, in_flight_measured=2 * limited.load.in_flight_measured)
    (bottleneck, *_) = limited.bottlenecks
    another = bottleneck if names_the_same else replace(bottleneck, entity="lun:sqlvm1/sda", coincident=())
    short = replace(limited, load=load, windows=1, grade="C", bottlenecks=(another,))
    decides = limited if is_open or names_the_same else short
    assert judgement_of_run(facts, [limited, short]) is decides


@pytest.mark.parametrize("more", [True, False])
def test_of_undecided_steps_one_with_more_ios_and_a_surer_suspect_decides(more: bool, tmp_path: Path) -> None:
    """More I/Os made throughput fall, and their wait shows where they are. Fewer would show nothing."""
    facts, judgements = judge_recording(published(San(tmp_path)).write())
    limited = judgement_of_steps(judgements)
    fast = undecided(limited)
    name = next(step.name for step in facts.steps if step.name != limited.load.step)
    slower = replace(
        fast.load,
        step=name,
        in_flight_configured=None,
        in_flight_measured=(4 if more else 0.25) * fast.load.in_flight_measured,
        ops_per_second=0.7 * fast.load.ops_per_second,
        bytes_per_second=0.7 * fast.load.bytes_per_second,
    )
    suspect = Suspect("cannot_tell", "unseen", None, "read", 0.4, (), ())
    fast = replace(fast, load=replace(fast.load, step=limited.load.step, in_flight_configured=None))
    unsure = replace(fast, suspects=(suspect,))
    surer = replace(fast, load=slower, suspects=(replace(suspect, probability=0.9),))
    assert judgement_of_run(facts, [unsure, surer]) is (surer if more else unsure)
