"""Sections of the overview below the verdict: budget, steps, sources, what to do, what is not seen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from sanpath.pulse.model import Pulse
from sanpath.verdict.model import Diagnosis, LatencyBudget, StepResult
from sanpath.verdict.units import duration
from sanpath.views import words
from sanpath.views.live.cursor import Cursor, Tab
from sanpath.views.live.layout import Section, bullet, cut, line, table, title, wrapped
from sanpath.views.live.reading.shown_verdict import Told
from sanpath.views.live.reading.snapshot import Look


def budget(diagnosis: Diagnosis, told: Told, cursor: Cursor, width: int) -> Section:
    """Where the latency of the step was spent, the direction with the higher latency unless one is chosen."""
    found = words.budgets_of(diagnosis, told.step.name)
    chosen = next((b for b in found if cursor.direction in (None, b.direction)), None)
    if chosen is None:
        return Section(3, 0, ())
    others = "".join(f"; {b.direction} {duration(b.total_seconds)}: d" for b in found if b is not chosen)
    head = f"where {duration(chosen.total_seconds)} go: {chosen.direction}, step {chosen.step}{others}"
    rows = [title(head, width), *_budget_rows(chosen, width)]
    return Section(3, len(rows), rows)  # Parts that do not sum to the whole would mislead.


def _budget_rows(shown: LatencyBudget, width: int) -> list[Text]:
    bar = max(6, min(40, (width - 44) // 2))
    rows = []
    for part in shown.parts:
        seconds = words.middle(part.seconds)
        limited = bool(part.limited_by)
        held = part.limited_by is not None and part.limited_by != part.entity
        what = f"caused by {words.short(part.limited_by or '')}: {part.what}" if held else part.what
        rows.append((words.LAYERS[part.layer], seconds, what, limited))
    rows.append(("rest", words.middle(shown.unexplained_seconds), "in no measured part", False))
    lines = []
    for layer, seconds, what, limited in rows:
        filled = words.bar(abs(seconds) / shown.total_seconds, bar)
        # What the limit makes wait is solid and red, what would remain without it is neither.
        filled, style = (filled, "red") if limited else (filled.replace("█", "▒"), "cyan")
        text = line(f"{layer:<15}{duration(seconds):>8} ", (f"{filled:<{bar}} ", style), what)
        lines.append(cut(text, width))
    return lines


def steps(shown_steps: Sequence[StepResult], told: Told | None, cursor: Cursor, width: int) -> Section:
    """Steps, of which the newest are kept; the one that the verdict is of is marked."""
    header = ["", *words.STEP_HEADER]
    cells = []
    for step in shown_steps:
        mark = "►" if told is not None and step.name == told.step.name else " "
        shown = [row for row in words.step_cells(step) if cursor.direction in (None, row[1]) or row[1] == "-"]
        if cursor.tab is Tab.steps:
            shown = [row for row in shown if cursor.wants(row[0], row[-1])]
        cells += [[mark, *row] for row in shown]
    if width < 90:  # N/X is said in words above.
        header, cells = _without(header, 7), [_without(row, 7) for row in cells]
    lines = [cut(text, width) for text in table([header, *cells], right=range(3, len(header) - 1))]
    lines[0].stylize("underline")
    return Section(8, 3, lines, newest=True)


def _without(row: Sequence[str], number: int) -> list[str]:
    return [*row[:number], *row[number + 1 :]]


def freshness(look: Look, pulse: Pulse | None, width: int) -> Text:
    """Every source with its age in one line, those in trouble first; by the pulse, where there is one."""
    ages = pulse.ages if pulse is not None else look.freshness
    accounts = {s.name: s for s in look.diagnosis.sources} if look.diagnosis else {}
    good: list[str] = []
    bad: list[str] = []
    for name, source in ages.items():
        account = accounts.get(name)
        failed = f", {account.failures} failed" if account is not None and account.failures else ""
        age = "no answer yet" if source.age_seconds is None else f"{source.age_seconds:.0f} s"
        if look.ended:
            age = f"{account.polls} times" if account is not None else ""
        late = source.late and not look.ended
        said = f"{name} {age}{' LATE' if late else ''}{failed}"
        (bad if late or failed else good).append(said)
    text = line(("polled " if ages else "no source is polled", "dim"))
    for number, said in enumerate([*bad, *good]):
        text.append_text(line("  " if number else "", (said, "bold red" if number < len(bad) else "")))
    return cut(text, width)


def sources(look: Look, diagnosis: Diagnosis, width: int) -> Section:
    """What reading every source came to."""
    rows = [["source", "collector", "each", "age", "polls", "failed", "gaps", "clock", "a poll"]]
    for source in diagnosis.sources:
        fresh = look.freshness.get(source.name)
        age = fresh.age_seconds if fresh is not None and not look.ended else None
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


_NO_FACTS = "facts of any "


def unseen(diagnosis: Diagnosis, width: int, rank: int = 6) -> Section:
    """What could not be seen, in full; of what no source tells any facts, only what that is."""
    told = [u for u in diagnosis.unobserved if not u.what.startswith(_NO_FACTS)]
    lines = [text for u in told for text in bullet(f"{u.what}: {u.why}", width)]
    kinds = [u.what.removeprefix(_NO_FACTS) for u in diagnosis.unobserved if u.what.startswith(_NO_FACTS)]
    lines += bullet(f"no source tells any facts of: {', '.join(kinds)}", width) if kinds else []
    return _listed("not seen", lines, width, rank)


def blind(diagnosis: Diagnosis, width: int) -> Section:
    """What could not be seen, in few words."""
    told = [u.what for u in diagnosis.unobserved if not u.what.startswith(_NO_FACTS)]
    told += [u.what.removeprefix(_NO_FACTS) for u in diagnosis.unobserved if u.what.startswith(_NO_FACTS)]
    said = ", ".join(told) or "nothing that was asked for"
    return Section(6, 1, wrapped("unseen", said, width), heading=0)


def do_next(diagnosis: Diagnosis, width: int) -> Section:
    """What to do, with its commands."""
    lines: list[Text] = []
    for step in diagnosis.plan:
        lines += wrapped(
            f"{step.number}", f"{step.action or step.platform} ({words.DISRUPTION[step.disruption]})", width
        )
        lines += [text for command in step.commands for text in wrapped("  $", command, width, "bold")]
    return _listed("do next", lines, width, rank=1)


def next_limit(diagnosis: Diagnosis, width: int) -> Section:
    """What limits once that is done."""
    told = words.next_text(diagnosis)
    return _listed("next limit", bullet(told, width) if told else [], width, rank=2)


def findings(diagnosis: Diagnosis, width: int) -> Section:
    """What rules found, one line each; causes come first."""
    lines = [
        cut(line(f"{f.role.upper():<7} ", f"{f.rule}  {words.short(f.entity)}"), width) for f in words.hits(diagnosis)
    ]
    return _listed("findings", lines, width, rank=4)


def _listed(head: str, lines: Sequence[Text], width: int, rank: int) -> Section:
    return Section(rank, 2, [title(head, width), *lines] if lines else ())
