"""A YAML file that a person wrote, with the line of every key: so that a mistake is told with its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from sanpath.errors import ConfigError, UsageError
from sanpath.yaml_text import MOST_VALUES, TooMuchError, compose


@dataclass(frozen=True, slots=True)
class Document:
    """Where the keys of a file stand: place in the data, from the outside in → line. `warnings`: what is no mistake,
    and still to be mended."""

    path: Path
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def error(self, where: Sequence[str | int], problem: str) -> ConfigError:
        """The mistake at a key, or at the nearest key above it that stands in the text."""
        at = tuple(where)
        while at and at not in self.lines:
            at = at[:-1]
        key = ".".join(str(part) for part in where)
        return ConfigError(self.path, self.lines.get(at), key, problem)


def read_document(path: Path) -> tuple[Document, Any]:
    """Where everything stands, and the data itself. Raises ConfigError for what is not YAML or has a key twice,
    UsageError when the file cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text") from error
    try:
        loader, tree = compose(text)
        document = Document(path)
        _note_lines(document, tree, ())
        raw = None if tree is None else loader.construct_document(tree)
    except TooMuchError as error:
        raise ConfigError(path, error.line, "", f"{error.problem}: that is more than anybody writes") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise ConfigError(path, line, "", f"not valid YAML: {_without_values(error.problem)}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(path, None, "", f"not valid YAML: {_without_values(str(error))}") from error
    return document, raw


def unknown_key(key: str, accepted: Sequence[str]) -> str:
    """What is said of a key that there is not."""
    return f"unknown key; {near(key, accepted)}accepted: {', '.join(accepted)}"


def near(word: str, accepted: Sequence[str]) -> str:
    """A question for what was probably meant; "" when nothing is alike."""
    alike = get_close_matches(word, accepted, n=1)
    return f"did you mean {alike[0]}? " if alike else ""


def _without_values(problem: str | None) -> str:
    """One line. YAML quotes the word it stumbled over (*alias, !tag): it may be a secret that was written down."""
    return " ".join(re.sub(r"'[^']{3,}'", "'…'", problem or "").split())


def _note_lines(
    document: Document, node: yaml.Node | None, at: tuple[str | int, ...], above: tuple[yaml.Node, ...] = ()
) -> None:
    """Note the line of every key. Raises ConfigError for a key given twice, of which YAML would keep the last."""
    if node is None or node in above:
        return
    if len(document.lines) > MOST_VALUES:  # A few aliases of aliases stand for billions.
        line = node.start_mark.line + 1
        raise ConfigError(
            document.path, line, "", f"more than {MOST_VALUES:,} values; write out what *aliases repeat"
        )
    document.lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(document.path, line, "", "a key is a list or a mapping: write a word")
            if (here := (*at, key.value)) in document.lines:
                raise ConfigError(
                    document.path, line, ".".join(map(str, here)), f"given before, in line {document.lines[here]}"
                )
            document.lines[here] = line
            _note_lines(document, value, here, (*above, node))
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _note_lines(document, value, (*at, number), (*above, node))
