"""Compares two runs: only steps with the same I/O and the same number in flight can be compared.

More I/Os in flight raise latency and may raise throughput with nothing else changed; other block sizes change both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import hypot
from typing import Literal

from sanpath.comparison.changed_settings import changed_settings, confounded
from sanpath.comparison.differences import (
    Difference,
    FindingOutcome,
    differences,
    moved_wait,
    outcomes,
    reported_entities,
)
from sanpath.comparison.performance_changes import (
    MIN_CHANGE,
    Change,
    base_name,
    changes,
    is_peer,
    notable_tail,
    repetitions_of,
    throughput_spread,
)
from sanpath.comparison.repeatability import reproducibility_limit
from sanpath.comparison.same_latency import AtLatency, compare_at_latency
from sanpath.diagnosis.model import Bottleneck, Diagnosis, DirectionResult, Interval, Next, StepResult
from sanpath.errors import UsageError
from sanpath.facts.facts import Facts
from sanpath.units import bandwidth, counted, duration, iops, join_names, outstanding, percent, percent_change
from sanpath.verdict.model import Judgement
from sanpath.whatif.predict import Check, check_prediction
from sanpath.whatif.settings import settable
from sanpath.whatif.what_if import what_if

Outcome = Literal["FIXED", "MOVED", "NO CHANGE", "WORSE", "BETTER", "MIXED"]

_FIXED_CEILINGS = ("link", "lun", "vdisk")
"""Kinds of bottlenecks whose ceiling does not depend on the throughput of the test."""
_LATENCY_CHANGE = 0.1
"""If no run repeated a step, smaller relative changes of the mean latency are ignored."""
_CLEAR_FACTOR = 2.0
"""Multiple of the spread from which a pair other than the decisive one has changed, because one of many pairs may
exceed the spread by chance: sanpath's own choice."""
_MAX_PACED_RATIO = 0.8
"""Share of the configured I/Os outstanding below which a load paces itself."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One direction of a step of each run, with the same number of I/Os of the same size in flight.

    Changes are ratios, 0.1 for a tenth more. `spread`: relative difference of the two means that may be chance: two
    standard errors of the difference, from the windows of both steps, but at least the difference between repetitions
    of the step. If the step was not repeated: at least what repetitions of other steps allow, or 3 % if no run
    repeated any step. `changes`: every quantity that the loads report. `repetitions`: how often the step ran in each
    of the runs. `is_spread_of_others`: whether the spread comes from repetitions of other steps.
    """

    direction: str
    in_flight: float
    before_step: str
    after_step: str
    before: DirectionResult
    after: DirectionResult
    throughput_change: float
    latency_change: float
    spread: float
    changes: tuple[Change, ...] = ()
    repetitions: tuple[int, int] = (1, 1)
    is_spread_of_others: bool = False

    @property
    def is_repeated(self) -> bool:
        """Whether a run repeated the step."""
        return max(self.repetitions) > 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed between two runs.

    `outcome`: None if no step of one has a peer in the other; MIXED: some pairs are better and others worse.
    `predicted_ops_per_second`: the first run's prediction for the relief of its bottleneck, None without one.
    `unmatched`: steps without a peer in the other run. `moved`: waits of the same length that are now in another
    place. `checks`: predictions of the model for the first run under the settings of the second, compared with the
    measurement. `next`: the next limit of the second run. `changed_settings`: names of the settings that differ, each
    once. `remarks`: what the comparison cannot tell. `decisive`: the pair that decides the outcome, None: there is no
    pair.
    """

    outcome: Outcome | None
    headline: str
    pairs: tuple[Pair, ...]
    unmatched: tuple[str, ...]
    predicted_ops_per_second: Interval | None
    differences: tuple[Difference, ...] = ()
    findings: tuple[FindingOutcome, ...] = ()
    same_latency: tuple[AtLatency, ...] = ()
    moved: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    next: Next | None = None
    changed_settings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    decisive: Pair | None = None


def compare(before: Diagnosis, after: Diagnosis, latency_seconds: float | None = None) -> Comparison:
    """Compare two runs. `outcome` is None if no step of one has a peer in the other.

    `latency_seconds`: a latency at which throughput is also compared, None: the highest at which both were tested.
    """
    pairs = tuple(_pairs(before, after))
    matched = {(when, name) for pair in pairs for when, name in _step_names(pair, before, after)}
    unmatched = tuple(
        f"{step.name} ({when})"
        for when, run in (("before", before), ("after", after))
        for step in run.steps
        if (when, step.name) not in matched
    )
    decisive = _decisive(before, pairs)
    outcome = None if decisive is None else _outcome(before, after, decisive)
    other_changes = [] if decisive is None else _other_changes(before, after, decisive, pairs)
    gains = [_gain(before, after, pair) for pair in (decisive, *other_changes) if pair is not None]
    is_mixed = len({gain > 0 for gain, spread in gains if abs(gain) > spread}) > 1
    following = before.verdict.next
    predicted = following.predicted_ops_per_second if following else None
    moved_waits = (
        (
            pair,
            moved_wait(
                before, after, (pair.before_step, pair.after_step), pair.direction, max(pair.spread, MIN_CHANGE)
            ),
        )
        for pair in pairs
    )
    setting_differences = tuple(differences(before, after))
    same_latency = tuple(compare_at_latency((before, after), latency_seconds))
    return Comparison(
        "MIXED" if is_mixed else outcome,
        _headline(before, after, decisive, pairs, outcome, same_latency, other_changes, is_mixed),
        pairs,
        unmatched,
        predicted,
        setting_differences,
        (*_bottlenecks(before, after, outcome), *outcomes(before, after)),
        same_latency,
        tuple(f"{pair.after_step} {pair.direction}: {words}" for pair, words in moved_waits if words is not None),
        next=after.verdict.next,
        changed_settings=changed_settings(setting_differences),
        remarks=tuple(_remarks(pairs, setting_differences, (before, after))),
        decisive=decisive,
    )


def _step_names(pair: Pair, before: Diagnosis, after: Diagnosis) -> Iterator[tuple[str, str]]:
    """Steps that a pair covers: its two steps and their repetitions."""
    for when, run, name in (("before", before, pair.before_step), ("after", after, pair.after_step)):
        yield from ((when, each.name) for each in repetitions_of(_step(run, name), pair.direction, run.steps))


def _remarks(
    pairs: Sequence[Pair], setting_differences: Sequence[Difference], runs: tuple[Diagnosis, Diagnosis]
) -> Iterator[str]:
    """What the comparison cannot tell: which of several changes had an effect, and how much repetitions differ."""
    if (text := confounded(setting_differences)) is not None:
        yield text
    if not pairs or any(pair.is_repeated for pair in pairs):
        return
    limit = reproducibility_limit(run.steps for run in runs)
    if limit is not None:
        spreads = [spread for run in runs if (spread := throughput_spread(run.steps)) is not None]
        yield (
            f"No compared step was repeated; repetitions of other steps differ by up to {max(spreads) * 100:.1f} % "
            f"in throughput, so that two runs of one step may differ by {limit * 100:.1f} %. "
            "It is not known how far two maxima of one configuration differ: repeat a step to see it."
        )
    else:
        yield (
            "No step was repeated, so it is not known how much two runs of one configuration differ, "
            "least of all their maxima. Repeat a step to see it."
        )


def add_checks(comparison: Comparison, facts: Facts, judgements: Sequence[Judgement]) -> Comparison:
    """The comparison with the model's predictions for the first run under the settings of the second.

    `facts` and `judgements`: of the first run.
    """
    written = [
        f"{difference.entity}.{difference.setting}={_setting_value(difference.after)}"
        for difference in comparison.differences
        if settable(difference.entity, difference.setting)
        and not (difference.after is None and difference.setting in ("speed", "queue_depth"))
    ]
    if not written or not judgements:
        return comparison
    try:
        predictions = what_if(facts, judgements, written, relieve=False).steps
    except UsageError:
        # Some settings are only reported by a device and cannot be changed: then nothing is predicted.
        return comparison
    checks = []
    for pair in comparison.pairs:
        step = next((s for s in predictions if (s.step, s.direction) == (pair.before_step, pair.direction)), None)
        if step is not None and (check := check_prediction(step, pair.after.ops_per_second, pair.spread)) is not None:
            checks.append(check)
    return replace(comparison, checks=tuple(checks))


def _setting_value(value: object) -> str:
    return "none" if value is None else f"{value:.0f}" if isinstance(value, float) else str(value)


def _bottlenecks(before: Diagnosis, after: Diagnosis, outcome: Outcome | None) -> Iterator[FindingOutcome]:
    """What became of each bottleneck, by the outcome at the same number of I/Os in flight."""
    new = _new_bottleneck(before, after)
    for bottleneck in before.verdict.bottlenecks:
        unseen = outcome is None or bottleneck.entity not in reported_entities(after)
        bottleneck_outcome: str = "CANNOT TELL" if unseen else outcome or ""
        moved_to = None
        if outcome in ("FIXED", "MOVED", "BETTER"):
            if outcome == "MOVED" and new is not None:
                bottleneck_outcome, moved_to = "MOVED", new.entity
            elif after.verdict.bottlenecks:
                bottleneck_outcome = "NO CHANGE"
            else:
                bottleneck_outcome = "CANNOT TELL" if after.verdict.kind == "cannot_tell" else "FIXED"
        yield FindingOutcome("bottleneck", bottleneck.entity, bottleneck.direction, bottleneck_outcome, moved_to)


_MATCHING_NAMES: tuple[Callable[[StepResult, StepResult], bool], ...] = (
    lambda old, new: old.name == new.name,
    lambda old, new: base_name(old) == base_name(new),
    lambda _old, _new: True,
)


def _pairs(before: Diagnosis, after: Diagnosis) -> Iterator[Pair]:
    """Each direction of a step with its peer in the other run: the step of the same name, a repetition, or a free
    peer."""
    results = [(old, direction, result) for old in before.steps for direction, result in old.directions.items()]
    peers: dict[tuple[str, str], StepResult] = {}
    matched: set[tuple[str, str]] = set()
    for is_alike in _MATCHING_NAMES:
        for old, direction, old_result in results:
            for new in after.steps:
                new_result, key = new.directions.get(direction), (new.name, direction)
                if new_result is None or key in matched or (old.name, direction) in peers:
                    continue
                if is_alike(old, new) and is_peer(old, old_result, new, new_result):
                    matched.add(key)
                    peers[old.name, direction] = new
    for old, direction, _ in results:
        if (peer := peers.get((old.name, direction))) is not None:
            yield _pair(direction, (before, after), old, peer)


def _pair(direction: str, runs: tuple[Diagnosis, Diagnosis], old: StepResult, new: StepResult) -> Pair:
    old_result, new_result = old.directions[direction], new.directions[direction]
    repeated = tuple(
        [step.directions[direction] for step in repetitions_of(current, direction, run.steps)]
        for current, run in zip((old, new), runs, strict=True)
    )
    throughput, *other_changes = changes(old_result, new_result, (repeated[0], repeated[1]))
    throughput_change = new_result.ops_per_second / old_result.ops_per_second - 1
    others = reproducibility_limit(run.steps for run in runs) if throughput.spread is None else None
    spread = next(known for known in (throughput.spread, others, MIN_CHANGE) if known is not None)
    chance = _chance(old_result, new_result)
    is_spread_of_others = others is not None and others >= chance
    spread = max(spread, chance)
    if throughput.spread is not None:
        throughput = replace(throughput, spread=spread, is_within_spread=abs(throughput_change) <= spread)
    return Pair(
        direction,
        new.in_flight.configured or new.in_flight.measured or 0.0,
        old.name,
        new.name,
        old_result,
        new_result,
        throughput_change,
        new_result.latency_seconds.mean / old_result.latency_seconds.mean - 1,
        spread,
        (throughput, *other_changes),
        (len(repeated[0]), len(repeated[1])),
        is_spread_of_others,
    )


def _chance(old: DirectionResult, new: DirectionResult) -> float:
    """The relative difference of two means that their windows allow: two standard errors of the difference."""
    return 2 * hypot(old.throughput_spread or 0.0, new.throughput_spread or 0.0)


def _decisive(before: Diagnosis, pairs: Sequence[Pair]) -> Pair | None:
    """The pair with the most I/Os in flight, where a bottleneck shows most. None: there is no pair.

    If there are several steps, the one that decided the verdict counts; of its directions the limited one, or else
    the one with the largest change.
    """
    decided = before.verdict.from_step
    first = max(pairs, key=lambda pair: (pair.in_flight, pair.before_step == decided), default=None)
    if first is None:
        return None
    limited = {bottleneck.direction for bottleneck in before.verdict.bottlenecks}
    of_step = [pair for pair in pairs if pair.before_step == first.before_step]
    return max(of_step, key=lambda pair: (pair.direction in limited, abs(pair.throughput_change)))


def _outcome(before: Diagnosis, after: Diagnosis, decisive: Pair) -> Outcome:
    """The outcome of the decisive pair."""
    gain, spread = _gain(before, after, decisive)
    if gain < -spread:
        return "WORSE"
    if gain <= spread:
        return "NO CHANGE"
    old = before.verdict.bottlenecks
    if not old:
        return "BETTER"
    if not after.verdict.bottlenecks:
        return "FIXED"
    return "BETTER" if _new_bottleneck(before, after) is None else "MOVED"


def _gain(before: Diagnosis, after: Diagnosis, pair: Pair) -> tuple[float, float]:
    """The improvement of a pair, by throughput, or by latency if the load paces itself, and the spread."""
    is_by_latency, spread = _criterion(before, after, pair)
    return -pair.latency_change if is_by_latency else pair.throughput_change, spread


def _other_changes(before: Diagnosis, after: Diagnosis, decisive: Pair, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs that clearly changed while the decisive one did not, or in the opposite sense; largest change first."""
    own, own_spread = _gain(before, after, decisive)
    sense = own if abs(own) > own_spread else 0.0
    gains = [(*_gain(before, after, pair), pair) for pair in pairs]
    changed = [
        (gain, pair) for gain, spread, pair in gains if abs(gain) > _CLEAR_FACTOR * spread and gain * sense <= 0
    ]
    return [pair for _, pair in sorted(changed, key=lambda entry: -abs(entry[0]))]


