"""Read a YAML file written by a person with the line of every key, so that a mistake is reported with its line."""

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

_MOST_CHARACTERS = 8 << 20
"""The values that are accepted, MOST_VALUES, have some 80 characters each. Some files never end."""


@dataclass(frozen=True, slots=True)
class Document:
    """The lines of the keys of a file.

    `lines` maps the place in the data, from the outermost key inwards, to the line number from 1. `warnings` are not
    mistakes, but the user should correct them.
    """

    path: Path
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def error(self, place: Sequence[str | int], problem: str) -> ConfigError:
        """Return the error for a key, with its line or that of the nearest enclosing key in the text."""
        known_place = tuple(place)
        while known_place and known_place not in self.lines:
            known_place = known_place[:-1]
        key = ".".join(str(step) for step in place)
        return ConfigError(self.path, self.lines.get(known_place), key, problem)


def read_document(path: Path) -> tuple[Document, Any]:
    """Return the lines of a file's keys, and its data.

    Raises ConfigError for a file that is not YAML or has a key twice, UsageError when the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MOST_CHARACTERS + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text") from error
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(f"{path}: is too long for a configuration file ({_MOST_CHARACTERS:,} characters)")
    try:
        loader, tree = compose(text)
        document = Document(path)
        _note_lines(document, tree, ())
        raw = None if tree is None else loader.construct_document(tree)
    except TooMuchError as error:
        raise ConfigError(path, error.line, "", f"{error.problem}: that is more than a person would write") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise ConfigError(path, line, "", f"not valid YAML: {_without_values(error.problem)}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(path, None, "", f"not valid YAML: {_without_values(str(error))}") from error
    return document, raw


def unknown_key(key: str, accepted: Sequence[str]) -> str:
    """Return the message for an unknown key, with the accepted keys."""
    return f"unknown key; {suggestion(key, accepted)}accepted: {', '.join(accepted)}"


def suggestion(word: str, accepted: Sequence[str]) -> str:
    """Return a question that suggests the closest accepted word; "" when none is close."""
    matches = get_close_matches(word, accepted, n=1)
    return f"did you mean {matches[0]}? " if matches else ""


def _without_values(problem: str | None) -> str:
    """Return a YAML error as one line, without the word that it quotes (*alias, !tag): it may be a secret."""
    return " ".join(re.sub(r"'[^']{3,}'", "'…'", problem or "").split())


def _note_lines(
    document: Document, node: yaml.Node | None, place: tuple[str | int, ...], ancestors: tuple[yaml.Node, ...] = ()
) -> None:
    """Record the line of every key.

    Raises ConfigError for a key given twice: YAML would silently use the last one.
    """
    if node is None or node in ancestors:
        return
    if len(document.lines) > MOST_VALUES:  # A few aliases of aliases expand to billions of values.
        line = node.start_mark.line + 1
        raise ConfigError(
            document.path, line, "", f"more than {MOST_VALUES:,} values; write out what *aliases repeat"
        )
    document.lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(document.path, line, "", "a key is a list or a mapping: write a word")
            if (child := (*place, key.value)) in document.lines:
                raise ConfigError(
                    document.path, line, ".".join(map(str, child)), f"given before, in line {document.lines[child]}"
                )
            document.lines[child] = line
            _note_lines(document, value, child, (*ancestors, node))
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _note_lines(document, value, (*place, number), (*ancestors, node))
