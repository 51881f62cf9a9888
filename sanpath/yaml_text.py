"""YAML that people write: read once, as fast as libyaml does, and refused where nobody would have written it."""

from __future__ import annotations

from typing import Any

import yaml

_Fast: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_VALUES = 100_000
"""Nobody writes so many: each takes half a kilobyte while it is read."""
_DEEPEST = 100
"""libyaml reads events of any depth, but its nodes overflow the stack, which it does not guard: it bears 16,000
levels and not 30,000 (0.2.5, measured)."""
_SMALL = 8192
"""Characters up to which a text that is no YAML is read once more by Python alone, a hundred times as slowly: it says
better what is wrong."""


class TooMuchError(yaml.YAMLError):
    """It is YAML, but has more values, or is nested deeper, than anybody writes. `line`: from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


def compose(text: str) -> tuple[yaml.SafeLoader, yaml.Node | None]:
    """The loader of a text and its only document; `loader.construct_document(node)` makes data of it.

    Raises yaml.YAMLError: TooMuchError, or one that says where it is no YAML; ValueError and RecursionError come of
    the data.
    """
    try:
        _look(text)
        loader = _Fast(text)
        return loader, loader.get_single_node()
    except TooMuchError:
        raise
    except yaml.YAMLError:
        if len(text) > _SMALL:
            raise
    slow = yaml.SafeLoader(text)
    return slow, slow.get_single_node()


def read_yaml(text: str) -> Any:
    """What a YAML text says. Raises ValueError, of one line: it is no YAML, or more than anybody writes.

    >>> read_yaml("figures: [1, 2]")
    {'figures': [1, 2]}
    """
    try:
        loader, node = compose(text)
        return None if node is None else loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"not valid YAML: {str(error).splitlines()[0]}") from error


def _look(text: str) -> None:
    """Count values and depth without keeping any of them."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_Fast):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        values += isinstance(event, yaml.NodeEvent)
        if depth > _DEEPEST:
            raise TooMuchError(_line(event), f"nested too deep: more than {_DEEPEST} levels")
        if values > MOST_VALUES:
            raise TooMuchError(_line(event), f"more than {MOST_VALUES:,} values")


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1