def _step(run: Diagnosis, name: str) -> StepResult:
    return next(step for step in run.steps if step.name == name)


def _criterion(before: Diagnosis, after: Diagnosis, pair: Pair) -> tuple[bool, float]:
    """Whether latency decides the outcome, and which relative change of the decisive quantity is chance."""
    steps = (_step(before, pair.before_step), _step(after, pair.after_step))
    if abs(pair.throughput_change) > pair.spread or not all(map(_paces_itself, steps)):
        return False, pair.spread
    known = (change.spread for change in pair.changes if change.quantity == "latency_mean_seconds")
    return True, max(MIN_CHANGE, next((spread for spread in known if spread is not None), _LATENCY_CHANGE))


def _paces_itself(step: StepResult) -> bool:
    """Whether clearly fewer I/Os are outstanding than configured, because of a rate limit or the load's own work."""
    configured, measured = step.in_flight.configured, step.in_flight.measured
    return configured is not None and measured is not None and measured < _MAX_PACED_RATIO * configured


def _new_bottleneck(before: Diagnosis, after: Diagnosis) -> Bottleneck | None:
    """A limit that did not exist before. None: there is none. Directions that were limited before come first: a limit
    of writes has not replaced a limit of reads."""
    old, new = before.verdict.bottlenecks, after.verdict.bottlenecks
    directions = {bottleneck.direction for bottleneck in old}
    comparable = [b for b in new if b.direction in directions] or new
    return next((b for b in comparable if _is_another_limit(b, old)), None)


