"""The verdict on the screen: the limit, the evidence, Little's law of the step, and the first action."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.units import count, counted, duration, iops
from sanpath.views import words
from sanpath.views.first_screen import first_step
from sanpath.views.live.layout import NARROW, cut, line, wrapped
from sanpath.views.live.reading.shown_verdict import CONFIRMED_WINDOWS, DebouncedVerdict, ShownVerdict
from sanpath.views.progress import JUDGED_WINDOWS

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Bottleneck, Diagnosis
    from sanpath.views.live.pages.now import Now

_STYLES = {"bottleneck": "bold white on red", "cannot_tell": "bold black on yellow", "healthy": "bold white on green"}
_OTHER_STYLE = "bold white on blue"


def headline(debounced: DebouncedVerdict, verdict: ShownVerdict, now: Now, at_seconds: float, width: int) -> Text:
    """The verdict in one line, and its age; a narrow screen has room for its first words only. `at_seconds`: when it
    was judged, seconds after the start of the run."""
    step_verdict = verdict.step.verdict
    measured = verdict.step.windows_used >= JUDGED_WINDOWS
    style = _STYLES.get(step_verdict.kind, _OTHER_STYLE) if measured else _STYLES["cannot_tell"]
    word = (words.KINDS[step_verdict.kind] if measured else f"{words.KINDS[step_verdict.kind]}?", style)
    if width < NARROW:
        return cut(line(word), width)
    used = verdict.step.windows_used
    windows = counted(used, "window") if measured else f"{used} of {JUDGED_WINDOWS} windows"
    text = line(word, f" step {verdict.step.name}, confidence {step_verdict.grade}, {windows}")
    if now.changed:
        text.append_text(line("  ", ("CHANGED", "bold reverse")))
    if debounced.candidate is not None:
        text.append_text(line((f"  changing? {_difference(debounced.candidate, verdict)}", "yellow")))
    if now.judged_ago_seconds is not None:
        ago = f"  judged {now.judged_ago_seconds:.0f} s ago, at {words.elapsed(at_seconds)}"
        text.append_text(line((ago, "dim")))
    return cut(text, width)


def changed(debounced: DebouncedVerdict, verdict: ShownVerdict, width: int) -> list[Text]:
    """The verdict before the last change, and the reason for the change; [] if it has not changed."""
    previous = debounced.previous
    if previous is None:
        return []
    is_newer_step = previous.step.name != verdict.step.name
    reason = (
        f"step {verdict.step.name} has {counted(verdict.step.windows_used, 'window')} of its own"
        if is_newer_step
        else f"{CONFIRMED_WINDOWS} more windows of the step show something else"
    )
    return wrapped("was", f"{_difference(previous, verdict)} in step {previous.step.name}; {reason}", width)


def _difference(candidate: ShownVerdict, verdict: ShownVerdict) -> str:
    """The difference between a verdict and the shown one, in a few words."""
    if candidate.step.verdict.kind != verdict.step.verdict.kind or not candidate.bottlenecks:
        title = words.TITLES[candidate.step.verdict.kind]
        return f"{title[:1].lower()}{title[1:]}"
    return " and ".join(words.short(entity) for entity in candidate.bottlenecks[0].elements)


def limits(verdict: ShownVerdict, width: int) -> list[Text]:
    """The limiting elements, and Little's law of the step."""
    by_elements: dict[frozenset[str], list[Bottleneck]] = {}
    for bottleneck in verdict.bottlenecks:
        by_elements.setdefault(frozenset(bottleneck.elements), []).append(bottleneck)
    lines = [text for bottlenecks in by_elements.values() for text in _limit(bottlenecks, width)]
    return lines + wrapped("R", _law(verdict), width)


def evidence(verdict: ShownVerdict, width: int) -> list[Text]:
    """The evidence, strongest first."""
    because = verdict.bottlenecks[0].because if verdict.bottlenecks else verdict.step.verdict.because
    return [
        text
        for number, sentence in enumerate(because)
        for text in wrapped("why" if number == 0 else "", words.sentence(sentence), width)
    ]


def remedy(diagnosis: Diagnosis, width: int) -> list[Text]:
    """The first action, as in the report, and its commands."""
    action, step = diagnosis.summary.action, first_step(diagnosis)
    if action is None:
        return []
    if step is None:
        return wrapped("next", action, width)
    cost, commands = words.DISRUPTION[step.disruption], "; ".join(step.commands) or step.scope
    return wrapped("fix" if step.purpose == "limit" else "next", f"{action} ({cost}): {commands}", width)


def overturned_by(verdict: ShownVerdict, width: int) -> list[Text]:
    """What would overturn the verdict."""
    first = [b.overturn_if[0] for b in verdict.bottlenecks if b.overturn_if]
    return wrapped("unless", first[0], width) if first else []


def _limit(bottlenecks: Sequence[Bottleneck], width: int) -> Iterator[Text]:
    """A limit, which may apply to both directions."""
    first = bottlenecks[0]
    elements = " and ".join(words.short(entity) for entity in first.elements)
    yield from wrapped("where", f"{elements}, {' and '.join(b.direction for b in bottlenecks)}", width, "bold")
    if first.culprit:
        suffer = ", ".join(words.short(victim) for victim in first.victims)
        yield from wrapped("", f"held up by {words.short(first.culprit)}; {suffer or 'other devices'} suffer", width)


def _law(verdict: ShownVerdict) -> str:
    """Little's law of the step: the latency that follows from I/Os in flight and throughput."""
    results = verdict.step.directions
    latencies = ", ".join(f"{name} {duration(result.latency_seconds.mean)}" for name, result in results.items())
    in_flight = verdict.step.in_flight.measured
    rate = verdict.step.ops_per_second
    if not in_flight or not rate:
        return latencies
    configured = verdict.step.in_flight.configured
    differs = configured is not None and abs(configured - in_flight) > 0.05 * configured
    of_configured = f" of {count(configured)}" if configured and differs else ""
    law = f"{count(in_flight)}{of_configured} outstanding / {iops(rate)}"
    return f"{latencies} = {law}" if len(results) == 1 else f"{latencies}; {law} = {duration(in_flight / rate)}"
