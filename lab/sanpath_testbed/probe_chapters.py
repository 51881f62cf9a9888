"""Renders how often a probe is right, after how many steps, and how close its knee is to that of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from sanpath_testbed.draws import render_table, still_wrong
from sanpath_testbed.outcome import KNEES, PROBES, Outcome
from sanpath_testbed.probes import MAX_STEPS

HEAD = """# How often a probe is right

Cases of the lab were drawn at random, simulated event by event, and probed in simulated time by the searches of
[`sanpath probe`](guides/probe.md). The verdicts were compared with the truth. The lab shares no code with the
diagnosis. But it is a model: a real fabric has faults that the model does not have.
"""
_PROBES_HEAD = f"""## Probed

Of each draw only the heaviest step was run. If its verdict was "cannot tell", `sanpath probe` ran further steps of
the load, at most {MAX_STEPS} with the first, without reading any other source. Wrong: the verdict is not the truth.
Left open: the probe ends without a verdict, and says which sources a person should read next. Right by hand: right
after the lab has read the first of these sources that the SAN has, and has repeated the probe. These do not count as
right.

"""
_KNEES_HEAD = """## Knees

The knee of throughput over outstanding I/Os was searched by `sanpath probe --knee` and by a sweep of 20 steps from 1
to 256. The table shows the difference between both.

"""
_GROUPS = {True: "the sources that are read can show the fault", False: "they cannot"}


def command(outcomes: Sequence[Outcome]) -> str:
    """The commands that run these probes and knees, as code of Markdown without its first and last mark."""
    seeds = {name: [o.seed for o in outcomes if o.relation == name] for name in (PROBES, KNEES)}
    commands = (f"sanpath lab score --{name} {len(s)} --first-seed {min(s)}" for name, s in seeds.items() if s)
    return "` and `".join(commands)


def probes(outcomes: Sequence[Outcome]) -> str:
    """Render the draws that one step cannot tell, after a probe. Empty: none were probed."""
    cases = [o for o in outcomes if o.relation == PROBES]
    if not cases:
        return ""
    at_first = [o for o in cases if o.kind_at_first != "cannot_tell"]
    probed = [o for o in cases if o.kind_at_first == "cannot_tell"]
    right = sum(o.is_right for o in at_first)
    text = (
        f"Of {len(cases)} draws, {len(at_first)} got a verdict from one step, {right} of them the right one. "
        f"The other {len(probed)} were probed.\n"
    )
    if not probed:
        return _PROBES_HEAD + text
    groups = {name: [o for o in probed if o.diagnosable == can] for can, name in _GROUPS.items()} | {"all": probed}
    head = ("draws for which one step is not enough", "draws", "right", "wrong", "left open", "right by hand")
    ended = render_table(head, [_ended(name, group) for name, group in groups.items() if group])
    numbers = range(2, MAX_STEPS + 1)
    progress = [
        (name, *(str(sum(_right_after(o, number) for o in group)) for number in numbers), _steps(group))
        for name, group in groups.items()
        if group
    ]
    steps = render_table(("right after so many steps", *map(str, numbers), "steps each"), progress)
    faults = sorted({o.fault or "" for o in probed if o.diagnosable})
    by_fault = render_table(
        ("fault, where the sources can show it", *head[1:]),
        [_ended(fault, [o for o in probed if o.diagnosable and o.fault == fault]) for fault in faults],
    )
    wrong = [o for o in probed if not (o.right_by_hand if o.kind == "cannot_tell" else o.is_right)]
    remaining = f"\n### Draws that were not right, even by hand\n{still_wrong(wrong)}" if wrong else ""
    return "\n".join((_PROBES_HEAD + text, ended, steps, by_fault)) + remaining


def knees(outcomes: Sequence[Outcome]) -> str:
    """Render how close the knee of a probe is to that of a sweep. Empty: none was searched."""
    searched = [o for o in outcomes if o.relation == KNEES]
    found = [o.knee for o in searched if o.knee is not None]
    if not found:
        return ""
    errors = [abs(probed / swept - 1) for probed, swept, _ in found]
    steps = [number for *_, number in found]
    text = (
        f"{len(found)} of {len(searched)} draws have a knee. The probes took {mean(steps):.2f} steps on average and "
        f"{max(steps)} at most; the largest difference is {max(errors):.1%}.\n\n"
    )
    rows = [(f"{limit:.0%}", str(sum(error <= limit for error in errors))) for limit in (0.01, 0.02, 0.05, 0.1)]
    return _KNEES_HEAD + text + render_table(("difference up to", "draws"), rows)


def _ended(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    still_open = [o for o in outcomes if o.kind == "cannot_tell"]
    right = sum(o.is_right for o in outcomes)
    return (
        name,
        *map(str, (len(outcomes), right, len(outcomes) - right - len(still_open), len(still_open))),
        f"{sum(o.right_by_hand for o in still_open)} of {len(still_open)}" if still_open else "",
    )


def _right_after(o: Outcome, steps: int) -> bool:
    return o.right_after[min(steps, len(o.right_after)) - 1]


def _steps(outcomes: Sequence[Outcome]) -> str:
    return f"{mean(len(o.right_after) for o in outcomes):.2f}"
