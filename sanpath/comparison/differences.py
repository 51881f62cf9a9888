"""What differs between two runs apart from the figures: settings, findings, and where I/Os wait."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.diagnosis.model import Diagnosis, LatencyBudget, Setting
from sanpath.rulebook.model import SEVERITIES, Finding
from sanpath.units import duration

Value = str | int | float | bool
_FIXABLE_ROLES = ("cause", "culprit", "risk", "symptom")
"""Roles of findings that a change is meant to resolve."""
_NONE_IS_A_VALUE = ("limit_", "qos_")
"""Parts of the names of settings that are missing if nothing is set."""
_COUNTED_PATHS = frozenset(
    (
        "paths",
        "usable_paths",
        "waiting_paths",
        "down_paths",
        "lost_paths",
        "usable_links",
        "initiators",
        "target_ports",
    )
)
"""Facts of findings about several paths, and settings that count paths."""
_PATH_PORTS = ("hba", "switch_port", "array_port")
_MIN_MOVED_RATIO = 0.05
"""Share of the latency from which a wait in a new place is reported."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting in both runs. None: no source reported it, or the entity did not exist."""

    entity: str
    setting: str
    before: Value | None
    after: Value | None

    @property
    def read_only_in(self) -> Literal["BEFORE", "AFTER"] | None:
        """The only run that read the setting, so that it may be equal in both. None: both did, or a missing value
        means that there is none, as for a limit."""
        if self.setting == "used" or any(word in self.setting for word in _NONE_IS_A_VALUE):
            return None
        return "AFTER" if self.before is None else "BEFORE" if self.after is None else None


@dataclass(frozen=True, slots=True)
class FindingOutcome:
    """The outcome of a finding.

    `outcome`: FIXED, NO CHANGE, MOVED, WORSE, NEW, or CANNOT TELL if the second run did not observe its element; GONE
    if its paths no longer exist, or are no longer read. `moved_to`: the element with the same finding now.
    """

    rule: str
    entity: str
    direction: str
    outcome: str
    moved_to: str | None = None


def differences(before: Diagnosis, after: Diagnosis) -> list[Difference]:
    """Settings that differ, for entities in both runs, and entities that only one run has."""
    old, new = _values_by_name(before.configuration), _values_by_name(after.configuration)
    common = {entity for entity, _ in old} & {entity for entity, _ in new}
    result = [
        Difference(entity, setting, old.get((entity, setting)), new.get((entity, setting)))
        for entity, setting in sorted({*old, *new})
        if entity in common and _differs(setting, old.get((entity, setting)), new.get((entity, setting)))
    ]
    ports = ("switch_port", "hba", "array_port", "lun", "vdisk", "volume")
    for in_first, configuration in ((True, old), (False, new)):
        entities = sorted({entity for entity, _ in configuration if entity.partition(":")[0] in ports} - common)
        result += [Difference(entity, "used", in_first or None, None if in_first else True) for entity in entities]
    return result


def _differs(setting: str, old: Value | None, new: Value | None) -> bool:
    """Whether a value differs. A missing speed does not count, because only links that were read have a speed."""
    return old != new and not (setting == "speed" and None in (old, new))


def _values_by_name(settings: Sequence[Setting]) -> dict[tuple[str, str], Value]:
    return {(s.entity, s.setting): s.value for s in settings}


def outcomes(before: Diagnosis, after: Diagnosis) -> Iterator[FindingOutcome]:
    """The outcome of every earlier finding, then the new ones."""
    old, new = _hits(before), _hits(after)
    doubtful = {
        (finding.rule, finding.entity, finding.direction)
        for finding in after.findings
        if finding.outcome == "unknown"
    }
    judged = {finding.rule for finding in after.findings}
    without_facts = {rule for gap in after.unobserved for rule in gap.rules} - judged
    entities, directions = reported_entities(after), {d for step in after.steps for d in step.directions}
    has_fewer_paths = _has_fewer_paths(before, after)
    moved_keys: set[tuple[str, str, str]] = set()
    for key, finding in old.items():
        rule, entity, direction = key
        moved = [
            each for each in new if each[0] == rule and _overlap(each[2], direction) and not _find_same(each, old)
        ]
        if same := _find_same(key, new):
            worse = SEVERITIES.index(new[same].severity) < SEVERITIES.index(finding.severity)
            yield FindingOutcome(*key, "WORSE" if worse else "NO CHANGE")
        elif (
            _find_same(key, doubtful)
            or rule in without_facts
            or entity not in entities
            or direction not in (*directions, "both")
        ):
            yield FindingOutcome(*key, "CANNOT TELL")
        elif moved:
            moved_keys.add(moved[0])
            yield FindingOutcome(*key, "MOVED", moved[0][1])
        else:
            is_gone = has_fewer_paths and not _COUNTED_PATHS.isdisjoint(finding.evidence)
            yield FindingOutcome(*key, "GONE" if is_gone else "FIXED")
    yield from (FindingOutcome(*key, "NEW") for key in new if not _find_same(key, old) and key not in moved_keys)


