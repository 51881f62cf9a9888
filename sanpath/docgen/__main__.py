"""`python -m sanpath.docgen` writes every generated document; --check names the stale ones and exits with 1."""

from __future__ import annotations

import sys
from pathlib import Path

from sanpath.docgen import (
    catalogue_pages,
    cli_page,
    collector_readme,
    entities_page,
    prometheus_page,
    rule_pages,
    schemas,
)
from sanpath.rulebook.rule_files import load_rulebook

ROOT = Path(__file__).parents[2]


def generated() -> dict[str, str]:
    """Path below the root of the checkout → content, for the pages that are generated completely."""
    return {
        **catalogue_pages.documents(ROOT),
        **cli_page.documents(),
        **entities_page.documents(),
        **prometheus_page.documents(),
        **schemas.documents(),
        **rule_pages.documents(load_rulebook()),
    }


def write(check_only: bool) -> list[str]:
    """Bring every document up to date, and remove pages of rules that no longer exist.

    Returns those that were stale; with `check_only` they are left as they are.
    """
    stale = [str(path.relative_to(ROOT)) for path in collector_readme.write(check_only)]
    documents = generated()
    for name, content in documents.items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        stale.append(name)
        if not check_only:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    for page in (ROOT / rule_pages.FOLDER).glob("*.md"):
        name = str(page.relative_to(ROOT))
        if name not in documents:
            stale.append(name)
            if not check_only:
                page.unlink()
    return stale


if __name__ == "__main__":
    check = "--check" in sys.argv[1:]
    written = write(check)
    for name in written:
        print(f"{name} {'is stale: run `make docs`' if check else 'brought up to date'}")
    sys.exit(bool(check and written))
