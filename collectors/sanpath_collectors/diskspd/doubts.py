"""What a person should know of a timespan's results before they rely on them."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath_collectors.diskspd.outcome import SpanOutcome

_DASHES = ("-", "\N{EN DASH}", "\N{EM DASH}", "\N{MINUS SIGN}")
_SHORTER_SECONDS = 2.0


def doubts(span: SpanOutcome) -> Iterator[tuple[str, str]]:
    """Code and text of each."""
    here = f"timespan {span.number}"
    for path in dict.fromkeys([target.path for target in span.settings.targets] + list(span.targets)):
        if path.startswith(_DASHES):
            text = f"{here}: the target {path!r} looks like an option that begins with another kind of dash"
            yield "dash-path", f"{text}: DiskSpd took it for a file and ran with its defaults"
    if not span.adds_up:
        text = f"{here}: the rows of the threads do not come to the total row within 1 %"
        yield "rows-do-not-add-up", f"{text}: the total row is used"
    asked, ran, told = span.asked_threads, span.stated_threads, len(span.threads)
    if ran is not None and (ran != told or (asked is not None and asked != ran)):
        wanted = "an unknown number of" if asked is None else asked
        text = f"{here}: {wanted} threads were asked for, {ran} ran and {told} have results"
        yield "threads-differ", f"{text}: how many I/Os were in flight is uncertain"
    if span.cut == "latencies":
        yield "cut-file", f"{here}: the file ends within its percentiles"
    if span.settings.seconds and span.seconds and span.seconds < span.settings.seconds - _SHORTER_SECONDS:
        yield "interrupted", f"{here}: it ran for {span.seconds:g} of {span.settings.seconds:g} seconds"


def useless(span: SpanOutcome) -> tuple[str, str] | None:
    """Why it has no results; None: it has."""
    here = f"timespan {span.number}"
    if span.unmeasured:
        return "interrupted", f"{here}: it was interrupted before its measured part began: run it again"
    if span.cut == "figures":
        return "cut-file", f"{here}: the file ends before its results do: they are left out"
    if not span.seconds or not span.targets:
        return "no-figures", f"{here}: neither the time it took nor the I/Os it did can be read"
    return None
