"""What differs between two runs besides the numbers: how things were set up, what was found, and where I/Os wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sanpath.rulebook.model import SEVERITIES, Finding
from sanpath.verdict.model import Diagnosis, LatencyBudget, Setting
from sanpath.verdict.units import duration

Value = str | int | float | bool
_TELLING = ("cause", "culprit", "risk", "symptom")
"""Roles of findings that a change is meant to mend."""
_MOVED = 0.05
"""Share of the latency that has to turn up elsewhere to be told."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting in both runs. None: nothing told it, or the thing was not there."""

    entity: str
    setting: str
    before: Value | None
    after: Value | None


@dataclass(frozen=True, slots=True)
class FindingOutcome:
    """What became of a finding. `outcome`: FIXED, NO CHANGE, MOVED, WORSE, NEW, or CANNOT TELL where the later run
    did not see what it was about. `moved_to`: where the same was found instead."""

    rule: str
    entity: str
    direction: str
    outcome: str
    moved_to: str | None = None


def differences(before: Diagnosis, after: Diagnosis) -> list[Difference]:
    """Settings that differ, of things that both runs saw; of a thing that only one saw, that it did."""
    old, new = _by_name(before.configuration), _by_name(after.configuration)
    things = {entity for entity, _ in old} & {entity for entity, _ in new}
    found = [
        Difference(entity, setting, old.get((entity, setting)), new.get((entity, setting)))
        for entity, setting in sorted({*old, *new})
        if entity in things and _differs(setting, old.get((entity, setting)), new.get((entity, setting)))
    ]
    ports = ("switch_port", "hba", "array_port", "lun", "vdisk", "volume")
    for only, configuration in ((True, old), (False, new)):
        alone = sorted({e for e, _ in configuration if e.partition(":")[0] in ports} - things)
        found += [Difference(e, "used", only or None, None if only else True) for e in alone]
    return found


def _differs(setting: str, old: Value | None, new: Value | None) -> bool:
    """A speed is told only of links that were read: that one was not is no change."""
    return old != new and not (setting == "speed" and None in (old, new))


def _by_name(settings: Sequence[Setting]) -> dict[tuple[str, str], Value]:
    return {(s.entity, s.setting): s.value for s in settings}


def outcomes(before: Diagnosis, after: Diagnosis) -> Iterator[FindingOutcome]:
    """What became of everything that was found before, then what is new."""
    old, new = _hits(before), _hits(after)
    doubtful = {(f.rule, f.entity, f.direction) for f in after.findings if f.outcome == "unknown"}
    without_facts = {
        name for u in after.unobserved for name in u.consequence.partition("not judged: ")[2].split(", ")
    }
    seen, directions = seen_entities(after), {d for step in after.steps for d in step.directions}
    moved: set[tuple[str, str, str]] = set()
    for key, finding in old.items():
        rule, entity, direction = key
        elsewhere = [k for k in new if k[0] == rule and k[2] == direction and k not in old]
        if key in new:
            worse = SEVERITIES.index(new[key].severity) < SEVERITIES.index(finding.severity)
            yield FindingOutcome(*key, "WORSE" if worse else "NO CHANGE")
        elif key in doubtful or rule in without_facts or entity not in seen or direction not in (*directions, "both"):
            yield FindingOutcome(*key, "CANNOT TELL")
        elif elsewhere:
            moved.add(elsewhere[0])
            yield FindingOutcome(*key, "MOVED", elsewhere[0][1])
        else:
            yield FindingOutcome(*key, "FIXED")
    yield from (FindingOutcome(*key, "NEW") for key in new if key not in old and key not in moved)


def _hits(diagnosis: Diagnosis) -> dict[tuple[str, str, str], Finding]:
    hits = [f for f in diagnosis.findings if f.outcome == "hit" and f.role in _TELLING]
    return {(f.rule, f.entity, f.direction): f for f in hits}


def seen_entities(diagnosis: Diagnosis) -> set[str]:
    """Entities that a run says anything of."""
    found = {setting.entity for setting in diagnosis.configuration} | {use.entity for use in diagnosis.elements}
    found |= {cleared.entity for cleared in diagnosis.cleared} | {f.entity for f in diagnosis.findings}
    return found | {b.lun for b in diagnosis.latency_budget} | _loads(diagnosis)


def _loads(diagnosis: Diagnosis) -> set[str]:
    return {curve.load for curve in diagnosis.verdict.curves}


def moved_wait(
    before: Diagnosis, after: Diagnosis, steps: tuple[str, str], direction: str, spread: float
) -> str | None:
    """Whether a wait is somewhere else and as long as before. `steps`: of each run, as many I/Os in flight; `spread`:
    relative, by how much two latencies may differ by chance. None: nothing has moved, or latency has changed."""
    budgets = [_budget(run, step, direction) for run, step in zip((before, after), steps, strict=True)]
    if budgets[0] is None or budgets[1] is None:
        return None
    was, now = (budget.total_seconds for budget in budgets if budget is not None)
    if abs(now / was - 1) > spread:
        return None
    old, new = (_parts(budget) for budget in budgets if budget is not None)
    change = {place: new[place] - old[place] for place in {*old, *new}}
    if not change:
        return None
    grown, shrunk = max(change, key=lambda p: change[p]), min(change, key=lambda p: change[p])
    if min(change[grown], -change[shrunk]) < _MOVED * was:
        return None
    wait = duration(min(change[grown], -change[shrunk]))
    return f"{wait} of the wait moved from {shrunk} to {grown}: moved, not grown"


def _budget(run: Diagnosis, step: str, direction: str) -> LatencyBudget | None:
    found = [b for b in run.latency_budget if (b.step, b.direction) == (step, direction) and b.total_seconds > 0]
    return found[0] if len(found) == 1 else None


def _parts(budget: LatencyBudget) -> defaultdict[str, float]:
    """Plane and layer → seconds."""
    found: defaultdict[str, float] = defaultdict(float)
    for part in budget.parts:
        found[f"the {part.plane} plane ({part.layer})"] += sum(part.seconds) / 2
    return found
