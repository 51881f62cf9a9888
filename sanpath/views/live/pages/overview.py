"""Sections of the overview below the verdict: budget, steps, sources, actions, and what is not measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from sanpath.units import counted, duration
from sanpath.views import cells, words
from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.layout import ROLE_LABELS, Section, bullet, cut, line, table, title, wrapped

if TYPE_CHECKING:
    from sanpath.diagnosis.model import Diagnosis, LatencyBudget, StepResult
    from sanpath.pulse.model import Pulse
    from sanpath.views.live.reading.shown_verdict import ShownVerdict
    from sanpath.views.live.reading.snapshot import Snapshot


def budget(diagnosis: Diagnosis, verdict: ShownVerdict, cursor: Cursor, width: int) -> Section:
    """The parts of the step's latency, for the direction with the higher latency unless one is chosen."""
    budgets = words.budgets_of(diagnosis, verdict.step.name)
    chosen = next((b for b in budgets if cursor.direction in (None, b.direction)), None)
    if chosen is None:
        return Section(3, 0, ())
    other_directions = "".join(f"; {b.direction} {duration(b.total_seconds)}: d" for b in budgets if b is not chosen)
    head = f"where {duration(chosen.total_seconds)} go: {chosen.direction}, step {chosen.step}{other_directions}"
    rows = [title(head, width), *_budget_rows(chosen, width)]
    return Section(3, len(rows), rows)  # A part of the rows would mislead: their sum is the latency.


def _budget_rows(shown: LatencyBudget, width: int) -> list[Text]:
    bar = max(6, min(40, (width - 44) // 2))
    rows = []
    for part in words.timed_parts(shown):
        seconds = words.midpoint(part.seconds)
        limited = bool(part.limited_by)
        limited_elsewhere = part.limited_by is not None and part.limited_by != part.entity
        cause = f"caused by {words.short(part.limited_by or '')}: " if limited_elsewhere else ""
        rows.append((words.layer_text(part), seconds, f"{cause}{words.sentence(part.what)}", limited))
    name, place = words.remainder_of(shown)
    rows.append((name, words.midpoint(shown.unexplained_seconds), place, False))
    lines = []
    for layer, seconds, description, limited in rows:
        filled = words.bar(abs(seconds) / shown.total_seconds, bar)
        # Waits caused by the limit are solid and red; time that would remain without it is neither.
        filled, style = (filled, "red") if limited else (filled.replace("█", "▒"), "cyan")
        text = line(f"{layer:<16}{duration(seconds):>8} ", (f"{filled:<{bar}} ", style), description)
        lines.append(cut(text, width))
    return lines


def steps(shown_steps: Sequence[StepResult], verdict: ShownVerdict | None, cursor: Cursor, width: int) -> Section:
    """The steps; the newest if not all fit. The step of the verdict is marked."""
    header = ["", *cells.STEP_HEADER]
    rows = []
    for step in shown_steps:
        mark = "►" if verdict is not None and step.name == verdict.step.name else " "
        shown = [row for row in cells.step_cells(step) if cursor.direction in (None, row[1]) or row[1] == "-"]
        if cursor.tab is Tab.steps:
            shown = [row for row in shown if cursor.matches(row[0], row[-1])]
        rows += [[mark, *row] for row in shown]
    rows = [header, *rows]
    if width < 90:  # The sum is in the text above.
        rows = [[*row[:7], *row[8:]] for row in rows]
    lines = [cut(text, width) for text in table(rows, right=range(3, len(rows[0]) - 1))]
    lines[0].stylize("underline")
    return Section(8, 3, lines, newest=True)


def freshness(snapshot: Snapshot, pulse: Pulse | None, width: int) -> Text:
    """Every source with its age in one line, failing ones first. The ages are those of the pulse if there is one."""
    ages = pulse.ages if pulse is not None else snapshot.freshness
    accounts = {s.name: s for s in snapshot.diagnosis.sources} if snapshot.diagnosis else {}
    healthy: list[str] = []
    failing: list[str] = []
    for name, source in ages.items():
        account = accounts.get(name)
        failed = f", {account.failures} failed" if account is not None and account.failures else ""
        age = "no answer yet" if source.age_seconds is None else f"{source.age_seconds:.0f} s"
        if snapshot.ended:
            age = counted(account.polls, "poll") if account is not None else ""
        late = source.late and not snapshot.ended
        source_text = f"{name} {age}{' LATE' if late else ''}{failed}"
        (failing if late or failed else healthy).append(source_text)
    text = line(("polled " if ages else "no source is polled", "dim"))
    for number, source_text in enumerate([*failing, *healthy]):
        text.append_text(line("  " if number else "", (source_text, "bold red" if number < len(failing) else "")))
    return cut(text, width)


def sources(snapshot: Snapshot, diagnosis: Diagnosis, width: int) -> Section:
    """Polls, failures, gaps and clock of every source."""
    rows = [["source", "collector", "every", "age", "polls", "failed", "gaps", "clock", "a poll"]]
    for source in diagnosis.sources:
        fresh = snapshot.freshness.get(source.name)
        age = fresh.age_seconds if fresh is not None and not snapshot.ended else None
        offset = source.clock_offset_seconds
        rows.append(
            [
                source.name,
                source.kind,
                f"{fresh.every_seconds:g} s" if fresh is not None else "",
                f"{age:.0f} s" if age is not None else "-",
                f"{source.polls:,}",
                f"{source.failures:,}",
                f"{source.gaps:,}",
                f"{offset:+.1f} s" if offset is not None else "-",
                duration(source.cost_seconds / source.polls) if source.polls else "-",
            ]
        )
    lines = [cut(text, width) for text in table(rows, right=range(2, 9))]
    lines[0].stylize("underline")
    return Section(9, 2, lines)


def unseen(diagnosis: Diagnosis, width: int, rank: int = 6) -> Section:
    """What was not measured, with reasons."""
    lines = [text for u in diagnosis.unobserved for text in bullet(f"{u.what}: {u.why}", width)]
    return _listed("not measured", lines, width, rank)


def blind(diagnosis: Diagnosis, width: int) -> Section:
    """What was not measured, in one line."""
    text = ", ".join(u.what for u in diagnosis.unobserved) or "nothing"
    return Section(6, 1, wrapped("", f"not measured: {text}", width), heading=0)


def do_next(diagnosis: Diagnosis, width: int) -> Section:
    """The actions with their commands."""
    lines: list[Text] = []
    for step in diagnosis.plan:
        lines += wrapped(
            f"{step.number}", f"{step.action or step.platform} ({words.DISRUPTION[step.disruption]})", width
        )
        for variant in step.on_each_platform:
            if step.variants:
                lines += wrapped("", words.platform(variant.platform), width)
            lines += [text for command in variant.commands for text in wrapped("  $", command, width, "bold")]
    return _listed("do next", lines, width, rank=1)


def next_limit(diagnosis: Diagnosis, width: int) -> Section:
    """The next limit after the actions."""
    text = words.next_text(diagnosis)
    return _listed("next limit", bullet(text, width) if text else [], width, rank=2)


def findings(diagnosis: Diagnosis, width: int) -> Section:
    """The findings of the rules, one line each, causes first."""
    lines = [
        cut(line(f"{ROLE_LABELS[f.role]:<7} ", f"{f.rule}  {words.short(f.entity)}"), width)
        for f in words.hits(diagnosis)
    ]
    return _listed("findings", lines, width, rank=4)


def _listed(head: str, lines: Sequence[Text], width: int, rank: int) -> Section:
    return Section(rank, 2, [title(head, width), *lines] if lines else ())
