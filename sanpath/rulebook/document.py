"""Reads YAML text into plain data, with the line number of each element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from sanpath.yaml_text import TooMuchError, compose

Place = tuple[str | int, ...]
"""The position of an element in the data: keys and list indices, outermost first."""


class DocumentError(Exception):
    """The text is not valid YAML. `line`: 1-based; None: the mistake has no position."""

    def __init__(self, line: int | None, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


@dataclass(frozen=True, slots=True)
class Document:
    """The data of a YAML text, and the 1-based line of each element."""

    data: object
    lines: Mapping[Place, int]

    def line(self, place: Place) -> int:
        """Return the line of an element, or of the innermost enclosing one that is in the text."""
        while place not in self.lines:
            place = place[:-1]
        return self.lines[place]


def parse(data: bytes) -> Document:
    """Read one YAML document of mappings with text keys. Raises DocumentError.

    Aliases are refused, because a few lines of them expand to gigabytes. So are duplicate keys, of which YAML would
    silently drop the first.
    """
    try:
        loader, node = compose(data.decode("utf-8"))
        lines: dict[Place, int] = {(): 1}
        if node is not None:
            _walk(node, (), lines, set())
        return Document(None if node is None else loader.construct_document(node), lines)
    except UnicodeDecodeError:
        raise DocumentError(None, "the file is not UTF-8 text") from None
    except RecursionError:
        raise DocumentError(None, "nested too deep") from None
    except TooMuchError as error:
        raise DocumentError(error.line, error.problem) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DocumentError(line, f"not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(None, f"not valid YAML: {str(error).splitlines()[0]}") from None


def _walk(node: yaml.Node, place: Place, lines: dict[Place, int], visited: set[int]) -> None:
    line = node.start_mark.line + 1
    lines.setdefault(place, line)
    if id(node) in visited:
        raise DocumentError(line, "aliases (*name) are not allowed")
    visited.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            _walk(child, (*place, position), lines, visited)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            _walk_key(key, place, lines)
            _walk(child, (*place, key.value), lines, visited)


def _walk_key(key: yaml.Node, place: Place, lines: dict[Place, int]) -> None:
    line = key.start_mark.line + 1
    if key.tag != "tag:yaml.org,2002:str":
        raise DocumentError(line, f"the key {key.value!r} is not text: put it in quotes")
    if (*place, key.value) in lines:
        raise DocumentError(line, f"the key {key.value!r} is given twice")
    lines[*place, key.value] = line
