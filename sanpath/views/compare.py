"""The comparison of two runs as text and as Markdown; its rows and sentences, also for the HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sanpath.comparison.compare import Comparison, Pair
from sanpath.comparison.differences import Value
from sanpath.comparison.performance_changes import Change
from sanpath.comparison.same_latency import AtLatency, Cost
from sanpath.masking import printable
from sanpath.units import bandwidth, count, duration, iops, percent, percent_change
from sanpath.views import terminal_tables
from sanpath.views.markdown import safe, table
from sanpath.views.whatif import check_text
from sanpath.views.words import io_words, short

HEADER: Sequence[str] = ("step", "direction", "outstanding", "quantity", "before", "after", "change", "spread")
QUANTITIES = {
    "ops_per_second": "IOPS",
    "bytes_per_second": "payload",
    "latency_mean_seconds": "mean",
    "latency_p50_seconds": "p50",
    "latency_p95_seconds": "p95",
    "latency_p99_seconds": "p99",
    "latency_max_seconds": "maximum",
}
_MIN_FACTOR = 3.0
"""A change by at least this ratio is shown as a factor and not in percent."""
SPREAD_NOTE = (
    "Spread: difference between repetitions of the step, if a run repeated it; for IOPS at least what chance allows. "
    "A change within the spread counts as none."
)


def as_text(comparison: Comparison, width: int | None = None) -> str:
    """Headline, remarks on the comparison, every quantity of each step, and the prediction next to the result."""
    head = Text(printable(comparison.headline), style="bold")
    remarks, below = ([Text(printable(line)) for line in lines] for lines in (comparison.remarks, notes(comparison)))
    changes: list[RenderableType] = ["", _table(comparison), ""] if comparison.pairs else []
    return terminal_tables.as_lines(head, *remarks, *changes, *below, width=width)


def as_markdown(comparison: Comparison) -> str:
    """The same text as Markdown, for a ticket."""
    lines = [f"# {safe(comparison.headline)}", ""]
    for remark in comparison.remarks:
        lines += [safe(remark), ""]
    if comparison.pairs:
        lines += [*table(HEADER, rows(comparison), right=4), "", SPREAD_NOTE, ""]
    return "\n".join([*lines, *(f"- {safe(line)}" for line in notes(comparison))]) + "\n"


def rows(comparison: Comparison) -> list[list[str]]:
    """A row per quantity of each pair; step, direction and I/Os in flight are in the first row of a pair."""
    return [
        [*([step_names(pair), pair.direction, count(pair.in_flight)] if number == 0 else ["", "", ""]), *quantity_row]
        for pair in comparison.pairs
        for number, quantity_row in enumerate(quantity_rows(pair))
    ]


def quantity_rows(pair: Pair) -> list[list[str]]:
    """Quantity, value before, value after, change and spread of one pair."""
    result = []
    for change in pair.changes:
        values = ("-" if v is None else value_text(change.quantity, v) for v in (change.before, change.after))
        result.append([QUANTITIES[change.quantity], *values, change_text(change), _spread_text(pair, change)])
    return result


def step_names(pair: Pair) -> str:
    """The name of both steps, once if it is the same."""
    names = (printable(pair.before_step), printable(pair.after_step))
    return names[0] if names[0] == names[1] else " → ".join(names)


def value_text(quantity: str, value: float) -> str:
    """A value of a quantity with its unit; IOPS without unit, because the quantity's name is the unit."""
    if quantity == "ops_per_second":
        return iops(value).removesuffix(" IOPS")
    return bandwidth(value) if quantity == "bytes_per_second" else duration(value)


def change_text(change: Change) -> str:
    """The change in percent; "-" if a run does not report the quantity."""
    if change.change is None:
        return "-"
    return f"{percent_change(change.change)}{' (within the spread)' if change.is_within_spread else ''}"


def _spread_text(pair: Pair, change: Change) -> str:
    if change.spread is not None:
        return f"±{percent(change.spread)} ({pair.repetitions[0]} and {pair.repetitions[1]} repetitions)"
    return f"±{percent(pair.spread)}" if change.quantity == "ops_per_second" else "-"


def notes(comparison: Comparison) -> Iterator[str]:
    """Sentences about steps without a match, outcomes of findings, and settings that differ."""
    yield from (f"no matching step: {step}" for step in comparison.unmatched)
    yield from reached_lines(comparison)
    yield from setting_lines(comparison)
    yield from finding_lines(comparison)


