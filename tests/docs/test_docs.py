"""The documents that people read: every link leads somewhere, and every command line is one that sanpath takes."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer.main
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sanpath.cli import app

ROOT = Path(__file__).parents[2]


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in _walked()]
    return sorted(name for name in names if name and not name.startswith("tests/") and (ROOT / name).is_file())


def _walked() -> Iterator[Path]:
    for folder in ("docs", "examples", "collectors", "rules", "lab"):
        yield from (ROOT / folder).rglob("*.md")
    yield from ROOT.glob("*.md")


@cache
def tokens(name: str) -> tuple[Token, ...]:
    parsed = MarkdownIt("commonmark").enable("table").parse((ROOT / name).read_text(encoding="utf-8"))
    return tuple(parsed)


def inline(name: str) -> Iterator[Token]:
    for token in tokens(name):
        yield from token.children or ()


@cache
def anchors(name: str) -> frozenset[str]:
    """What a `#…` may say, as code hosts make it of headings."""
    found: list[str] = []
    for before, token in zip(tokens(name), tokens(name)[1:], strict=False):
        if before.type == "heading_open":
            text = "".join(child.content for child in token.children or ())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return frozenset(found)


@pytest.mark.parametrize("name", tracked())
def test_every_link_leads_somewhere(name: str) -> None:
    for token in inline(name):
        target = token.attrGet("href") or token.attrGet("src")
        if target is None or urlsplit(str(target)).scheme:
            continue
        path, _, anchor = unquote(str(target)).partition("#")
        file = ((ROOT / name).parent / path).resolve() if path else ROOT / name
        assert file.exists(), f"{name}: {target}"
        if anchor:
            assert anchor in anchors(str(file.relative_to(ROOT))), f"{name}: {target}"


@pytest.mark.parametrize("name", tracked())
def test_no_table_is_folded_into_a_sentence(name: str) -> None:
    """Whoever fills the lines of a document anew must leave its tables alone."""
    assert not [token.content for token in inline(name) if re.search(r"\|[ :]*-{3,}[ :]*\|", token.content)]


def test_every_document_is_reached_from_the_first_page_or_that_of_the_documents() -> None:
    reached, waiting = set(), ["README.md", "docs/README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"]
    while waiting:
        name = waiting.pop()
        if name in reached or not name.endswith(".md"):
            continue
        reached.add(name)
        for token in inline(name):
            path = unquote(str(token.attrGet("href") or "")).partition("#")[0]
            file = ((ROOT / name).parent / path).resolve()
            if path and "://" not in path and file.is_file() and file.is_relative_to(ROOT):
                waiting.append(str(file.relative_to(ROOT)))
    assert {name for name in tracked() if name.startswith("docs/")} <= reached


def command_lines(name: str) -> Iterator[tuple[str, bool]]:
    """(command line, whether it is a whole one): those of code blocks are, those inside a sentence need not be. What
    is marked as text is what a program says."""
    for token in tokens(name):
        if token.type in ("fence", "code_block") and token.info != "text":
            for line in token.content.replace("\\\n", " ").splitlines():
                line = line.strip().removeprefix("$ ")
                if line.startswith("sanpath "):
                    yield line, True
    for token in inline(name):
        if token.type == "code_inline" and re.match(r"sanpath [a-z-]", token.content) and "…" not in token.content:
            yield token.content, False


@cache
def sanpath_command() -> Any:
    return typer.main.get_command(app)  # typer keeps its copy of click private


def refused(line: str, whole: bool) -> str:
    """Why sanpath would not take a command line; "" when it would."""
    words = shlex.split(re.split(r"\s[|>#&]|;", line)[0])[1:]
    command = sanpath_command()
    try:
        context = command.make_context("sanpath", words, resilient_parsing=not whole)
        while hasattr(command, "resolve_command"):
            rest = [*getattr(context, "_protected_args", ()), *context.args]
            if not rest:
                return "" if not whole else "a command is missing"
            name, command, rest = command.resolve_command(context, rest)
            context = command.make_context(name, rest, parent=context, resilient_parsing=not whole)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("name", tracked())
def test_every_command_line_is_taken(name: str) -> None:
    wrong = {line: why for line, whole in command_lines(name) if (why := refused(line, whole))}
    assert not wrong


def test_the_check_refuses_what_sanpath_refuses() -> None:
    assert refused("sanpath run --into x.sanpath -- fio job.fio", True) == ""
    assert refused("sanpath import results.csv --into night.sanpath", True) == ""
    for line in (
        "sanpath runs",
        "sanpath run --intoo x",
        "sanpath redact only-one",
        "sanpath run --format xml",
        "sanpath",
    ):
        assert refused(line, True), line


def test_options_that_a_sentence_names_exist() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in tracked():
        if name.startswith(("docs/guides/", "docs/README", "docs/concepts")):
            for token in inline(name):
                if token.type == "code_inline" and token.content.startswith("--"):
                    assert f"`{token.content.split()[0]}" in page, f"{name}: {token.content}"


def _options(command: Any) -> Iterator[str]:
    """Every name of every option of a command and of those below it."""
    for parameter in command.params:
        if parameter.name != "help":
            yield from (name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("-"))
    for child in getattr(command, "commands", {}).values():
        yield from _options(child)


def test_the_page_of_the_command_line_has_every_option_and_its_opposite() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    missing = {name for name in _options(typer.main.get_command(app)) if not re.search(rf"[` ]{name}[`, ]", page)}
    assert missing - {"--install-completion", "--show-completion", "--version"} == set()
    assert "--example" in page
