"""The comparison of two runs as text and as JSON."""

from __future__ import annotations

import io

from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sanpath.verdict.compare import Comparison
from sanpath.verdict.units import count, duration, iops
from sanpath.views.json import escaped
from sanpath.views.words import printable


def as_json(comparison: Comparison) -> str:
    """One JSON object, indented, with a line end."""
    return escaped(TypeAdapter(Comparison).dump_json(comparison, indent=2).decode()) + "\n"


def as_text(comparison: Comparison, width: int | None = None) -> str:
    """Headline, one row a pair of steps, what has no peer, and the prediction beside what came."""
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
    text = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _table(comparison: Comparison) -> Table:
    header = (
        "steps",
        "direction",
        "in flight",
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
