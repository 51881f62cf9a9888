"""Collects all texts that users may read, with their places. `python -m tests.support.texts` prints them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from sanpath.catalogue.catalogue import facts
from sanpath.cli import app
from sanpath.rulebook.rule_files import load_rulebook
from sanpath.views import cells, markdown, terminal_report, words
from tests.support.stories import STORIES, diagnosed

Text = tuple[str, str]
"""(place, text)."""

ROOT = Path(__file__).parents[2]
CODE = ("sanpath", "collectors/sanpath_collectors")


def rule_texts() -> Iterator[Text]:
    """Yield titles, summaries, reasons and remedies of rules."""
    for rule in load_rulebook():
        yield from ((f"{rule.id} {part}", getattr(rule, part)) for part in ("title", "summary", "why", "not_if"))
        for number, fix in enumerate(rule.fix, 1):
            yield from (
                (f"{rule.id} fix {number} {part}", str(getattr(fix, part)))
                for part in ("platform", "action", "scope", "verify", "undo")
                if getattr(fix, part)
            )


def help_texts() -> Iterator[Text]:
    """Yield the help texts of commands and options."""
    pending: list[tuple[str, object]] = [("sanpath", get_command(app))]
    while pending:
        name, command = pending.pop(0)
        yield name, str(getattr(command, "help", "") or "")
        for option in getattr(command, "params", []):
            yield f"{name} {option.name}", str(getattr(option, "help", "") or "")
        pending += [(f"{name} {own}", sub) for own, sub in getattr(command, "commands", {}).items()]


def code_texts() -> Iterator[Text]:
    """Yield sentences in the code: messages, errors and headings in views, commands, configuration and collectors."""
    for path in sorted(file for folder in CODE for file in (ROOT / folder).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        yield from ((f"{where}:{line}", literal) for line, literal in find_literals(path.read_text(encoding="utf-8")))


def find_literals(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each literal of two words or more, except docstrings. Variable parts are {…}."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values]
            if " " in "".join(parts).strip():
                yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value
        pending += reversed(list(ast.iter_child_nodes(node))) if not isinstance(node, ast.JoinedStr) else []
        if isinstance(node, ast.JoinedStr):
            pending += [part.value for part in node.values if isinstance(part, ast.FormattedValue)]


def catalogue_texts() -> Iterator[Text]:
    """Yield the meanings of facts."""
    yield from ((f"{table}.{name}", fact.meaning) for table, known in facts().items() for name, fact in known.items())


def fixed_words() -> Iterator[Text]:
    """Yield fixed words of the views."""
    for group in (words.TITLES, words.LAYERS, words.GRADES, words.DISRUPTION, words.PURPOSES, cells.CLOCKS):
        yield from group.items()
    yield from (("header", cell) for cell in (*cells.STEP_HEADER, *cells.ELEMENT_HEADER, *cells.RECORDER_HEADER))


def first_screen_texts() -> Iterator[Text]:
    """Yield the first screens of all stories."""
    for name in STORIES:
        summary = diagnosed(name).summary
        lines = (summary.verdict, summary.consequence, summary.acquittal, summary.action, summary.gain)
        yield from ((name, line) for line in lines if line)


def report_texts() -> Iterator[Text]:
    """Yield the whole reports of all stories."""
    for name in STORIES:
        yield f"{name}, terminal", terminal_report.render(diagnosed(name), 118)
        yield f"{name}, Markdown", markdown.render(diagnosed(name))


def all_texts() -> Iterator[Text]:
    """Yield all texts except whole reports."""
    for group in (fixed_words, first_screen_texts, rule_texts, help_texts, catalogue_texts, code_texts):
        yield from group()


if __name__ == "__main__":
    for where, reported in all_texts():
        print(f"{where}: {reported}")
