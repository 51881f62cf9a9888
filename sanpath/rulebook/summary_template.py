"""Fills the template of a rule's one-sentence summary with facts, each in its usual unit."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from string import Formatter

from sanpath.facts.table import FactValue
from sanpath.masking import printable
from sanpath.rulebook.fact_kinds import did_you_mean, finite_or_none
from sanpath.units import bandwidth, iops, percent

UNKNOWN_TEXT = "not known"

# No width and one digit of precision: `{x:1000000000}` must not fill the memory.
_SPEC = re.compile(r",?(\.[0-9])?[fge%]?")


# A clause in brackets is left out if any of its names has no value.
_CLAUSE = re.compile(r"\[([^\[\]]*)\]")


def check(template: str, names: Collection[str], numbers: Collection[str]) -> None:
    """Raise ValueError, with a message for people, unless `fill` can fill the template.

    Only plain `{name}` and, for numbers, `{name:.1f}` and the like are allowed.
    """
    try:
        fields = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"the braces do not match: {error}") from None
    for _, name, spec, conversion in fields:
        if name is None:
            continue
        if not name.isidentifier() or conversion:
            raise ValueError(f"only plain {{name}} or {{name:.1f}} is allowed, not {{{name}}}")
        if name not in names:
            raise ValueError(f"no fact or limit is called {name!r}{did_you_mean(name, names)}")
        if spec and (name not in numbers or not _SPEC.fullmatch(spec)):
            raise ValueError(f"{spec!r} is not a format for {name!r}")


def fill(template: str, values: Mapping[str, FactValue], units: Mapping[str, str]) -> str:
    """Fill a checked template. A name without a value reads "not known"; a clause in brackets that contains one is
    left out.

    `units` is name → unit; a number whose name has none is printed bare.
    """
    text = ""
    known = _CLAUSE.sub(lambda clause: _if_known(clause[1], values), template)
    for literal, name, spec, _ in Formatter().parse(known):
        text += literal
        if name is not None:
            text += _text(values.get(name), units.get(name, ""), spec or "")
    return text


def _if_known(clause: str, values: Mapping[str, FactValue]) -> str:
    names = [name for _, name, _, _ in Formatter().parse(clause) if name is not None]
    return clause if all(finite_or_none(values.get(name)) is not None for name in names) else ""


def _text(value: FactValue, unit: str, spec: str) -> str:
    value = finite_or_none(value)
    if value is None:
        return UNKNOWN_TEXT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        # Names come from devices and may contain anything, including escape sequences.
        return printable(value)
    return format(value, spec) if spec else format_in_unit(value, unit)


def format_in_unit(value: float, unit: str) -> str:
    """Return a number in its usual unit: 0.9769 ratio is 97.7 %, 4e9 bits per second is 4 Gb/s."""
    match unit:
        case "ratio":
            return percent(value)
        case "seconds":
            return _seconds(value)
        case "bits per second":
            return f"{value / 1e9:g} Gb/s" if abs(value) >= 1e9 else f"{value / 1e6:g} Mb/s"
        case "bytes":
            return _bytes(value)
        case "bytes per second":
            return bandwidth(value)
        case "operations per second":
            return iops(value)
        case "" | "count" | "operations":
            return _three_digits(value) if abs(value) < 100 else f"{value:,.0f}"
    return f"{_three_digits(value)} {unit}"


def _bytes(value: float) -> str:
    for factor, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(value) >= factor and (factor >= 2**20 or value % factor == 0):
            return f"{value / factor:,.4g} {name}"
    return f"{value:,.0f} bytes"


def _seconds(value: float) -> str:
    """2 s, 0.35 ms: facts include hours between polls, which `duration` would give in milliseconds."""
    for factor, name in ((1.0, "s"), (1e3, "ms")):
        if abs(value) * factor >= 1:
            return f"{_three_digits(value * factor)} {name}"
    return f"{_three_digits(value * 1e6)} µs" if value else "0 s"


def _three_digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):g}"
