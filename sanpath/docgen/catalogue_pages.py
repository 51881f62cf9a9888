"""docs/metrics.md, docs/facts.md, docs/glossary.md and the table of words in README.md, from the catalogue."""

from __future__ import annotations

from pathlib import Path

from sanpath.catalogue import catalogue
from sanpath.docgen.markdown import GENERATED, table, with_sections

_GLOSSARY = """\
# Glossary

These words mean the same in reports, documents and code. The last column is the spelling in the code and in the JSON
contract.
"""


def documents(root: Path) -> dict[str, str]:
    """Path below the root of the checkout → content; README.md as it is there, with its table replaced."""
    words = table(("word", "meaning"), [(term.term, term.meaning) for term in catalogue.glossary() if term.first])
    readme = (root / "README.md").read_text(encoding="utf-8")
    return {
        "docs/metrics.md": _metrics(),
        "docs/facts.md": _facts(),
        "docs/glossary.md": _glossary(),
        "README.md": with_sections(readme, {"words": words.rstrip()}),
    }


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


def _glossary() -> str:
    rows = [(term.term, term.meaning, f"`{term.code}`" if term.code else "") for term in catalogue.glossary()]
    return f"{GENERATED}\n{_GLOSSARY}\n{table(('term', 'meaning', 'in the code'), rows)}"
