"""docs/metrics.md and docs/facts.md, from the catalogue."""

from __future__ import annotations

from sanpath.catalogue import load as catalogue
from sanpath.docgen.markdown import GENERATED, table


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    return {"docs/metrics.md": _metrics(), "docs/facts.md": _facts()}


def _metrics() -> str:
    parts = [
        GENERATED,
        "# Entities, links and metrics\n",
        "What a recording holds. Units are base units after scaling.\n",
    ]
    parts.append("## Entity kinds\n")
    parts.append(table(("kind", "what it is"), list(catalogue.kinds().items())))
    parts.append("## Links\n")
    parts.append(table(("relation", "between"), list(catalogue.relations().items())))
    parts.append("## Planes of latency\n")
    parts.append("A latency of one plane contains those of every plane below it.\n")
    planes = sorted(catalogue.planes().values(), key=lambda p: p.order)
    parts.append(table(("plane", "from where to where"), [(p.name, p.meaning) for p in planes]))
    for kind, metrics in catalogue.metrics().items():
        parts.append(f"## Samples of each {kind}\n")
        rows = [(f"`{m.name}`", m.kind, m.unit, m.meaning) for m in metrics.values()]
        parts.append(table(("metric", "kind", "unit", "meaning"), rows))
    return "\n".join(parts)


def _facts() -> str:
    parts = [GENERATED, "# Facts\n"]
    parts.append(
        "The facts that rules and verdict read: a table for each entity kind, a row for each entity, step and "
        "direction.\n"
    )
    for name, facts in catalogue.facts().items():
        parts.append(f"## {name}\n")
        rows = [(f"`{f.name}`", f.unit, f.meaning) for f in facts.values()]
        parts.append(table(("fact", "unit", "meaning"), rows))
    return "\n".join(parts)
