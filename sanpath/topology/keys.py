"""Names and join keys in a comparable form: four devices write the same WWPN in four forms."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from sanpath.model import SourceEntity

TRUST = ("wwpn", "switch_wwn", "nqn", "iqn", "naa", "eui", "serial", "lldp", "mac", "ip", "name")
"""Kinds of join keys, the most trusted first."""
INITIATOR_KEYS = ("wwpn", "iqn", "nqn")
"""Keys of initiators: a switch or an array knows an adapter, or a host, by them."""


Local = tuple[str, str, str]
"""(source, kind, the source's own id)."""


def label_of(entities: Mapping[Local, SourceEntity], local: Local) -> str:
    """Return a source's name for an entity: its label, else its id."""
    return entities[local].label or local[2] if local in entities else local[2]


def normalise(kind: str, value: str) -> str | None:
    """Return the comparable form of a key. None: it is not a valid key of this kind, such as a WWPN of zeros.

    wwpn, switch_wwn: 16 lower-case hex digits; mac: 12; naa: "naa." and 16 or 32 hex digits, also from the Linux WWID
    "3…" and from "0x…"; lldp: the identifiers of chassis and port, as LLDP announces them, with a slash between.
    """
    text = value.strip()
    match kind:
        case "wwpn" | "switch_wwn" | "mac":
            digits = re.sub(r"[^0-9a-f]", "", text.lower().removeprefix("0x"))
            expected_length = 12 if kind == "mac" else 16
            return digits if len(digits) == expected_length and set(digits) != {"0"} else None
        case "naa":
            digits = text.lower().removeprefix("naa.").removeprefix("0x")
            match = re.fullmatch(r"3?([0-9a-f]{16}|[0-9a-f]{32})", digits)
            return f"naa.{match[1]}" if match else None
        case "ip":
            try:
                return str(ipaddress.ip_address(text))
            except ValueError:
                return None
        case "iqn" | "nqn" | "eui" | "lldp":
            return text.lower() or None
        case _:
            return text or None
