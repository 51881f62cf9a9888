"""Values of API objects, whose fields may be missing, and quantities such as 100Gi."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sanpath.plugin import json_object

_QUANTITY = re.compile(r"([0-9]{1,30}(?:\.[0-9]{0,30})?)(?:[eE]([+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
_MAX_QUANTITY = 1e30
"""Larger quantities are not sizes of a volume."""
_FACTORS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_FACTORS |= {f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", start=1)}


def text(value: object) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""


def child(value: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return the object below an object, by the names of the fields leading to it; {}: there is none."""
    for name in names:
        value = json_object(value.get(name))
    return value


def strings(value: object) -> dict[str, str]:
    """Return the entries of an object whose values are texts, such as labels and parameters."""
    return {key: item for key, item in json_object(value).items() if isinstance(item, str)}


def quantity(value: object) -> float | None:
    """Return a quantity of Kubernetes as a number; None: not a quantity.

    The suffixes are those of k8s.io/apimachinery/pkg/api/resource: n to E of powers of 1000, Ki to Ei of 1024.

    >>> quantity("100Gi"), quantity("1500m"), quantity("12e6"), quantity(4), quantity("many"), quantity(10**400)
    (107374182400.0, 1.5, 12000000.0, 4.0, None, None)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if 0 <= value < _MAX_QUANTITY else None
    match = _QUANTITY.fullmatch(text(value))
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    return float(number) * (10.0 ** int(exponent) if exponent else _FACTORS.get(suffix or "", 1.0))
