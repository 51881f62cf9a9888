"""A YAML text as plain data, and the line on which each part of it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from sanpath.yaml_text import TooMuchError, compose

Place = tuple[str | int, ...]
"""Where something stands in the data: keys and list positions, from the outside in."""


class DocumentError(Exception):
    """The text is not usable YAML. `line` is 1-based, None when the mistake has no place."""

    def __init__(self, line: int | None, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


@dataclass(frozen=True, slots=True)
class Document:
    """What the text says, and where."""

    data: object
    lines: Mapping[Place, int]

    def line(self, place: Place) -> int:
        """The 1-based line of a place, or of the nearest one around it that is in the text."""
        while place not in self.lines:
            place = place[:-1]
        return self.lines[place]


def parse(data: bytes) -> Document:
    """Read one YAML document of mappings with text keys. Raises DocumentError.

    Aliases are refused, for a few lines of them unfold to gigabytes, and so is a key given twice, of which YAML
    would silently drop the first.
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


def _walk(node: yaml.Node, place: Place, lines: dict[Place, int], seen: set[int]) -> None:
    line = node.start_mark.line + 1
    lines.setdefault(place, line)
    if id(node) in seen:
        raise DocumentError(line, "aliases (*name) are not allowed")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            _walk(child, (*place, position), lines, seen)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            _walk_key(key, place, lines)
            _walk(child, (*place, key.value), lines, seen)


def _walk_key(key: yaml.Node, place: Place, lines: dict[Place, int]) -> None:
    line = key.start_mark.line + 1
    if key.tag != "tag:yaml.org,2002:str":
        raise DocumentError(line, f"the key {key.value!r} is not text: put it in quotes")
    if (*place, key.value) in lines:
        raise DocumentError(line, f"the key {key.value!r} is given twice")
    lines[*place, key.value] = line
