"""docs/metrics.md and docs/facts.md, from the catalogue."""

from __future__ import annotations

from sanpath.catalogue import load as catalogue
from sanpath.docgen.markdown import GENERATED, table


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    return {"docs/metrics.md": _metrics(), "docs/facts.md": _facts()}


def _metrics() -> str:
    sections = [
        GENERATED,
        "# Entities, links and metrics\n",
        "What a recording holds. Units are base units after scaling.\n",
    ]
    sections.append("## Entity kinds\n")
    sections.append(table(("kind", "what it is"), list(catalogue.kinds().items())))
    sections.append("## Links\n")
    sections.append(table(("relation", "between"), list(catalogue.relations().items())))
    sections.append("## Planes of latency\n")
    sections.append("A latency of one plane contains those of every plane below it.\n")
    planes = sorted(catalogue.planes().values(), key=lambda p: p.order)
    sections.append(table(("plane", "from where to where"), [(p.name, p.meaning) for p in planes]))
    for kind, metrics in catalogue.metrics().items():
        sections.append(f"## Samples of each {kind}\n")
        rows = [(f"`{m.name}`", m.kind, m.unit, m.meaning) for m in metrics.values()]
        sections.append(table(("metric", "kind", "unit", "meaning"), rows))
    return "\n".join(sections)


def _facts() -> str:
    sections = [GENERATED, "# Facts\n"]
    sections.append(
        "The facts that rules and verdict read: a table for each entity kind, a row for each entity, step and "
        "direction.\n"
    )
    for name, facts in catalogue.facts().items():
        sections.append(f"## {name}\n")
        rows = [(f"`{f.name}`", f.unit, f.meaning) for f in facts.values()]
        sections.append(table(("fact", "unit", "meaning"), rows))
    return "\n".join(sections)
