"""The score of a corpus as a Markdown paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from sanpath_testbed import draws
from sanpath_testbed.defects import MEANINGS
from sanpath_testbed.outcome import Outcome

_HEAD = """# How often the verdict is right

Cases of the lab, drawn at random and simulated event by event, were recorded in simulated time, diagnosed, and
compared with what is true of them. The lab shares no code with the diagnosis. It is a model all the same: a real
fabric has faults that it does not have, and the numbers say nothing of those.
"""
_FAMILIES = """## Families

Each is a fault that somebody has thought of, with a SAN made for it.

AC@1: the kind of the verdict is right, and the element that it names first is one at fault. AC@3: one at fault is
among the first three that are named. False: an element is said to hold a test that nothing holds, or one is named
that the label clears. Findings: of the rules that should hit, those that did (recall); of the rules called a cause,
or said to relieve what limits, those that the label does not forbid (precision). Prediction: what is likely once the
limit is relieved, against the throughput of the same simulation with the limit relieved, the median of the
differences; held: how often the predicted interval contains it, give or take the 1 % that the model of frames on a
link is good to.
"""
_MODEL = 0.01


def paper(outcomes: Sequence[Outcome], seeds: Sequence[int], command: str) -> str:
    """The whole paper; `command`: what makes it."""
    as_drawn = [o for o in outcomes if o.relation is None]
    clean = [o for o in as_drawn if o.defect is None]
    named, drawn = [o for o in clean if o.fault is None], [o for o in clean if o.fault is not None]
    parts = [_HEAD, f"Seeds {_span(seeds)}, {len(clean)} cases. Made by `{command}`.\n"]
    if drawn:
        parts.append(draws.paper(drawn))
    if named:
        parts += [_FAMILIES, _families(named), _alarms(named)]
    if any(o.defect for o in as_drawn):
        parts.append(_defects(as_drawn))
    parts += [text for text in (draws.relations(outcomes), draws.experiments(outcomes)) if text]
    if named:
        parts.append(_wrong(named))
    return "\n".join(parts)


def families(outcomes: Sequence[Outcome]) -> str:
    """The table of families."""
    return _families([o for o in outcomes if o.defect is None])


def _families(clean: Sequence[Outcome]) -> str:
    by_family = _grouped(clean, lambda o: o.family)
    head = ("family", "cases", "AC@1", "AC@3", "false", "precision", "recall", "prediction", "held")
    rows = [_row(name, found) for name, found in sorted(by_family.items())]
    rows.append(_row("**all**", clean))
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _row(name: str, found: Sequence[Outcome]) -> tuple[str, ...]:
    expected = sum(len(o.expected) for o in found)
    hit = sum(len(set(o.expected) & set(o.found)) for o in found)
    causes = sum(len(o.called_cause) for o in found)
    allowed = sum(len(set(o.called_cause) - set(o.forbidden)) for o in found)
    checked = [(o.predicted, o.reached) for o in found if o.predicted and o.reached]
    errors = [abs(o.likely / o.reached - 1) for o in found if o.likely and o.reached]
    held = sum(p[0] * (1 - _MODEL) <= r <= p[1] * (1 + _MODEL) for p, r in checked)
    return (
        name,
        str(len(found)),
        _share(sum(o.first for o in found), len(found)),
        _share(sum(o.in_three for o in found), len(found)),
        str(sum(o.false_alarm for o in found)),
        _share(allowed, causes),
        _share(hit, expected),
        f"{100 * median(errors):.1f} %" if errors else "",
        f"{held} of {len(checked)}" if checked else "",
    )


def _alarms(clean: Sequence[Outcome]) -> str:
    held_nothing = [o for o in clean if o.held_nothing]
    false = sum(o.false_alarm for o in held_nothing)
    held = [o for o in clean if not o.held_nothing]
    healthy = sum(o.kind == "healthy" for o in held)
    return (
        f"Of {len(held_nothing)} runs that nothing of the storage held, {false} had a verdict that accuses one.\n"
        f"Of {len(held)} runs that an element held, {healthy} were called healthy.\n"
    )


def _defects(outcomes: Sequence[Outcome]) -> str:
    head = "| defect | cases | AC@1 | without it | lost, points |"
    lines = ["## What defects of the data do", "", head, "|---|---|---|---|---|"]
    without = {(o.family, o.seed): o for o in outcomes if o.defect is None}
    told = [o for o in outcomes if o.defect and o.tellable]
    for defect, found in sorted(_grouped(told, lambda o: str(o.defect)).items()):
        same = [without[key] for o in found if (key := (o.family, o.seed)) in without]
        meaning = next(text for name, text in MEANINGS.items() if name == defect)
        ours, theirs = sum(o.first for o in found), sum(o.first for o in same)
        shares = f"{_share(ours, len(found))} | {_share(theirs, len(same))}"
        lost = f"{100 * (theirs / len(same) - ours / len(found)):.1f}" if same else ""
        lines.append(f"| {defect}: {meaning} | {len(found)} | {shares} | {lost} |")
    return "\n".join(lines) + "\n"


def _wrong(clean: Sequence[Outcome]) -> str:
    wrong = [o for o in clean if not o.first]
    if not wrong:
        return ""
    lines = ["## What it got wrong", "", "| family | seed | verdict | names |", "|---|---|---|---|"]
    for o in wrong:
        named = ", ".join(dict.fromkeys(o.named[:3])) or "nothing"
        lines.append(f"| {o.family} | {o.seed} | {o.kind} ({o.grade}) | {named} |")
    return "\n".join(lines) + "\n"


def _grouped(found: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
    groups: defaultdict[str, list[Outcome]] = defaultdict(list)
    for o in found:
        groups[key(o)].append(o)
    return groups


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else ""


def _span(seeds: Sequence[int]) -> str:
    return f"{min(seeds)} to {max(seeds)}"
