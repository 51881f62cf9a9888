"""The facts of each fact table; whether each is a number, a truth value or a name; and suggestions for misspelt
names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Literal

from sanpath.catalogue import catalogue
from sanpath.facts.table import FactValue

FactKind = Literal["number", "truth", "name"]

LAYERS: Mapping[str, str] = {
    "load": "load",
    "virtual_disk": "guest",
    "plane": "host",
    "device": "host",
    "multipath": "host",
    "initiator": "host",
    "host": "host",
    "control_group": "host",
    "cluster_node": "host",
    "link": "fabric",
    "switch_port": "fabric",
    "tcp_connection": "fabric",
    "array_port": "array_front",
    "array_front": "array_front",
    "controller": "array_front",
    "array": "array_back",
    "volume": "array_back",
    "media": "array_back",
    "path_pair": "whole path",
    "peer": "whole path",
    "source": "data",
    "figure": "data",
}
"""Fact table → the layer of its rules, in the order of the I/O path; the last four belong to no layer."""


def fact_kinds(table: str) -> dict[str, FactKind]:
    """Return fact name → kind, by the unit in the catalogue. Raises KeyError for an unknown table."""
    return {name: _kind(fact.unit) for name, fact in catalogue.facts()[table].items()}


def units(table: str) -> dict[str, str]:
    """Return fact name → unit, including `entity`, which every row has in addition to its facts."""
    return {"entity": "name"} | {name: fact.unit for name, fact in catalogue.facts()[table].items()}


def finite_or_none(value: FactValue) -> FactValue:
    """Return the value, or None for infinity and NaN: a rate over zero time is unknown, not infinite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_kind(value: FactValue, kind: FactKind) -> bool:
    """Return whether a value is valid for a fact of this kind. None (unknown) always is."""
    if value is None:
        return True
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, bool if kind == "truth" else str)


def _kind(unit: str) -> FactKind:
    if unit == "truth":
        return "truth"
    return "name" if unit == "name" else "number"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `; did you mean 'utilisation'?`, or an empty string if no name is similar."""
    # difflib's default cutoff of 0.6 misses truncated words: "utill" against "utilisation" scores 0.5.
    similar = get_close_matches(name, list(names), n=1, cutoff=0.45)
    return f"; did you mean {similar[0]!r}?" if similar else ""
