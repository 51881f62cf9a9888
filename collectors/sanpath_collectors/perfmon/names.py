"""Counter names of localised versions of Windows, and the code page of a header."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml


def fold(name: str) -> str:
    """Return a name in a normalised form for comparisons.

    >>> fold("Longueur  moyenne de file d’attente")
    "longueur moyenne de file d'attente"
    """
    # In lower case, a Turkish İ becomes i with Get-Counter, and elsewhere i with a combining dot, which is removed.
    return re.sub(r"\s+", " ", name.replace("’", "'")).strip().casefold().replace("\u0307", "")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Translations of names to English. All names are folded.

    `objects`: name of an object in any language → English name. `counters`: English object → name of a counter in any
    language → English name.
    """

    objects: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def object(self, name: str) -> str:
        """Return the English name of an object, folded. An unknown name is only folded."""
        return self.objects.get(fold(name), fold(name))

    def counter(self, english_object: str, name: str) -> str:
        """Return the English name of an object's counter, folded. An unknown name is only folded."""
        return self.counters.get(english_object, {}).get(fold(name), fold(name))


_SAMPLE_BYTES = 64 << 10
"""Number of bytes of a header, with hundreds of names, from which its code page is determined."""


@cache
def load_vocabulary() -> Vocabulary:
    """Load the names in names.yaml."""
    objects: dict[str, str] = {}
    counters: dict[str, dict[str, str]] = {}
    for group in _load_names()["names"].values():
        english_names = _to_english(group["counters"])
        objects |= _to_english(group["objects"])
        counters |= {fold(english): english_names for english in group["objects"]}
    return Vocabulary(objects, counters)


def decode_header(header: bytes) -> str:
    """Decode a header from UTF-8, or else from the code page with which most of its names are known."""
    try:
        return header.decode("utf-8")
    except UnicodeDecodeError:
        begin = header[:_SAMPLE_BYTES]
        page = max(
            _load_names()["code_pages"], key=lambda page: _recognised_characters(begin.decode(page, "replace"))
        )
        return header.decode(page, "replace")


def _recognised_characters(header: str) -> int:
    text = fold(header)
    english_names = load_vocabulary()
    names = {*english_names.objects, *(name for names in english_names.counters.values() for name in names)}
    return sum(len(name) for name in names if not name.isascii() and name in text)


def _to_english(names: Mapping[str, Mapping[str, list[str]]]) -> dict[str, str]:
    return {
        fold(name): fold(english)
        for english, languages in names.items()
        for name in (english, *(name for translations in languages.values() for name in translations))
    }


@cache
def _load_names() -> dict[str, Any]:
    text = files(__package__).joinpath("names.yaml").read_text(encoding="utf-8")
    # libyaml takes 2 ms, the parser in Python 80 ms.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content: dict[str, Any] = yaml.load(text, Loader=loader)  # noqa: S506 - both are safe ones
    return content
