"""The comparison of two runs as text and as JSON."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sanpath.verdict.comparison.compare import Comparison
from sanpath.verdict.comparison.differences import Value
from sanpath.verdict.comparison.same_latency import AtLatency
from sanpath.verdict.units import count, duration, iops
from sanpath.views.json import escaped
from sanpath.views.whatif import check_text
from sanpath.views.words import printable, short


def as_json(comparison: Comparison) -> str:
    """One JSON object, indented, with a line end."""
    return escaped(TypeAdapter(Comparison).dump_json(comparison, indent=2).decode()) + "\n"


def as_text(comparison: Comparison, width: int | None = None) -> str:
    """Headline, one row per pair of steps, steps without a peer, and the prediction next to the result."""
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    console.print(Text(printable(comparison.headline), style="bold"))
    if comparison.pairs:
        console.print(_table(comparison))
    for step in comparison.unmatched:
        console.print(Text(f"no peer: {printable(step)}"))
    if comparison.predicted_ops_per_second is not None and comparison.pairs:
        low, high = comparison.predicted_ops_per_second
        reached = max(comparison.pairs, key=lambda pair: pair.in_flight).after.ops_per_second
        console.print(Text(f"predicted {iops(low)} to {iops(high)}, reached {iops(reached)}"))
    for line in _details(comparison):
        console.print(Text(printable(line)))
    text = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _details(comparison: Comparison) -> Iterator[str]:
    """Settings that differ, the outcome of each finding, and the prediction compared with the result."""
    for line in comparison.moved:
        yield f"wait: {line}"
    for entry in comparison.same_latency:
        yield f"at the same latency: {latency_text(entry, ('before', 'after'))}"
    for difference in comparison.differences:
        was, now = (_value(value) for value in (difference.before, difference.after))
        yield f"changed: {difference.entity}.{difference.setting}: {was} > {now}"
    for finding in comparison.findings:
        to = f" to {finding.moved_to}" if finding.moved_to else ""
        yield f"{finding.outcome}{to}: {finding.rule} {finding.entity} {finding.direction}"
    for check in comparison.checks:
        yield f"model: {check_text(check)}"
    if comparison.next is not None:
        low, high = comparison.next.predicted_ops_per_second
        limit = f"{short(comparison.next.entity)} {comparison.next.change}"
        errors = [check.error for check in comparison.checks if check.error is not None]
        off = f"; the model was off by {max(errors, key=abs):+.1%} at most this time" if errors else ""
        yield f"next, with what limits relieved: {iops(low)} to {iops(high)}, then {limit} limits{off}"


def _value(value: Value | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def latency_text(entry: AtLatency, names: Sequence[str]) -> str:
    """Throughput of each run at one latency; without a figure for runs that were not tested there."""
    size = "" if entry.operation_bytes is None else f" of {entry.operation_bytes / 1024:g} KiB"
    if entry.latency_seconds is None:
        return f"{entry.direction}{size}: none was tested in all; {entry.said}"
    each = [
        f"{name} {'not tested' if value is None else iops(value)}"
        for name, value in zip(names, entry.ops_per_second, strict=True)
    ]
    first = entry.ops_per_second[0]
    if len(each) == 2 and first and entry.ops_per_second[1] is not None:
        each[1] += f" ({entry.ops_per_second[1] / first - 1:+.1%})"
    remark = f"; {entry.said}" if entry.said else ""
    return f"{entry.direction}{size} at {duration(entry.latency_seconds)}: {', '.join(each)}{remark}"


def _table(comparison: Comparison) -> Table:
    header = (
        "steps",
        "direction",
        "outstanding",
        "IOPS before",
        "after",
        "change",
        "latency before",
        "after",
        "change",
    )
    table = Table(*header, box=None, padding=(0, 1, 0, 0))
    for pair in comparison.pairs:
        steps = pair.before_step if pair.before_step == pair.after_step else f"{pair.before_step} > {pair.after_step}"
        table.add_row(
            Text(printable(steps)),
            pair.direction,
            count(pair.in_flight),
            iops(pair.before.ops_per_second).removesuffix(" IOPS"),
            iops(pair.after.ops_per_second).removesuffix(" IOPS"),
            f"{pair.throughput_change:+.1%} ±{pair.spread:.1%}",
            duration(pair.before.latency_seconds.mean),
            duration(pair.after.latency_seconds.mean),
            f"{pair.latency_change:+.1%}",
        )
    return table
