"""Counter names of a localised Windows, and the code page that a header is written in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


def folded(name: str) -> str:
    """A name in the form that names are compared in.

    >>> folded("Longueur  moyenne de file d’attente")
    "longueur moyenne de file d'attente"
    """
    # Get-Counter writes paths in lower case: a Turkish İ becomes an i there, and an i with a dot above elsewhere.
    return re.sub(r"\s+", " ", name.replace("’", "'")).strip().casefold().replace("\u0307", "")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names → the English ones, folded.

    `objects`: name of an object in any language → English; `counters`: English object → name of a counter → English.
    """

    objects: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def object(self, name: str) -> str:
        """The English name of an object, folded; the name itself where it is English or not known."""
        return self.objects.get(folded(name), folded(name))

    def counter(self, english_object: str, name: str) -> str:
        """The English name of a counter of that object, folded; the name itself where it is English or not known."""
        return self.counters.get(english_object, {}).get(folded(name), folded(name))


_ENOUGH = 64 << 10
"""Octets of a header that tell its code page: hundreds of names."""


@cache
def vocabulary() -> Vocabulary:
    """The names that names.yaml holds."""
    objects: dict[str, str] = {}
    counters: dict[str, dict[str, str]] = {}
    for group in _content()["names"].values():
        known = _english(group["counters"])
        objects |= _english(group["objects"])
        counters |= {folded(english): known for english in group["objects"]}
    return Vocabulary(objects, counters)


def decoded(header: bytes) -> str:
    """A header as text: in UTF-8, or else in the code page in which most of its names are known."""
    try:
        return header.decode("utf-8")
    except UnicodeDecodeError:
        begin = header[:_ENOUGH]
        page = max(_content()["code_pages"], key=lambda page: _known_names(begin.decode(page, "replace")))
        return header.decode(page, "replace")


def _known_names(header: str) -> int:
    text = folded(header)
    known = vocabulary()
    names = {*known.objects, *(name for names in known.counters.values() for name in names)}
    return sum(len(name) for name in names if not name.isascii() and name in text)


def _english(names: Mapping[str, Mapping[str, list[str]]]) -> dict[str, str]:
    return {
        folded(name): folded(english)
        for english, languages in names.items()
        for name in (english, *(name for local in languages.values() for name in local))
    }


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("names.yaml").read_text(encoding="utf-8"))
    return content
