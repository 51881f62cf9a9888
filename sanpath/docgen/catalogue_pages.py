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
        "# Metrics\n",
        "The metrics that the samples of a recording may have. Units are base units after scaling.\n",
        "## Planes of latency\n",
        "The latency of a plane includes those of all planes below it in this table.\n",
    ]
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
