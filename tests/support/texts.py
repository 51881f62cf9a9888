"""Every text that a reader may meet, and where; `python -m tests.support.texts` lists them to be read in one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from sanpath.catalogue.catalogue import facts
from sanpath.cli import app
from sanpath.rulebook.rule_files import load_rulebook
from sanpath.views import cells, markdown, text, words
from tests.support.stories import STORIES, diagnosed

Text = tuple[str, str]
"""(where it stands, the text)."""

ROOT = Path(__file__).parents[2]
CODE = ("sanpath", "collectors/sanpath_collectors")


def of_rules() -> Iterator[Text]:
    """Titles, summaries, reasons and remedies."""
    for rule in load_rulebook():
        yield from ((f"{rule.id} {part}", getattr(rule, part)) for part in ("title", "summary", "why", "not_if"))
        for number, fix in enumerate(rule.fix, 1):
            yield from (
                (f"{rule.id} fix {number} {part}", str(getattr(fix, part)))
                for part in ("platform", "action", "scope", "verify", "undo")
                if getattr(fix, part)
            )


def of_help() -> Iterator[Text]:
    """Commands and their options."""
    waiting: list[tuple[str, object]] = [("sanpath", get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        yield name, str(getattr(command, "help", "") or "")
        for option in getattr(command, "params", []):
            yield f"{name} {option.name}", str(getattr(option, "help", "") or "")
        waiting += [(f"{name} {own}", sub) for own, sub in getattr(command, "commands", {}).items()]


def of_code() -> Iterator[Text]:
    """Sentences in the code: messages, errors and headings, in views, commands, the configuration and collectors."""
    for path in sorted(file for folder in CODE for file in (ROOT / folder).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        yield from ((f"{where}:{line}", said) for line, said in literals(path.read_text(encoding="utf-8")))


def literals(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each literal of two words or more that is no docstring; {…} stands for what varies."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in node.values]
            if " " in "".join(parts).strip():
                yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value
        waiting += reversed(list(ast.iter_child_nodes(node))) if not isinstance(node, ast.JoinedStr) else []
        if isinstance(node, ast.JoinedStr):
            waiting += [part.value for part in node.values if isinstance(part, ast.FormattedValue)]


def of_catalogue() -> Iterator[Text]:
    """What the facts mean."""
    yield from ((f"{table}.{name}", fact.meaning) for table, known in facts().items() for name, fact in known.items())


def of_words() -> Iterator[Text]:
    """Fixed words of the views."""
    for group in (words.TITLES, words.LAYERS, words.GRADES, words.DISRUPTION, words.PURPOSES, cells.CLOCKS):
        yield from group.items()
    yield from (("header", cell) for cell in (*cells.STEP_HEADER, *cells.ELEMENT_HEADER, *cells.RECORDER_HEADER))


def of_first_screens() -> Iterator[Text]:
    """The first screen of every story."""
    for name in STORIES:
        summary = diagnosed(name).summary
        lines = (summary.verdict, summary.consequence, summary.acquittal, summary.action, summary.gain)
        yield from ((name, line) for line in lines if line)


def of_reports() -> Iterator[Text]:
    """Whole reports of every story."""
    for name in STORIES:
        yield f"{name}, terminal", text.render(diagnosed(name), 118)
        yield f"{name}, Markdown", markdown.render(diagnosed(name))


def texts() -> Iterator[Text]:
    """All but whole reports."""
    for group in (of_words, of_first_screens, of_rules, of_help, of_catalogue, of_code):
        yield from group()


if __name__ == "__main__":
    for where, reported in texts():
        print(f"{where}: {reported}")
