"""A what-if prediction as text."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import RenderableType
from rich.text import Text

from sanpath.diagnosis.model import Interval
from sanpath.masking import printable
from sanpath.units import count, duration, iops, percent_change
from sanpath.views.terminal_tables import as_lines, table
from sanpath.views.words import short
from sanpath.whatif.predict import Check, Prediction
from sanpath.whatif.settings import Wanted
from sanpath.whatif.what_if import WhatIf

_SAME_RATIO = 0.01
"""If the ends of an interval differ by less than this ratio, they are printed as one number."""
_HEADER = (
    "step",
    "direction",
    "outstanding",
    "IOPS now",
    "latency",
    "limited by",
    "then likely",
    "latency",
    "limited by",
)


def as_text(prediction: WhatIf, width: int | None = None) -> str:
    """The changed settings, a row for each step and direction, untested steps, and what cannot be predicted."""
    parts: list[RenderableType] = [
        Text(_setting(setting), style="bold" if setting.judged else "yellow") for setting in prediction.settings
    ]
    unknown = {step.unknown for step in prediction.steps}
    for words in dict.fromkeys(words for _, words in prediction.relieved if words not in unknown):
        steps = [step for step, text in prediction.relieved if text == words]
        everywhere = len(steps) == len(prediction.relieved)
        parts.append(Text(printable(words if everywhere else f"{', '.join(steps)}: {words}"), style="bold"))
    predicted = [step for step in prediction.steps if step.predicted_ops_per_second is not None]
    if predicted:
        parts.append(table(_HEADER, map(_cells, predicted), (2, 3, 4, 6, 7), padding=(0, 1, 0, 0)))
    untested = dict.fromkeys(line for step in predicted for line in step.untested)
    parts += [Text(f"not tested: {printable(line)}") for line in untested]
    if weak := [f"{step.step} {step.direction}" for step in predicted if step.grade == "C"]:
        parts.append(Text(printable(f"weak evidence of the limit (confidence C): {', '.join(weak)}")))
    for step in prediction.steps:
        if step.unknown is not None:
            parts.append(Text(printable(f"not predicted: {step.step} {step.direction}: {step.unknown}")))
    earlier = (f"earlier prediction of this model: {check_text(check)}" for check in prediction.checks)
    return as_lines(*parts, *(Text(printable(line)) for line in earlier), width=width)


def check_text(check: Check) -> str:
    """A prediction next to the result."""
    outcome = "as predicted" if check.held else "NOT as predicted"
    off = "" if check.error is None else f", {percent_change(check.error)} off the middle of the prediction"
    return (
        f"{check.step} {check.direction}: predicted {between(check.predicted_ops_per_second)} IOPS, "
        f"reached {iops(check.measured_ops_per_second)}: {outcome}{off}"
    )


def between(interval: Interval) -> str:
    """6,250 - 12,595; one number where both ends are the same."""
    return _range_text(interval, lambda end: iops(end).removesuffix(" IOPS"))


def _range_text(interval: Interval, text: Callable[[float], str]) -> str:
    """Both ends, or one of them if they are equal or are printed alike."""
    low, high = map(text, interval)
    return high if low == high or _is_one(interval) else f"{low} - {high}"


def _is_one(interval: Interval) -> bool:
    return interval[1] - interval[0] <= _SAME_RATIO * interval[1]


def _gain(interval: Interval, now: float) -> str:
    """The change to both ends of a range in percent, such as +100 to +300 %; or one number, as the range is
    printed."""
    low, high = (percent_change(end / now - 1) for end in interval)
    return high if low == high or _is_one(interval) else f"{low.removesuffix(' %')} to {high}"


def _setting(setting: Wanted) -> str:
    before = f"{setting.now} → " if setting.now is not None else ""
    note = f" ({setting.note})" if setting.note else ""
    return printable(f"{setting.entity}.{setting.setting}: {before}{setting.then}{note}")


def _cells(step: Prediction) -> list[str]:
    predicted = step.likely_ops_per_second or step.predicted_ops_per_second
    assert predicted is not None  # noqa: S101 - only those are listed
    retained = step.kept_in_flight
    return [
        step.step,
        step.direction,
        count(step.in_flight) if retained == step.in_flight else f"{count(step.in_flight)} → {count(retained)}",
        iops(step.ops_per_second).removesuffix(" IOPS"),
        duration(step.latency_seconds),
        short(step.limit) if step.limit else "?",
        f"{between(predicted)} ({_gain(predicted, step.ops_per_second)})",
        _range_text((retained / predicted[1], retained / predicted[0]), duration),
        f"{short(step.entity or '')} {step.change}".strip(),
    ]