def _is_another_limit(bottleneck: Bottleneck, old: Sequence[Bottleneck]) -> bool:
    """Whether a limit is new: a different element, or the same one with a higher ceiling."""
    matching = [
        b for b in old if b.direction == bottleneck.direction and not {*bottleneck.elements}.isdisjoint(b.elements)
    ]
    if not matching:
        return bottleneck.entity not in {b.entity for b in old}
    old_ceiling, new_ceiling = matching[0].ceiling_ops_per_second, bottleneck.ceiling_ops_per_second
    return (
        bottleneck.kind in _FIXED_CEILINGS
        and bool(old_ceiling)
        and bool(new_ceiling)
        and (new_ceiling or 0) > (1 + MIN_CHANGE) * (old_ceiling or 0)
    )


def _limit_words(new: Bottleneck, before: Diagnosis) -> str:
    """The limit with its coincident elements; with its new ceiling if it is the same element as before."""
    is_same = any(new.entity == b.entity for b in before.verdict.bottlenecks)
    ceiling = new.ceiling_bytes_per_second
    if is_same and ceiling:
        return f"{new.entity} at its new ceiling of {bandwidth(ceiling)}"
    return join_names(new.elements)


def _same_latency_words(entries: Sequence[AtLatency]) -> Iterator[str]:
    """Throughput of both runs at one latency, for each direction and block size that both were tested at."""
    for entry in entries:
        old, new = entry.ops_per_second
        if entry.latency_seconds is not None and old and new is not None:
            noun = f"{entry.direction}s{' with flushes' if entry.flushes else ''}"
            latency_text = f"at {duration(entry.latency_seconds)}, {noun} go from {iops(old)} to {iops(new)}"
            yield f"{latency_text}, {new / old:.1f} times as many"


