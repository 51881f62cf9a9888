"""Reads YAML that people write: with the line of every key, as fast as libyaml, and no larger than anybody writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from sanpath.errors import ConfigError, UsageError

Place = tuple[str | int, ...]
"""The position of an element in the data: keys and list indices, outermost first."""

_MAX_VALUES = 100_000
"""Nobody writes so many values: each takes half a kilobyte while it is read."""
_MAX_CHARACTERS = 8 << 20
"""The values that are accepted, _MAX_VALUES, have some 80 characters each. Some files never end."""
_MAX_LEVELS = 100
"""libyaml parses events of any depth, but composing nodes overflows the stack, which it does not guard.

libyaml 0.2.5 survives 16,000 levels but not 30,000 (measured).
"""
_SMALL_CHARACTERS = 8192
"""An invalid text of at most this length is parsed once more in pure Python: a hundred times slower, but with better
error messages."""
_TEXT_TAG = "tag:yaml.org,2002:str"
_FastLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class DocumentError(ValueError):
    """A text that cannot be used. `line` counts from 1; None: the mistake has no position.

    `key`: the keys that lead to the mistake, with dots between them; "": none.
    """

    def __init__(self, line: int | None, problem: str, key: str = "") -> None:
        super().__init__(problem)
        self.line, self.problem, self.key = line, problem, key


@dataclass(frozen=True, slots=True)
class Document:
    """The lines of the elements of a file: place → line number from 1.

    `warnings` are not mistakes, but the user should correct them.
    """

    path: Path
    lines: dict[Place, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def line(self, place: Sequence[str | int]) -> int | None:
        """Return the line of an element, or of the innermost enclosing one in the text. None: the text is empty."""
        known_place = tuple(place)
        while known_place and known_place not in self.lines:
            known_place = known_place[:-1]
        return self.lines.get(known_place)

    def error(self, place: Sequence[str | int], problem: str) -> ConfigError:
        """Return the error for a key, with its line or that of the nearest enclosing key in the text."""
        return ConfigError(self.path, self.line(place), ".".join(map(str, place)), problem)


def read_document(path: Path) -> tuple[Document, Any]:
    """Return the lines of a file's keys, and its data.

    Raises ConfigError for a file that is not YAML or has a key twice, UsageError when the file cannot be read.
    """
    text = read_text(path, _MAX_CHARACTERS + 1)
    if len(text) > _MAX_CHARACTERS:
        raise UsageError(f"{path}: is too long for a configuration file ({_MAX_CHARACTERS:,} characters)")
    try:
        lines, data = parse(text)
    except DocumentError as error:
        raise ConfigError(path, error.line, error.key, _without_values(error.problem)) from error
    return Document(path, lines), data


def read_text(path: Path, characters: int) -> str:
    """Return the first characters of a file. Raises UsageError: it cannot be read, or is not UTF-8."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(characters)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 text") from error


def parse(text: str, strict: bool = False) -> tuple[dict[Place, int], Any]:
    """Return the line of each element of a YAML text, and its data. Raises DocumentError.

    A key given twice is refused: YAML would silently use the last one. `strict`: so are aliases, and keys that are no
    text.
    """
    lines: dict[Place, int] = {}
    with _explained():
        loader, tree = _compose(text, aliases=not strict)
        if tree is not None:
            _note_lines(tree, (), lines, strict)
        return lines, None if tree is None else loader.construct_document(tree)


def read_yaml(text: str) -> Any:
    """Return the data of a YAML text.

    Raises ValueError with a message of one line: the text is not YAML, or is larger than anybody writes.

    >>> read_yaml("figures: [1, 2]")
    {'figures': [1, 2]}
    """
    with _explained():
        loader, tree = _compose(text)
        return None if tree is None else loader.construct_document(tree)


def unknown_key(key: str, accepted: Sequence[str]) -> str:
    """Return the message for an unknown key, with the accepted keys."""
    return f"unknown key; {suggestion(key, accepted)}accepted: {', '.join(accepted)}"


def suggestion(word: str, accepted: Sequence[str]) -> str:
    """Return a question that suggests the closest accepted word; "" when none is close."""
    matches = get_close_matches(word, accepted, n=1)
    return f"did you mean {matches[0]}? " if matches else ""


def _without_values(problem: str) -> str:
    """Return a YAML error as one line, without the word that it quotes (*alias, !tag): it may be a secret."""
    return " ".join(re.sub(r"'[^']{3,}'", "'…'", problem).split())


@contextmanager
def _explained() -> Iterator[None]:
    """Raise what PyYAML raises as DocumentError."""
    try:
        yield
    except DocumentError:
        raise
    except RecursionError:
        raise DocumentError(None, "nested too deep") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DocumentError(line, f"not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(None, f"not valid YAML: {str(error).splitlines()[0]}") from None


def _compose(text: str, aliases: bool = True) -> tuple[yaml.SafeLoader, yaml.Node | None]:
    """Return the loader of a text and its only document; `loader.construct_document(node)` builds the data."""
    try:
        _check_size(text, aliases)
        loader = _FastLoader(text)
        return loader, loader.get_single_node()
    except yaml.YAMLError:
        if len(text) > _SMALL_CHARACTERS:
            raise
    slow = yaml.SafeLoader(text)
    return slow, slow.get_single_node()


def _check_size(text: str, aliases: bool) -> None:
    """Raise DocumentError for too many values or levels, or for an alias where none is allowed. Nothing is stored."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_FastLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        values += isinstance(event, yaml.NodeEvent)
        line = 1 if event.start_mark is None else event.start_mark.line + 1
        if depth > _MAX_LEVELS:
            raise DocumentError(line, f"nested too deep: more than {_MAX_LEVELS} levels")
        if values > _MAX_VALUES:
            raise DocumentError(line, f"more than {_MAX_VALUES:,} values: that is more than a person would write")
        if isinstance(event, yaml.AliasEvent) and not aliases:
            raise DocumentError(line, "aliases (*name) are not allowed")


def _note_lines(
    node: yaml.Node, place: Place, lines: dict[Place, int], strict: bool, ancestors: tuple[yaml.Node, ...] = ()
) -> None:
    """Record the line of every element. Raises DocumentError for a key given twice, or one that is no word."""
    if node in ancestors:
        return
    line = node.start_mark.line + 1
    if len(lines) > _MAX_VALUES:  # A few aliases of aliases expand to billions of values.
        raise DocumentError(line, f"more than {_MAX_VALUES:,} values; write out what *aliases repeat")
    lines.setdefault(place, line)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise DocumentError(line, "a key is a list or a mapping: write a word")
            if strict and key.tag != _TEXT_TAG:
                raise DocumentError(line, f"the key {key.value!r} is not text: put it in quotes")
            child = (*place, key.value)
            if child in lines:
                raise DocumentError(line, f"given before, in line {lines[child]}", ".".join(map(str, child)))
            lines[child] = line
            _note_lines(value, child, lines, strict, (*ancestors, node))
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _note_lines(value, (*place, number), lines, strict, (*ancestors, node))
