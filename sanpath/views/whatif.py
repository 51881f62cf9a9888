"""A what-if as text and as JSON."""

from __future__ import annotations

import io

from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sanpath.verdict.model import Interval
from sanpath.verdict.prediction.predict import Check, Prediction
from sanpath.verdict.prediction.settings import Wanted
from sanpath.verdict.units import count, duration, iops, percent
from sanpath.verdict.whatif import WhatIf
from sanpath.views.json import escaped
from sanpath.views.words import printable, short

_CLOSE = 0.01
"""Ends of an interval that differ by less are printed as one number."""


def as_json(found: WhatIf) -> str:
    """One JSON object, indented, with a line end. An interval without an upper end has null there."""
    return escaped(TypeAdapter(WhatIf).dump_json(found, indent=2).decode()) + "\n"


def as_text(found: WhatIf, width: int | None = None) -> str:
    """What is otherwise, a row a step and direction, what was not tested, and what nothing can be said of."""
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    for wanted in found.settings:
        console.print(Text(_setting(wanted), style="bold" if wanted.judged else "yellow"))
    for words in dict.fromkeys(words for _, words in found.relieved):
        steps = [step for step, said in found.relieved if said == words]
        everywhere = len(steps) == len(found.relieved)
        console.print(Text(printable(words if everywhere else f"{', '.join(steps)}: {words}"), style="bold"))
    told = [step for step in found.steps if step.predicted_ops_per_second is not None]
    if told:
        console.print(_table(told))
    for line in dict.fromkeys(line for step in told for line in step.untested):
        console.print(Text(f"not tested: {printable(line)}"))
    if thin := [f"{step.step} {step.direction}" for step in told if step.grade == "C"]:
        console.print(Text(printable(f"thin evidence of what held: {', '.join(thin)}")))
    for step in found.steps:
        if step.unknown is not None:
            console.print(Text(printable(f"not predicted: {step.step} {step.direction}: {step.unknown}")))
    for check in found.checks:
        console.print(Text(printable(f"this model before: {check_text(check)}")))
    text = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def check_text(check: Check) -> str:
    """A prediction beside what came."""
    came = "as predicted" if check.held else "NOT as predicted"
    off = "" if check.error is None else f", {check.error:+.1%} off the middle of what was likely"
    return (
        f"{check.step} {check.direction}: predicted {between(check.predicted_ops_per_second)} IOPS, "
        f"reached {iops(check.measured_ops_per_second)}: {came}{off}"
    )


def between(interval: Interval) -> str:
    """6,250 - 12,595; one number where both ends are the same."""
    low, high = (iops(end).removesuffix(" IOPS") for end in interval)
    return high if interval[1] - interval[0] <= _CLOSE * interval[1] else f"{low} - {high}"


def _setting(wanted: Wanted) -> str:
    before = f"{wanted.now} > " if wanted.now is not None else ""
    note = f" ({wanted.note})" if wanted.note else ""
    return printable(f"{wanted.entity}.{wanted.setting}: {before}{wanted.then}{note}")


def _table(steps: list[Prediction]) -> Table:
    header = (
        "step",
        "direction",
        "outstanding",
        "IOPS now",
        "latency",
        "held by",
        "then likely",
        "latency",
        "held by",
    )
    table = Table(*header, box=None, padding=(0, 1, 0, 0))
    for column in (*table.columns[2:5], *table.columns[6:8]):
        column.justify = "right"
    for step in steps:
        told = step.likely_ops_per_second or step.predicted_ops_per_second
        assert told is not None  # noqa: S101 - only those are listed
        kept = step.kept_in_flight
        gain = told[1] / step.ops_per_second - 1
        limit = f"{short(step.entity or '')} {step.change}, {percent(gain) if gain < 0 else '+' + percent(gain)}"
        table.add_row(
            Text(printable(step.step)),
            step.direction,
            count(step.in_flight) if kept == step.in_flight else f"{count(step.in_flight)} > {count(kept)}",
            iops(step.ops_per_second).removesuffix(" IOPS"),
            duration(step.latency_seconds),
            Text(short(step.limit) if step.limit else "?"),
            between(told),
            _seconds((kept / told[1], kept / told[0])),
            Text(limit),
        )
    return table


def _seconds(interval: Interval) -> str:
    low, high = (duration(end) for end in interval)
    return low if interval[1] - interval[0] <= _CLOSE * interval[1] else f"{low} - {high}"
