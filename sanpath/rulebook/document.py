"""A YAML text as plain data, and the line on which each part of it stands."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

_Fast: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SMALL = 8192
"""Characters up to which a text cannot nest deep enough to overflow the stack of libyaml, which does not guard it: it
bears 16,000 levels and not 30,000 (measured with 0.2.5). It reads ten times as fast."""

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
        loader, node = _compose(data.decode("utf-8"))
        lines: dict[Place, int] = {(): 1}
        if node is not None:
            _walk(node, (), lines, set())
        return Document(None if node is None else loader.construct_document(node), lines)
    except UnicodeDecodeError:
        raise DocumentError(None, "the file is not UTF-8 text") from None
    except RecursionError:
        raise DocumentError(None, "nested too deep") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DocumentError(line, f"not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(None, f"not valid YAML: {str(error).splitlines()[0]}") from None


def _compose(text: str) -> tuple[yaml.SafeLoader, yaml.Node | None]:
    if len(text) <= _SMALL:
        with contextlib.suppress(yaml.YAMLError):  # The other one says better what is wrong.
            loader = _Fast(text)
            return loader, loader.get_single_node()
    loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


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
