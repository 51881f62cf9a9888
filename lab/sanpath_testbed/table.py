"""Renders the score of a corpus as a Markdown report."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from sanpath_testbed import draws, probe_chapters
from sanpath_testbed.defects import MEANINGS
from sanpath_testbed.outcome import Outcome, grouped

_HEAD = """# How often the verdict is right

Cases of the lab were drawn at random, simulated event by event, recorded in simulated time and diagnosed, and the
verdicts were compared with the truth. The lab shares no code with the diagnosis. But it is a model: a real fabric has
faults that the model does not have, and the numbers say nothing about those.
"""
_FAMILIES = """## Families

Each family is a known fault, in a SAN made for it.

AC@1: the kind of the verdict is right, and the element that it names first is at fault. AC@3: an element at fault is
among the first three that are named. False: an element is named although nothing limits the test, or although the
label clears it. Findings: the share of the expected rules that hit (recall); and the share of the rules called a
cause, or said to relieve the limit, that the label does not forbid (precision). Prediction: the median difference
between the likely throughput without the limit and that of the same simulation with the limit relieved; held: how
often the predicted interval contains it, with a tolerance of 1 %, the error of the model of frames on a link.
"""


def report(outcomes: Sequence[Outcome], seeds: Sequence[int], command: str) -> str:
    """Render the report. `command`: the command that writes it."""
    as_drawn = [o for o in outcomes if o.relation is None]
    clean = [o for o in as_drawn if o.defect is None]
    named, drawn = [o for o in clean if o.fault is None], [o for o in clean if o.fault is not None]
    head = _HEAD if as_drawn else probe_chapters.HEAD
    sections = [head, f"Seeds {_span(seeds)}, {len(clean) or len(outcomes)} cases. Made by `{command}`.\n"]
    if drawn:
        sections.append(draws.report(drawn))
    if named:
        sections += [_FAMILIES, _families(named), _alarms(named)]
    if any(o.defect for o in as_drawn):
        sections.append(_defects(as_drawn))
    renderers = (draws.relations, draws.experiments, probe_chapters.probes, probe_chapters.knees)
    sections += [text for renderer in renderers if (text := renderer(outcomes))]
    if named:
        sections.append(_wrong(named))
    return "\n".join(sections)


def _families(clean: Sequence[Outcome]) -> str:
    by_family = grouped(clean, lambda o: o.family)
    head = ("family", "cases", "AC@1", "AC@3", "false", "precision", "recall", "prediction", "held")
    rows = [_row(name, cases) for name, cases in sorted(by_family.items())]
    rows.append(_row("**all**", clean))
    return draws.render_table(head, rows)


def _row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    expected = sum(len(o.expected) for o in outcomes)
    hit_count = sum(len(set(o.expected) & set(o.hits)) for o in outcomes)
    causes = sum(len(o.causes) for o in outcomes)
    allowed = sum(len(set(o.causes) - set(o.forbidden)) for o in outcomes)
    checked = [(o.predicted, o.reached) for o in outcomes if o.predicted and o.reached]
    errors = [abs(o.likely / o.reached - 1) for o in outcomes if o.likely and o.reached]
    covered = sum(p[0] * (1 - draws.MODEL_ERROR) <= r <= p[1] * (1 + draws.MODEL_ERROR) for p, r in checked)
    return (
        name,
        str(len(outcomes)),
        _share(sum(o.is_right for o in outcomes), len(outcomes)),
        _share(sum(o.in_top_three for o in outcomes), len(outcomes)),
        str(sum(o.false_alarm for o in outcomes)),
        _share(allowed, causes),
        _share(hit_count, expected),
        f"{100 * median(errors):.1f} %" if errors else "",
        f"{covered} of {len(checked)}" if checked else "",
    )


def _alarms(clean: Sequence[Outcome]) -> str:
    nothing_limits = [o for o in clean if o.nothing_limits]
    false = sum(o.false_alarm for o in nothing_limits)
    limited = [o for o in clean if not o.nothing_limits]
    healthy = sum(o.kind == "healthy" for o in limited)
    return (
        f"Of {len(nothing_limits)} runs that nothing of the storage held, {false} had a verdict that accuses one.\n"
        f"Of {len(limited)} runs that an element held, {healthy} were called healthy.\n"
    )


def _defects(outcomes: Sequence[Outcome]) -> str:
    rows = []
    without = {(o.family, o.seed): o for o in outcomes if o.defect is None}
    for defect, meaning in sorted(MEANINGS.items()):
        if cases := [o for o in outcomes if o.defect == defect and o.diagnosable]:
            without_defect = [without[key] for o in cases if (key := (o.family, o.seed)) in without]
            right, right_without = sum(o.is_right for o in cases), sum(o.is_right for o in without_defect)
            lost = f"{100 * (right_without / len(without_defect) - right / len(cases)):.1f}" if without_defect else ""
            shares = _share(right, len(cases)), _share(right_without, len(without_defect))
            rows.append((f"{defect}: {meaning}", str(len(cases)), *shares, lost))
    head = ("defect", "cases", "AC@1", "without it", "lost, points")
    return "## What defects of the data do\n\n" + draws.render_table(head, rows)


def _wrong(clean: Sequence[Outcome]) -> str:
    wrong = [o for o in clean if not o.is_right]
    if not wrong:
        return ""
    rows = [
        (o.family, str(o.seed), f"{o.kind} ({o.grade})", ", ".join(dict.fromkeys(o.named[:3])) or "nothing")
        for o in wrong
    ]
    return "## What it got wrong\n\n" + draws.render_table(("family", "seed", "verdict", "names"), rows)


def _share(count: int, total: int) -> str:
    return f"{count / total:.2f}" if total else ""


def _span(seeds: Sequence[int]) -> str:
    return f"{min(seeds)} to {max(seeds)}"
