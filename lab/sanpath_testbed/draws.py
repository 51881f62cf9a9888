"""Renders the score of draws as tables: by fault, by grade, by probability, by relation and after experiments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import mean, median

from sanpath_testbed.outcome import PROBES, Outcome, grouped
from sanpath_testbed.relations import RELATIONS, meaning

_HEAD = """## Draws

One generator draws each case: topology, load, fault, decoys, which sources are read, and how coarsely. A case counts
only if the simulation confirms its label: more capacity at the faulty place raises throughput, and more capacity at
all other places together does not. Cases whose fault no source that is read can show are counted separately.

AC@1: kind and element of the verdict are right. AC@3: the truth is among the first three suspects. Acquitted: the
verdict says that nothing limits, although something does. Convicted: the verdict names an element that is not at
fault. Open: the verdict is "cannot tell", although the sources that are read can show the fault. Brier: mean square
of the difference between the verdict's probability and 1 (right) or 0 (wrong). For "cannot tell", the probability is
that of the first suspect.
"""
_EXPERIMENTS_HEAD = """## With the experiments that the verdict proposes

Of each draw only the heaviest step was run. While the verdict is "cannot tell", or has grade C, the proposed
experiment is carried out and added to the recording: another step of the load, or a source that was not read. The
experiments end when the next one would need a changed setting, which is left to a person, or after the fifth.

