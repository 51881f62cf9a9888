"""What sources said during the run that they could not read, or only coarsely, in words of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sanpath.facts.compute import Facts
from sanpath.facts.load.load_events import SourceEvents
from sanpath.model import Event, Scalar
from sanpath.verdict.model import Unobserved
from sanpath.verdict.step_judgement import WINDOWS

_NAMED = 4
"""Of many alike so many are named, and the number of the others."""

Detail = Mapping[str, Scalar]
_SAYS: Mapping[str, Callable[[Detail], tuple[str, str, str] | None]] = {
    "counters-missing": lambda d: (*_halves(str(d.get("text", ""))), "what rests on them was not judged"),
    "facts-unknown": lambda d: (
        f"{d.get('what') or 'settings'} of {d.get('entity')}",
        str(d.get("why")),
        str(d.get("consequence") or "what rests on it was not judged"),
    ),
    "no-samples": lambda d: (
        f"what {d.get('entity')} does",
        str(d.get("why")),
        "nothing of it is known from then on",
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
    "host-state": lambda d: _host(d),
    "vm-stopped": lambda d: (
        f"what {d.get('vm')} does",
        f"it is {d.get('state')}",
        "nothing of it is known from then on",
    ),
}
"""Name of an event → what, why and consequence; None: it says nothing of the kind."""


def admitted(events: SourceEvents) -> list[Unobserved]:
    """One entry for what a source said, however often; of many alike the first few."""
    found: dict[tuple[str, str], dict[Unobserved, None]] = {}
    for source, event in events:
        if (said := _said(event)) is not None:
            what, why, consequence = said
            found.setdefault((source, event.name), {})[Unobserved(f"{what} ({source})", why, consequence)] = None
    return [entry for (source, name), told in found.items() for entry in _few(source, name, list(told))]


def _few(source: str, name: str, told: list[Unobserved]) -> list[Unobserved]:
    if len(told) <= _NAMED:
        return told
    left = Unobserved(
        f"{len(told) - _NAMED} more like it ({source})", f"the recording has them as {name}", "the same"
    )
    return [*told[:_NAMED], left]


def _said(event: Event) -> tuple[str, str, str] | None:
    says = _SAYS.get(event.name)
    return says(event.detail) if says is not None else None


def _host(detail: Detail) -> tuple[str, str, str] | None:
    """A host that is away or not to be relied on; that it is back says nothing."""
    if detail.get("to") == "connected":
        return None
    before = f", and was {detail['from']}" if detail.get("from") else ""
    return f"what {detail.get('host')} does", f"it is {detail.get('to')}{before}", str(detail.get("consequence"))


def _halves(text: str) -> tuple[str, str]:
    """What is missing, and what that means."""
    what, _, why = text.rpartition(": ")
    return what or text, why


def coarse(facts: Facts) -> list[Unobserved]:
    """Things whose source tells means over minutes, where a step has fewer than four of them."""
    longest = max((step.end - step.start for step in facts.steps), default=0) / 1e6
    found: dict[float, list[str]] = {}
    for entity in facts.topology.entities.values():
        seconds = entity.attributes.get("samples_cover_seconds")
        if isinstance(seconds, int | float) and seconds * WINDOWS > longest:
            found.setdefault(float(seconds), []).append(entity.label)
    return [
        Unobserved(
            f"what changes within {seconds / 60:g} minutes at {_names(labels)}",
            f"their source keeps means of {seconds / 60:g} minutes, and the longest step took {longest / 60:.1f}",
            f"findings on them rest on fewer than {WINDOWS} means, which {seconds * WINDOWS / 60:g} minutes have",
        )
        for seconds, labels in sorted(found.items())
    ]


def _names(labels: list[str]) -> str:
    more = f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else ""
    return ", ".join(sorted(labels)[:_NAMED]) + more
