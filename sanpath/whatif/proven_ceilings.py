"""All ceilings of a step, including elements that publish no ceiling but were proven saturated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sanpath.diagnosis.model import Interval
from sanpath.facts.facts import Facts
from sanpath.facts.load.loads import AT_LEAST_AS_FAST, LoadFacts
from sanpath.facts.table import FactRow, number
from sanpath.verdict.evidence.healthy import requested_rate
from sanpath.verdict.model import Judgement
from sanpath.verdict.places.host_queues import below_queues
from sanpath.whatif.ceilings import Ceiling, ceilings
from sanpath.whatif.change import Change
from sanpath.whatif.path_spread import used_paths

_STORAGE = ("array", "volume", "controller", "media")
"""Kinds of bottlenecks that have a ceiling but do not publish it."""


def all_ceilings(facts: Facts, change: Change, r0: Interval | None, judged: Sequence[Judgement]) -> list[Ceiling]:
    """All ceilings of a step under a change.

    `r0`: latency without a queue under the change, None: unknown. `judged`: the judgement of this step, then those of
    other steps of the same I/O.
    """
    load = judged[0].load
    found = ceilings(facts, load, change, r0)
    computed = {ceiling.entity for ceiling in found}
    if (used := used_paths(facts, load, change)) is not None and used.policy.switch_operations is not None:
        computed.add("path_policy")
    return [*found, *_asked(facts, load), *_proven(judged, change, computed)]


def _asked(facts: Facts, load: LoadFacts) -> Iterator[Ceiling]:
    """The requested rate of a load: whatever is relieved, it asks for no more."""
    if (rate := requested_rate(facts, load)) is not None:
        share = load.ops_per_second / facts.ops_per_second_in(load.step)
        asked = share * max(rate.requested_ops_per_second, rate.reached_ops_per_second)
        yield Ceiling(load.entity, (asked, asked), "which asks for no more")


def _proven(judged: Sequence[Judgement], change: Change, computed: set[str]) -> list[Ceiling]:
    """Ceilings of elements that do not publish one, but were saturated at the rate that a step reached.

    `judged`: the step itself, then others of the same I/O. From other steps, only saturated storage counts, because
    its ceiling is the same at any load. It does not count if this step was clearly faster. `computed`: entities and
    kinds that already have a ceiling.
    """
    reached = (judged[0].load.ops_per_second,) * 2
    if judged[0].kind == "generator_limited":
        return [Ceiling(judged[0].load.entity, reached, "with the CPU time of its process")]
    if judged[0].kind == "demand_limited":
        return [Ceiling(judged[0].load.entity, reached, "which asks for no more")]
    proven: dict[str, float] = {}
    for position, judgement in enumerate(judged):
        for bottleneck in judgement.bottlenecks:
            entity, kind = bottleneck.entity, bottleneck.kind
            is_cap = judgement.kind == "configured_cap"
            is_lifted = (
                entity in change.slots
                or entity in change.lifted
                or (kind == "path_policy" and change.policies)
                or (is_cap and any(entity == capped for capped, _ in change.caps))
            )
            # Storage that was full in another step may be this step's ceiling, unless this step was clearly faster.
            is_full = judgement.load.ops_per_second >= AT_LEAST_AS_FAST * reached[0]
            counts = position == 0 or (judgement.kind == "bottleneck" and kind in _STORAGE and is_full)
            is_computed = kind in computed or (entity in computed and (kind in ("lun", "vdisk") or is_cap))
            if kind != "link" and counts and not is_computed and not is_lifted:
                proven[entity] = max(proven.get(entity, 0.0), judgement.load.ops_per_second)
    return [Ceiling(entity, (rate, rate), "which was saturated at that") for entity, rate in proven.items()]


def array_dominates(facts: Facts, load: LoadFacts, array: FactRow) -> bool:
    """Whether the array's own time is at least half of the latency below the operating system's queue.

    A smaller share is not evidence against the array: then most of the time passes where no source measures.
    """
    return number(array, "array_seconds") >= below_queues(facts, load) / 2
