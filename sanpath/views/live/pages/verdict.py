"""The verdict on the screen: what limits, where, why, the law between latency and load, what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from sanpath.verdict.model import Bottleneck, Diagnosis
from sanpath.verdict.units import count, duration, iops
from sanpath.views import words
from sanpath.views.live.layout import NARROW, cut, line, wrapped
from sanpath.views.live.pages.now import Now
from sanpath.views.live.reading.shown_verdict import CONFIRMED_WINDOWS, JUDGED_WINDOWS, Steady, Told

_STYLES = {"bottleneck": "bold white on red", "cannot_tell": "bold black on yellow", "healthy": "bold white on green"}
_OTHERWISE = "bold white on blue"


def headline(steady: Steady, told: Told, now: Now, at_seconds: float, width: int) -> Text:
    """The verdict in one line, and when it was judged; a narrow screen has room for its first words only.
    `at_seconds`: of the run."""
    verdict = told.step.verdict
    measured = told.step.windows_used >= JUDGED_WINDOWS
    style = _STYLES.get(verdict.kind, _OTHERWISE) if measured else _STYLES["cannot_tell"]
    word = (words.KINDS[verdict.kind] if measured else f"{words.KINDS[verdict.kind]}?", style)
    if width < NARROW:
        return cut(line(word), width)
    windows = f"{told.step.windows_used} windows"
    if not measured:
        windows += f", {JUDGED_WINDOWS} are needed"
    text = line(word, f"  step {told.step.name}, grade {verdict.grade}, {windows}")
    if now.changed:
        text.append_text(line("  ", ("CHANGED", "bold reverse")))
    if steady.doubt is not None:
        text.append_text(line((f"  changing? {_other(steady.doubt, told)}", "yellow")))
    if now.judged_ago_seconds is not None:
        ago = f"  judged {now.judged_ago_seconds:.0f} s ago, at {words.elapsed(at_seconds)}"
        text.append_text(line((ago, "dim")))
    return cut(text, width)


def changed(steady: Steady, told: Told, width: int) -> list[Text]:
    """What the verdict was before it changed, and what made it change; [] where it has not."""
    before = steady.before
    if before is None:
        return []
    newer = before.step.name != told.step.name
    why = (
        f"step {told.step.name} has {told.step.windows_used} windows of its own"
        if newer
        else f"{CONFIRMED_WINDOWS} more windows of it say otherwise"
    )
    return wrapped("was", f"{_other(before, told)} in step {before.step.name}; {why}", width)


def _other(other: Told, told: Told) -> str:
    """In a few words, how another verdict differs from that which is shown."""
    if other.step.verdict.kind != told.step.verdict.kind or not other.bottlenecks:
        return words.KINDS[other.step.verdict.kind].lower()
    return " and ".join(
        words.short(entity) for entity in (other.bottlenecks[0].entity, *other.bottlenecks[0].coincident)
    )


def where(told: Told, width: int) -> list[Text]:
    """Where, and what latency and load have to do with each other."""
    same: dict[frozenset[str], list[Bottleneck]] = {}
    for bottleneck in told.bottlenecks:
        same.setdefault(frozenset((bottleneck.entity, *bottleneck.coincident)), []).append(bottleneck)
    lines = [text for together in same.values() for text in _where(together, width)]
    return lines + wrapped("R", _law(told), width)


def why(told: Told, width: int) -> list[Text]:
    """The evidence, the strongest first."""
    because = told.bottlenecks[0].because if told.bottlenecks else told.step.verdict.because
    return [
        text
        for number, sentence in enumerate(because)
        for text in wrapped("why" if number == 0 else "", sentence, width)
    ]


def remedy(diagnosis: Diagnosis, width: int) -> list[Text]:
    """The first thing to do about it."""
    for fix in diagnosis.plan[:1]:
        said = "; ".join(fix.commands) or fix.scope
        return wrapped("fix", f"{fix.platform} ({words.DISRUPTION[fix.disruption]}): {said}", width)
    return []


def overturned_by(told: Told, width: int) -> list[Text]:
    """What would be another verdict."""
    first = [b.overturn_if[0] for b in told.bottlenecks if b.overturn_if]
    return wrapped("unless", first[0], width) if first else []


def _where(together: Sequence[Bottleneck], width: int) -> Iterator[Text]:
    """One limit, which may hold in both directions."""
    first = together[0]
    elements = " and ".join(words.short(entity) for entity in (first.entity, *first.coincident))
    yield from wrapped("where", f"{elements}, {' and '.join(b.direction for b in together)}", width, "bold")
    if first.culprit:
        suffer = ", ".join(words.short(victim) for victim in first.victims)
        yield from wrapped("", f"held up by {words.short(first.culprit)}; {suffer or 'others'} suffer", width)


def _law(told: Told) -> str:
    """Little's law of the step: what latency follows from the I/Os in flight and the throughput."""
    results = told.step.directions
    latencies = ", ".join(f"{name} {duration(result.latency_seconds.mean)}" for name, result in results.items())
    in_flight = told.step.in_flight.measured
    rate = sum(result.ops_per_second for result in results.values())
    if not in_flight or not rate:
        return latencies
    of = told.step.in_flight.configured
    filled = f" of {count(of)}" if of and abs(of - in_flight) > 0.05 * of else ""
    law = f"{count(in_flight)}{filled} in flight / {iops(rate)}"
    return f"{latencies} = {law}" if len(results) == 1 else f"{latencies}; {law} = {duration(in_flight / rate)}"
