"""`build.py FOLDER`: the Markdown documents of the checkout as a site with search, which works from file://.

The pages are the documents as they lie in the repository, so that their links hold. The navigation is the list of
docs/README.md. Nothing in the result asks for another machine.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import mkdocs.commands.build
import mkdocs.config
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", "docs/**/*.md", "collectors/**/*.md", "rules/**/*.md", "lab/**/*.md", "examples/**/*.md")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
_SECTION = re.compile(r"\*\*([^*]+)\*\*")
_ENTRY = re.compile(r"\[([^\]]+)\]\(([^)#:]+\.md)\)")
_MARKER = re.compile(r"(?:[-*+]|\d+[.)]) +")


def build(site: Path) -> None:
    """Write the site into a folder, which is replaced. Exits with a message for a broken link (mkdocs is strict)."""
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder) / "pages"
        _stage(pages)
        config = mkdocs.config.load_config(
            str(Path(__file__).with_name("mkdocs.yml")),
            docs_dir=str(pages),
            site_dir=str(site.absolute()),
            nav=_navigation(),
        )
        mkdocs.commands.build.build(config)


def _stage(pages: Path) -> None:
    """Copy every document and what it links to; a linked folder becomes a link to its README."""
    for pattern in PAGES:
        for document in ROOT.glob(pattern):
            text = document.read_text(encoding="utf-8")
            for target in _LINK.findall(text):
                path = (document.parent / target).resolve()
                if path.is_file() and path.suffix != ".md":
                    _copy(path, pages)
                if path.is_dir() and (path / "README.md").exists():
                    text = text.replace(f"]({target})", f"]({target.rstrip('/')}/README.md)")
            staged = pages / document.relative_to(ROOT)
            staged.parent.mkdir(parents=True, exist_ok=True)
            staged.write_text(for_python_markdown(text), encoding="utf-8")
    assets = pages / "assets"
    assets.mkdir()
    shutil.copy(Path(__file__).with_name("iframe-worker.js"), assets)


def _copy(path: Path, pages: Path) -> None:
    staged = pages / path.relative_to(ROOT)
    staged.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, staged)


def for_python_markdown(text: str) -> str:
    """Indent what stands in lists by four columns a level, and put an empty line before a list.

    CommonMark, as the documents are written, indents it by the width of the marker; Python-Markdown needs this form.
    """
    lines = text.splitlines()
    items = [token.map for token in MarkdownIt().enable("table").parse(text) if token.type == "list_item_open"]
    lists = [token.map for token in MarkdownIt().parse(text) if token.type.endswith("list_open")]
    indented = list(lines)
    for first, end in (item for item in items if item):
        if (marker := _MARKER.match(indented[first].lstrip())) is None:
            continue
        depth = len(indented[first]) - len(indented[first].lstrip())
        width = depth + len(marker.group())
        for number in range(first + 1, end):
            line = indented[number]
            if line[:width].strip() == "" and line.strip():
                indented[number] = " " * (depth + 4) + line[width:]
    starts = {first for first, _ in (span for span in lists if span)}
    return "".join(
        f"\n{line}\n" if number in starts and number and lines[number - 1].strip() else f"{line}\n"
        for number, line in enumerate(indented)
    )


def _navigation() -> list[dict[str, Any]]:
    """The sections of docs/README.md with the links of their lists, and the collectors."""
    sections: dict[str, list[dict[str, str]]] = {}
    for line in (ROOT / "docs/README.md").read_text(encoding="utf-8").splitlines():
        if (section := _SECTION.match(line)) is not None:
            entries = sections.setdefault(section.group(1).rstrip("?:"), [])
        for title, target in _ENTRY.findall(line):
            page = (ROOT / "docs" / target).resolve().relative_to(ROOT)
            entries.append({title[0].upper() + title[1:]: str(page)})
    folders = sorted((ROOT / "collectors/sanpath_collectors").glob("*/README.md"))
    sections["Collectors"] = [{path.parent.name: str(path.relative_to(ROOT))} for path in folders]
    return [{"sanpath": "README.md"}, *({title: entries} for title, entries in sections.items())]


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")  # used as a library, mkdocs prints nothing
    build(Path(sys.argv[1]))
