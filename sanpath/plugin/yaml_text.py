"""Reading untrusted YAML: the library is imported on first use, not by every collector."""

from __future__ import annotations

from typing import Any


def read_yaml(text: str) -> Any:
    """Parse a YAML text. Raises ValueError with a message of one line: it is not YAML, or exceeds the limits."""
    from sanpath import yaml_text

    return yaml_text.read_yaml(text)
