"""What sources reported that they could not read, or could read only coarsely, in words for the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sanpath.diagnosis.model import Unobserved
from sanpath.facts.facts import Facts
from sanpath.facts.load.load_events import SourceEvents
from sanpath.facts.samples.step_samples import MIN_WINDOWS
from sanpath.facts.table import number
from sanpath.model import Event, Scalar
from sanpath.recording.format.documents import Declaration
from sanpath.units import first_of
from sanpath.verdict.evidence.step import uncounted_cables

_MAX_NAMED = 4
"""Largest number of similar entries that are named; the others are counted."""
_POLL_RATIO = 0.7
"""Recommended poll interval as a share of the shortest time in which a counter wraps: polls may be late."""

Detail = Mapping[str, Scalar]
_TRANSLATIONS: Mapping[str, Callable[[Detail], tuple[str, str, str] | None]] = {
    "counters-missing": lambda d: (*_split_text(str(d.get("text", ""))), "nothing that needs them was judged"),
    "facts-unknown": lambda d: (
        f"{d.get('what') or 'settings'} of {d.get('entity')}",
        str(d.get("why")),
        str(d.get("consequence") or "nothing that needs it was judged"),
    ),
    "no-samples": lambda d: (
        f"the activity of {d.get('entity')}",
        str(d.get("why")),
        "its activity is not known",
    ),
    "values-missing": lambda d: (
        f"{d.get('series')} series of {d.get('entity')}",
        str(d.get("why")),
        "they were left out",
    ),
    "samples-late": lambda d: (
        "the latest samples",
        f"they came {d.get('seconds')} s late",
        "the end of the run may be missing",
    ),
    "host-state": lambda d: _host_state(d),
    "vm-stopped": lambda d: (
        f"the activity of {d.get('vm')}",
        f"it is {d.get('state')}",
        "its later activity is not known",
    ),
}
"""Name of an event → what, why and consequence; None: it reports nothing missing."""


def reported_gaps(events: SourceEvents) -> list[Unobserved]:
    """One entry for each distinct report of a source, however often it was repeated; of many similar ones, only the
    first few."""
    by_event: dict[tuple[str, str], dict[Unobserved, None]] = {}
    for source, event in events:
        if (words := _translated(event)) is not None:
            subject, reason, consequence = words
            by_event.setdefault((source, event.name), {})[
                Unobserved(f"{subject} ({source})", reason, consequence)
            ] = None
    return [
        entry for (source, name), entries in by_event.items() for entry in _first_few(source, name, list(entries))
    ]


def _first_few(source: str, name: str, entries: list[Unobserved]) -> list[Unobserved]:
    if len(entries) <= _MAX_NAMED:
        return entries
    remaining = Unobserved(
        f"{len(entries) - _MAX_NAMED} more like it ({source})",
        f"they are the events {name} of the recording",
        "the same",
    )
    return [*entries[:_MAX_NAMED], remaining]


def _translated(event: Event) -> tuple[str, str, str] | None:
    translate = _TRANSLATIONS.get(event.name)
    return translate(event.detail) if translate is not None else None


def _host_state(detail: Detail) -> tuple[str, str, str] | None:
    """The entry for a host that is disconnected or unreliable. None: the host is connected again."""
    if detail.get("to") == "connected":
        return None
    before = f", and was {detail['from']}" if detail.get("from") else ""
    return (
        f"the activity of {detail.get('host')}",
        f"it is {detail.get('to')}{before}",
        str(detail.get("consequence")),
    )


def _split_text(text: str) -> tuple[str, str]:
    """What is missing, and the consequence."""
    subject, _, reason = text.rpartition(": ")
    return subject or text, reason


def uncounted_links(facts: Facts, declarations: Sequence[Declaration]) -> Iterator[Unobserved]:
    """Links on the loads' paths whose bytes no source counts, or only in counters that wrap between two polls. A
    32-bit counter is no evidence for a link that can move 2^32 bytes in that time (RFC 2863 section 3.1.6)."""
    every_seconds = {each.name: each.every_seconds for each in declarations if _counts_bytes_in_32_bits(each)}
    roots = {root for load in facts.loads for root in load.roots}
    for cable in uncounted_cables(facts, roots, {load.direction for load in facts.loads}):
        rows = facts.tables["link"].select(entity=cable.id)
        if any(row["miscounts"] for row in rows):
            continue  # Reported with the links whose counters miss bytes.
        rate = max((number(row, "negotiated_bits_per_second") / 8 for row in rows), default=0.0)
        sources = {source for source, _ in facts.topology.entities[cable.switch_port].known_as}
        wrapping = sorted(name for name in sources & every_seconds.keys() if rate * every_seconds[name] >= 2**32)
        if not wrapping:
            reason = "no step has two samples of them" if rows else "neither end is read"
            yield Unobserved(cable.id, f"its bytes are not measured: {reason}", "it may be saturated")
            continue
        reason = f"{wrapping[0]} counts its bytes in 32 bits, which can wrap between two polls"
        remedy = f"poll it every {_POLL_RATIO * 2**32 / rate:.1g} s, or let it be read in 64 bits"
        yield Unobserved(cable.id, reason, f"it may be saturated: {remedy}")


def _counts_bytes_in_32_bits(declaration: Declaration) -> bool:
    """Whether all byte counters of its switch ports have 32 bits."""
    columns = [column for table in declaration.tables if table.kind == "switch_port" for column in table.columns]
    widths = {column.bits for column in columns if column.metric in ("bytes_rx_total", "bytes_tx_total")}
    return widths == {32}


def coarse_sources(facts: Facts) -> list[Unobserved]:
    """Entities whose source reports means over minutes, if a step has fewer than four of them."""
    longest = max((step.end - step.start for step in facts.steps), default=0) / 1e6
    labels_by_seconds: dict[float, list[str]] = {}
    for entity in facts.topology.entities.values():
        seconds = entity.attributes.get("samples_cover_seconds")
        if isinstance(seconds, int | float) and seconds * MIN_WINDOWS > longest:
            labels_by_seconds.setdefault(float(seconds), []).append(entity.label)
    return [
        Unobserved(
            f"changes within {seconds / 60:g} minutes at {first_of(sorted(labels), _MAX_NAMED)}",
            f"their source reports means over {seconds / 60:g} minutes, and the longest step took {longest / 60:.1f}",
            f"findings about them rest on fewer than {MIN_WINDOWS} means: those take "
            f"{seconds * MIN_WINDOWS / 60:g} minutes",
        )
        for seconds, labels in sorted(labels_by_seconds.items())
    ]
