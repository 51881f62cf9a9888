"""Which facts a fact table has, and whether each is a number, a truth or a name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from sanpath.catalogue import load as catalogue
from sanpath.facts.table import FactValue

Kind = Literal["number", "truth", "name"]

LAYERS: Mapping[str, str] = {
    "load": "load",
    "virtual_disk": "guest",
    "plane": "host",
    "device": "host",
    "multipath": "host",
    "initiator": "host",
    "host": "host",
    "cluster_node": "host",
    "link": "fabric",
    "switch_port": "fabric",
    "array_port": "array_front",
    "array_front": "array_front",
    "controller": "array_front",
    "array": "array_back",
    "volume": "array_back",
    "media": "array_back",
    "path_pair": "whole path",
    "source": "data",
}
"""Fact table → the layer that its rules are of, in the order of the I/O path; the last two belong to none."""


def fact_kinds(table: str) -> dict[str, Kind]:
    """Fact name → kind, from the unit in the catalogue. Raises KeyError for a table that it does not have."""
    return {name: _kind(fact.unit) for name, fact in catalogue.facts()[table].items()}


def units(table: str) -> dict[str, str]:
    """Fact name → unit, and `entity`, which every row has beside its facts."""
    return {"entity": "name"} | {name: fact.unit for name, fact in catalogue.facts()[table].items()}


def known(value: FactValue) -> FactValue:
    """The value, or None for a number that is none: a rate over no time is not known, not infinite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_kind(value: FactValue, kind: Kind) -> bool:
    """Whether a value may stand for a fact of this kind. None, not known, always may."""
    if value is None:
        return True
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, bool if kind == "truth" else str)


def _kind(unit: str) -> Kind:
    if unit == "truth":
        return "truth"
    return "name" if unit == "name" else "number"