"""
_EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
MODEL_ERROR = 0.01
"""Relative error of the model of frames on a link."""


def report(outcomes: Sequence[Outcome]) -> str:
    """Render all tables of draws without a defect and without a relation."""
    diagnosable = [o for o in outcomes if o.diagnosable]
    sections = [
        _HEAD,
        by_fault(diagnosable),
        _predictions(diagnosable),
        _undiagnosable([o for o in outcomes if not o.diagnosable]),
    ]
    return "\n".join([section for section in (*sections, reliability(outcomes), _wrong(outcomes)) if section])


def by_fault(outcomes: Sequence[Outcome]) -> str:
    """Render the table of faults, with a last row for all of them."""
    head = ("fault", "draws", "AC@1", "AC@3", "acquitted", "convicted", "open", "Brier")
    rows = [_row(fault, cases) for fault, cases in sorted(grouped(outcomes, lambda o: o.fault or "").items())]
    return render_table(head, [*rows, _row("**all**", outcomes)])


def _row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    count = len(outcomes)
    return (
        name,
        str(count),
        _ratio(sum(o.is_right for o in outcomes), count),
        _ratio(sum(o.in_top_three for o in outcomes), count),
        str(sum(o.acquitted for o in outcomes)),
        str(sum(o.convicted for o in outcomes)),
        str(sum(o.undecided for o in outcomes)),
        _brier(outcomes),
    )


def _brier(outcomes: Sequence[Outcome]) -> str:
    squares = [o.brier for o in outcomes if o.brier is not None]
    return f"{mean(squares):.3f}" if squares else ""


def _predictions(outcomes: Sequence[Outcome]) -> str:
    checked = [(*o.predicted, o.reached) for o in outcomes if o.predicted and o.reached]
    if not checked:
        return ""
    covered = sum(low * (1 - MODEL_ERROR) <= reached <= high * (1 + MODEL_ERROR) for low, high, reached in checked)
    width = median(high / low for low, high, _ in checked if low)
    return (
        f"What-if: relieved in the simulation, {covered} of {len(checked)} reached what was predicted, give or take "
        f"the 1 % that the model of frames on a link is good to; the interval's median width is a factor of "
        f"{width:.2f}.\n"
    )


def _undiagnosable(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return ""
    opened = sum(o.kind == "cannot_tell" for o in outcomes)
    right, convicted = sum(o.is_right for o in outcomes), sum(o.convicted for o in outcomes)
    acquitted = sum(o.acquitted for o in outcomes)
    return (
        f"Of {len(outcomes)} draws whose fault no source that is read can show, {opened} were left open and {right} "
        f"got the right verdict; {convicted} convicted an innocent element, {acquitted} were acquitted.\n"
    )


def experiments(outcomes: Sequence[Outcome]) -> str:
    """Render verdicts on one step alone, before and after the proposed experiments. Empty: none were performed."""
    tried = [o for o in outcomes if o.experiments is not None and o.relation != PROBES]
    if not tried:
        return ""
    head = (
        "one step alone",
        "cases",
        "right",
        "right after experiments",
        "acquitted",
        "convicted",
        "experiments each",
    )
    kinds = {
        "all": tried,
        "cannot tell": [o for o in tried if o.kind_at_first == "cannot_tell"],
        "named wrongly": [o for o in tried if o.kind_at_first != "cannot_tell" and not o.right_at_first],
    }
    rows = [_after(name, cases) for name, cases in kinds.items() if cases]
    return _EXPERIMENTS_HEAD + render_table(head, rows) + still_wrong(tried)


def still_wrong(outcomes: Sequence[Outcome]) -> str:
    """Render the outcomes that are not right after their experiments. Empty: all are."""
    rows = [
        (
            f"draw:{o.seed}",
            o.fault or "",
            ", ".join(o.experiments or ()),
            f"{o.kind} ({o.grade})",
            next(iter(o.suspects), ""),
        )
        for o in outcomes
        if not o.is_right
    ]
    return "\n" + render_table(("draw", "fault", "experiments", "verdict", "first suspect"), rows) if rows else ""


def _after(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    return (
        name,
        str(len(outcomes)),
        _ratio(sum(o.right_at_first for o in outcomes), len(outcomes)),
        _ratio(sum(o.is_right for o in outcomes), len(outcomes)),
        str(sum(o.acquitted for o in outcomes)),
        str(sum(o.convicted for o in outcomes)),
        f"{mean(len(o.experiments or ()) for o in outcomes):.2f}",
    )


def relations(outcomes: Sequence[Outcome]) -> str:
    """Render how often a relation leaves kind and element unchanged. Empty: no relation was applied."""
    outcomes = [o for o in outcomes if o.experiments is None]
    before = {o.seed: o for o in outcomes if o.relation is None and o.defect is None and o.fault is not None}
    pairs = [(o, before[o.seed]) for o in outcomes if o.relation is not None and o.applies and o.seed in before]
    if not pairs:
        return ""
    by_name: defaultdict[str, list[tuple[Outcome, Outcome]]] = defaultdict(list)
    for changed, unchanged in pairs:
        by_name[changed.relation or ""].append((changed, unchanged))
    head = ("relation", "cases", "stayed", "right before", "right after")
    rows = [_agreement(f"{name}: {meaning(name)}", by_name[name]) for name in RELATIONS if name in by_name]
    disagreements = [
        (
            f"draw:{o.seed}",
            o.relation or "",
            o.fault or "",
            _accuses(unchanged),
            _accuses(o),
        )
        for o, unchanged in sorted(pairs, key=lambda pair: (pair[0].relation or "", pair[0].seed))
        if not o.agrees_with(unchanged)
    ]
    text = "## Changed cases with the same truth\n\n" + render_table(head, [*rows, _agreement("**all**", pairs)])
    return text + (
        "\n" + render_table(("draw", "relation", "fault", "before", "after"), disagreements) if disagreements else ""
    )


def _agreement(name: str, pairs: Sequence[tuple[Outcome, Outcome]]) -> tuple[str, ...]:
    triples = [(o.agrees_with(before), before.is_right, o.is_right) for o, before in pairs]
    return name, str(len(pairs)), *(_ratio(sum(column), len(pairs)) for column in zip(*triples, strict=True))


def _accuses(o: Outcome) -> str:
    return f"{o.kind}: {', '.join(o.accused[:2])}" if o.accused else o.kind


def reliability(outcomes: Sequence[Outcome]) -> str:
    """Render how often the verdict is the truth, by grade and by its probability."""
    judged = [o for o in outcomes if o.probability is not None]
    if not judged:
        return ""
    head = ("", "cases", "said", "right")
    grades = [
        _reliable(f"grade {grade}", group) for grade, group in sorted(grouped(judged, lambda o: o.grade).items())
    ]
    bands = [
        (low, high, [o for o in judged if o.probability is not None and low <= o.probability < high])
        for low, high in zip(_EDGES, (*_EDGES[1:], 2.0), strict=True)
    ]
    rows = [_reliable(f"{low:.2f} to {min(high, 1.0):.2f}", group) for low, high, group in bands if group]
    return "### How far to trust the probability\n\n" + render_table(head, [*grades, *rows])


def _reliable(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    probability = mean(o.probability for o in outcomes if o.probability is not None)
    return name, str(len(outcomes)), f"{probability:.3f}", f"{mean(o.lead_is_right for o in outcomes):.3f}"


def _wrong(outcomes: Sequence[Outcome]) -> str:
    wrong = [o for o in outcomes if not o.is_right and (o.diagnosable or o.kind != "cannot_tell")]
    if not wrong:
        return ""
    rows = [
        (
            f"draw:{o.seed}",
            o.fault or "",
            f"{o.kind} ({o.grade})",
            "; ".join(o.suspects[:3]),
            "" if o.diagnosable else "no",
        )
        for o in sorted(wrong, key=lambda o: (o.fault or "", o.seed))
    ]
    head = ("draw", "fault", "verdict", "suspects", "tellable")
    return "### Draws with a wrong or open verdict\n\n" + render_table(head, rows)


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Render a table of Markdown."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _ratio(count: int, total: int) -> str:
    return f"{count / total:.3f}" if total else ""
