"""Names of entities for people."""

from __future__ import annotations


def short_name(entity: str) -> str:
    """Return the name of an entity without its kind; a link is its two ends: sw1/fc1/7 - fa1/CT0.FC0."""
    return (entity.partition(":")[2] or entity).replace("--", " - ")