def _headline(
    before: Diagnosis,
    after: Diagnosis,
    top: Pair | None,
    pairs: Sequence[Pair],
    outcome: Outcome | None,
    same_latency: Sequence[AtLatency],
    other_changes: Sequence[Pair],
    is_mixed: bool,
) -> str:
    if top is None or outcome is None:
        no_peer = "No step of one run matches a step of the other in outstanding I/Os and block size"
        return "; ".join([no_peer, *_same_latency_words(same_latency)]) + "."
    new = _new_bottleneck(before, after) if outcome == "MOVED" else None
    moved = "" if new is None else f" to {_limit_words(new, before)}"
    is_by_latency, latency_spread = _criterion(before, after, top)
    chance = (
        f"the load paces itself, so latency decides; differences below {percent(latency_spread)} are chance"
        if is_by_latency
        else f"its repetitions differ by {percent(top.spread)}"
        if top.is_repeated and top.spread > _chance(top.before, top.after)
        else f"changes below {percent(top.spread)} may be chance, judging by repetitions of other steps"
        if top.is_spread_of_others
        else f"differences below {percent(top.spread)} are chance"
    )
    heading = f"MIXED{moved and f', limit moved{moved}'}" if is_mixed else f"{outcome}{moved}"
    return (
        f"{heading}: {_change_words(top, pairs)} ({chance}){_other_change_words(other_changes, pairs)}{_tail(pairs)}."
    )