def _has_fewer_paths(before: Diagnosis, after: Diagnosis) -> bool:
    """Whether the second run has fewer paths to a LUN, or fewer ports on the paths of the test."""
    ports: Counter[str] = Counter()
    for difference in differences(before, after):
        old, new = difference.before, difference.after
        if difference.setting == "used":
            ports[difference.entity.partition(":")[0]] += 1 if new else -1
        elif difference.setting not in _COUNTED_PATHS:
            continue
        elif isinstance(old, int | float) and isinstance(new, int | float) and new < old:
            return True
    return any(ports[kind] < 0 for kind in _PATH_PORTS)


def _find_same(key: tuple[str, str, str], keys: Iterable[tuple[str, str, str]]) -> tuple[str, str, str] | None:
    """The finding of the same rule on the same entity, in the same direction or if one is for both."""
    same = [other for other in keys if other[:2] == key[:2] and _overlap(other[2], key[2])]
    return key if key in same else next(iter(same), None)


def _overlap(direction: str, other: str) -> bool:
    return direction == other or "both" in (direction, other)


def _hits(diagnosis: Diagnosis) -> dict[tuple[str, str, str], Finding]:
    hits = [f for f in diagnosis.findings if f.outcome == "hit" and f.role in _FIXABLE_ROLES]
    return {(f.rule, f.entity, f.direction): f for f in hits}


def reported_entities(diagnosis: Diagnosis) -> set[str]:
    """Entities about which a run reports anything."""
    entities = {setting.entity for setting in diagnosis.configuration} | {use.entity for use in diagnosis.elements}
    entities |= {cleared.entity for cleared in diagnosis.cleared} | {f.entity for f in diagnosis.findings}
    return entities | {b.lun for b in diagnosis.latency_budget} | {c.load for c in diagnosis.verdict.curves}


def moved_wait(
    before: Diagnosis, after: Diagnosis, steps: tuple[str, str], direction: str, spread: float
) -> str | None:
    """Words for a wait that has moved to another place with the same length. None: no wait has moved, or latency
    changed.

    `steps`: one step of each run with the same number of I/Os in flight. `spread`: relative difference of two
    latencies that may be chance.
    """
    budgets = [_budget(run, step, direction) for run, step in zip((before, after), steps, strict=True)]
    if budgets[0] is None or budgets[1] is None:
        return None
    total_before, total_after = (budget.total_seconds for budget in budgets if budget is not None)
    if abs(total_after / total_before - 1) > spread:
        return None
    old, new = (_seconds_by_place(budget) for budget in budgets if budget is not None)
    change = {place: new[place] - old[place] for place in {*old, *new}}
    if not change:
        return None
    growing, shrinking = max(change, key=lambda place: change[place]), min(change, key=lambda place: change[place])
    if min(change[growing], -change[shrinking]) < _MIN_MOVED_RATIO * total_before:
        return None
    wait = duration(min(change[growing], -change[shrinking]))
    return f"{wait} of the wait moved from {shrinking} to {growing}: moved, not grown"


def _budget(run: Diagnosis, step: str, direction: str) -> LatencyBudget | None:
    matching = [b for b in run.latency_budget if (b.step, b.direction) == (step, direction) and b.total_seconds > 0]
    return matching[0] if len(matching) == 1 else None


def _seconds_by_place(budget: LatencyBudget) -> defaultdict[str, float]:
    """Plane and layer → seconds."""
    by_place: defaultdict[str, float] = defaultdict(float)
    for budget_part in budget.parts:
        by_place[f"the {budget_part.plane} plane ({budget_part.layer})"] += sum(budget_part.seconds) / 2
    return by_place
