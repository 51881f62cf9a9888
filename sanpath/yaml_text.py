"""Parse YAML that people write, as fast as libyaml does, and refuse sizes that nobody writes by hand."""

from __future__ import annotations

from typing import Any

import yaml

_FastLoader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_VALUES = 100_000
"""Nobody writes so many values: each takes half a kilobyte while it is read."""
_MOST_LEVELS = 100
"""libyaml parses events of any depth, but composing nodes overflows the stack, which it does not guard.

libyaml 0.2.5 survives 16,000 levels but not 30,000 (measured).
"""
_SMALL_CHARACTERS = 8192
"""An invalid text of at most this length is parsed once more in pure Python: a hundred times slower, but with better
error messages."""


class TooMuchError(yaml.YAMLError):
    """The text is YAML, but has more values or deeper nesting than anybody writes. `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


def compose(text: str) -> tuple[yaml.SafeLoader, yaml.Node | None]:
    """Return the loader of a text and its only document; `loader.construct_document(node)` builds the data.

    Raises TooMuchError, or another yaml.YAMLError with the position at which the text is not YAML. Building the data
    may raise ValueError and RecursionError.
    """
    try:
        _check_size(text)
        loader = _FastLoader(text)
        return loader, loader.get_single_node()
    except TooMuchError:
        raise
    except yaml.YAMLError:
        if len(text) > _SMALL_CHARACTERS:
            raise
    slow = yaml.SafeLoader(text)
    return slow, slow.get_single_node()


def read_yaml(text: str) -> Any:
    """Return the data of a YAML text.

    Raises ValueError with a message of one line: the text is not YAML, or is larger than anybody writes.

    >>> read_yaml("figures: [1, 2]")
    {'figures': [1, 2]}
    """
    try:
        loader, node = compose(text)
        return None if node is None else loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"not valid YAML: {str(error).splitlines()[0]}") from error


def _check_size(text: str) -> None:
    """Raise TooMuchError for too many values or levels. No value is stored."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_FastLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        values += isinstance(event, yaml.NodeEvent)
        if depth > _MOST_LEVELS:
            raise TooMuchError(_line(event), f"nested too deep: more than {_MOST_LEVELS} levels")
        if values > MOST_VALUES:
            raise TooMuchError(_line(event), f"more than {MOST_VALUES:,} values")


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1