def _change_words(pair: Pair, pairs: Sequence[Pair]) -> str:
    is_one_of_two = any(
        other.before_step == pair.before_step and other.direction != pair.direction for other in pairs
    )
    depth = f"{outstanding(pair.in_flight)}, {pair.direction}s"
    at = depth if is_one_of_two else counted(pair.in_flight, f"outstanding {pair.direction}")
    throughput, latency = percent_change(pair.throughput_change), percent_change(pair.latency_change)
    return f"{throughput} throughput and {latency} latency at {at}"


def _other_change_words(changes: Sequence[Pair], pairs: Sequence[Pair]) -> str:
    """Words for the pair with the largest other change, and the number of such pairs; "": there are none."""
    if not changes:
        return ""
    more = f", the largest of {len(changes)} such changes in {len(pairs)}" if len(changes) > 1 else ""
    return f"; but {_change_words(changes[0], pairs)} in {changes[0].after_step}{more}"


def _tail(pairs: Sequence[Pair]) -> str:
    """Words for a latency tail with another change than the mean, in the pair with the most I/Os in flight; "":
    none."""
    for pair in sorted(pairs, key=lambda pair: -pair.in_flight):
        tail = notable_tail(pair.changes)
        if tail is not None and tail.change is not None:
            name = {"latency_max_seconds": "maximum"}.get(tail.quantity, tail.quantity.split("_")[1])
            return (
                f"; the {name} of {pair.direction} went from {duration(tail.before or 0.0)} "
                f"to {duration(tail.after or 0.0)} ({percent_change(tail.change)})"
            )
    return ""
