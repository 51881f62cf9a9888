"""The current state on the screen: the clock, the step, the figures of the load, and the busiest links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.masking import printable
from sanpath.units import bandwidth, duration, iops, outstanding, percent
from sanpath.views import words
from sanpath.views.live.layout import LABEL, NARROW, Part, cut, line
from sanpath.views.progress import no_figures, step_time

if TYPE_CHECKING:
    from sanpath.facts.load.loads import LoadFacts
    from sanpath.pulse.model import LinkNow, Pulse

OLD_SECONDS = 3.0
"""Figures of the load older than this are shown with their age."""
CHANGED_SECONDS = 15.0
"""How long a change of the verdict is highlighted."""
BUSY, FULL = 0.8, 0.95
"""Utilisation from which a link is yellow, and from which it is red: 0.95 as in the rule link-full."""


@dataclass(frozen=True, slots=True)
class Now:
    """The pulse for the screen, and the age of its verdict.

    `pulse` None: the recording has ended, or does not exist yet. `judged_ago_seconds`: since the snapshot of the
    verdict was taken, None: unknown. `changed_ago_seconds`: since the verdict changed, None: it never has. `hint`: a
    line for the user of a demo, "" for none.
    """

    pulse: Pulse | None = None
    judged_ago_seconds: float | None = None
    changed_ago_seconds: float | None = None
    hint: str = ""

    @property
    def changed(self) -> bool:
        """Whether the verdict has just changed."""
        return self.changed_ago_seconds is not None and self.changed_ago_seconds < CHANGED_SECONDS


def step_now(pulse: Pulse) -> Text:
    """The current step, its time so far and its planned time."""
    if not pulse.step:
        return Text()
    return line(f"  step {pulse.step}  {step_time(pulse)}")


_ALL_PERCENTILES = 100
"""From this number of columns on all percentiles are shown, otherwise only the 99th."""


def now_lines(pulse: Pulse, width: int) -> list[Text]:
    """The figures of the load, the busiest links, and the reason for a probe's step: a line each."""
    indent = LABEL if width >= NARROW else 0
    rows = [("now", load_text(pulse, width >= _ALL_PERCENTILES)), ("links", links_text(pulse, width - indent))]
    if pulse.step_why:
        rows.append(("why", line(printable(pulse.step_why))))
    return [cut(line((f"{head:<{indent}}" if indent else "", "dim")).append_text(text), width) for head, text in rows]


def load_text(pulse: Pulse, all_percentiles: bool) -> Text:
    """Throughput, latency and I/Os in flight of each direction. Percentiles are since the beginning of the step."""
    if not pulse.loads:
        return line((no_figures(pulse), "dim"))
    text = line()
    for number, load in enumerate(pulse.loads):
        text.append_text(line("   " if number else "", *_direction(load, all_percentiles)))
    if pulse.loads_age_seconds > OLD_SECONDS:
        text.append_text(line((f"   {pulse.loads_age_seconds:.0f} s ago", "yellow")))
    return text


def _direction(load: LoadFacts, all_percentiles: bool) -> Iterator[Part]:
    yield f"{load.direction} ", "dim"
    yield iops(load.ops_per_second), "bold"
    yield f"  {bandwidth(load.bytes_per_second)}  {duration(load.latency_seconds)}"
    percentiles = (
        ("p50", load.p50_seconds),
        ("p95", load.p95_seconds),
        ("p99", load.p99_seconds),
        ("max", load.slowest_seconds),
    )
    for name, seconds in percentiles if all_percentiles else percentiles[2:3]:
        if seconds is not None:
            yield f" {name} ", "dim"
            yield duration(seconds)
    yield f"  {outstanding(load.in_flight_measured)}"


_EQUALLY_BUSY = 0.1
"""Links whose utilisation rounds to the same multiple of this are sorted by name."""


def links_text(pulse: Pulse, width: int) -> Text:
    """The busiest links, as many as fit."""
    text = line()
    # Equally busy links keep their places instead of swapping every second.
    links = sorted(
        pulse.current_links, key=lambda link: (-round(link.utilisation / _EQUALLY_BUSY), link.entity, link.direction)
    )
    for number, link in enumerate(links):
        segment = line("  " if number else "", *_link(link))
        if number and text.cell_len + segment.cell_len > width:
            break
        text.append_text(segment)
    return text if links else line(("no figures yet", "dim"))


def _link(link: LinkNow) -> Iterator[Part]:
    yield f"{words.short(link.entity)} {link.direction} "
    style = "bold red" if link.utilisation >= FULL else "yellow" if link.utilisation >= BUSY else "green"
    yield percent(link.utilisation), style