def reached_lines(comparison: Comparison) -> Iterator[str]:
    """The prediction next to the result, waits that moved elsewhere, and throughput at the same latency."""
    if comparison.predicted_ops_per_second is not None and comparison.decisive is not None:
        low, high = comparison.predicted_ops_per_second
        yield f"predicted {iops(low)} to {iops(high)}, reached {iops(comparison.decisive.after.ops_per_second)}"
    for line in comparison.moved:
        yield f"wait: {line}"
    for entry in comparison.same_latency:
        yield f"at the same latency: {latency_text(entry, ('before', 'after'), comparison.same_latency)}"


def setting_lines(comparison: Comparison) -> Iterator[str]:
    """Settings that differ or that only one run read, and entities that only one run used."""
    for difference in comparison.differences:
        if difference.setting == "used":
            yield f"in use only {'after' if difference.before is None else 'before'}: {difference.entity}"
        elif (run := difference.read_only_in) is not None:
            value = _setting(difference.setting, difference.after if run == "AFTER" else difference.before)
            yield f"read only in {run}: {difference.entity}.{difference.setting}: {value}"
        else:
            old, new = (_setting(difference.setting, value) for value in (difference.before, difference.after))
            yield f"changed: {difference.entity}.{difference.setting}: {old} → {new}"


def finding_lines(comparison: Comparison) -> Iterator[str]:
    """The outcome of each finding, the error of the model's prediction, and its next prediction."""
    for finding in comparison.findings:
        place = f" to {finding.moved_to}" if finding.moved_to else ""
        reason = ": its paths are no longer there, or no longer read" if finding.outcome == "GONE" else ""
        yield f"{finding.outcome}{place}: {finding.rule} {finding.entity} {finding.direction}{reason}"
    for check in comparison.checks:
        yield f"model: {check_text(check)}"
    if comparison.next is not None:
        low, high = comparison.next.predicted_ops_per_second
        limit = f"{short(comparison.next.entity)} {comparison.next.change}"
        errors = [check.error for check in comparison.checks if check.error is not None]
        error_text = (
            f"; the model was off by {percent_change(max(errors, key=abs))} at most this time" if errors else ""
        )
        yield f"next, with the limit relieved: {iops(low)} to {iops(high)}, then {limit} limits{error_text}"


def _setting(setting: str, value: Value | None) -> str:
    if isinstance(value, int | float) and setting.endswith("bits_per_second"):
        return f"{value / 1e9:g} Gb/s"
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def latency_text(entry: AtLatency, names: Sequence[str], entries: Sequence[AtLatency]) -> str:
    """The throughput of each run at one latency; "not tested" for runs that did not reach this latency."""
    size = io_words(entry, entries)
    if entry.latency_seconds is None:
        return f"{entry.direction}{size}: no latency was tested in all runs; {entry.said}"
    costs = entry.costs or (None,) * len(names)
    each = [
        f"{name} {'not tested' if value is None else iops(value)}{_cost_text(cost)}"
        for name, value, cost in zip(names, entry.ops_per_second, costs, strict=True)
    ]
    first = entry.ops_per_second[0]
    if len(each) == 2 and first and entry.ops_per_second[1] is not None:
        each[1] += f" ({_change_text(entry.ops_per_second[1] / first)})"
    remark = f"; {entry.said}" if entry.said else ""
    return f"{entry.direction}{size} at {duration(entry.latency_seconds)}: {', '.join(each)}{remark}"


def _cost_text(cost: Cost | None) -> str:
    """The cost of each I/O a second; "" if it is unknown."""
    if cost is None:
        return ""
    low, high = (f"{end:.3g}" for end in (cost.low, cost.high))
    return f" at {low if low == high else f'{low} to {high}'} {cost.currency} each"


def _change_text(ratio: float) -> str:
    """A change in percent, or as a factor if it is large.

    >>> _change_text(1.024), _change_text(11.91)
    ('+2.4 %', '11.9 times')
    """
    return f"{ratio:.1f} times" if ratio >= _MIN_FACTOR else percent_change(ratio - 1)


def _table(comparison: Comparison) -> Table:
    options = {"padding": (0, 1, 0, 0), "caption": SPREAD_NOTE, "caption_justify": "left"}
    shown = terminal_tables.table(HEADER, rows(comparison), range(4, 8), **options)
    for column in shown.columns[1:7]:
        column.no_wrap = True
    return shown
