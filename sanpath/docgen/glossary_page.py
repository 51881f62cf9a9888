"""docs/glossary.md, and the table of words in README.md, from the catalogue."""

from __future__ import annotations

from pathlib import Path

from sanpath.catalogue.load import glossary
from sanpath.docgen.markdown import GENERATED, table, with_sections

_INTRODUCTION = """\
# Glossary

These words mean the same in reports, documents and code. The last column is the spelling in the code and in the JSON
contract.
"""


def documents(root: Path) -> dict[str, str]:
    """Path below the root of the checkout → content; README.md as it is there, with its table replaced."""
    rows = [(term.term, term.meaning, f"`{term.code}`" if term.code else "") for term in glossary()]
    words = table(("word", "meaning"), [(term.term, term.meaning) for term in glossary() if term.first])
    readme = (root / "README.md").read_text(encoding="utf-8")
    return {
        "docs/glossary.md": f"{GENERATED}\n{_INTRODUCTION}\n{table(('term', 'meaning', 'in the code'), rows)}",
        "README.md": with_sections(readme, {"words": words.rstrip()}),
    }
