"""One spelling for each machine: sources write its name in upper or lower case, with or without its domain."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

_WITH_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*")
"""A host name with a domain, RFC 1123; not an address."""


def spellings(names: Iterable[str]) -> dict[str, str]:
    """Return name → its preferred spelling, for names that have several. The first of `names` is preferred.

    Case does not matter (RFC 4343). A name without a domain means the only machine with that name in a domain.
    """
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.casefold(), name)
    domains: dict[str, list[str]] = defaultdict(list)
    for folded in first:
        if _WITH_DOMAIN.fullmatch(folded):
            domains[folded.partition(".")[0]].append(folded)
    order = {folded: number for number, folded in enumerate(first)}
    for short, full in domains.items():
        if short in first and len(full) == 1:
            preferred = first[min(short, full[0], key=order.__getitem__)]
            first[short] = first[full[0]] = preferred
    return first


def spell_machine(name: str, known: Mapping[str, str]) -> str:
    """Return the name of a machine, or of a part of it (`machine/part`), in the machine's spelling."""
    machine, slash, part = name.partition("/")
    return f"{known.get(machine.casefold(), machine)}{slash}{part}"
