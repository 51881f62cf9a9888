"""Zones of a fabric: which initiators may see which targets. Read over REST and NX-API, as SNMP seldom shows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from sanpath.plugin import Event, SourceLink, warning
from sanpath_collectors.snmp_switch.logins import Login, role
from sanpath_collectors.snmp_switch.profile import devices

MAX_PAIRS = 50_000
"""With more pairs the zones are left out completely: with a part of them, visible targets would count as hidden."""
UNKNOWN = "which target ports an initiator may see is unknown"
"""The consequence of unreadable zones."""
_FEATURE_OCTET = 7
"""The octet of FC-GS with the features of type 08 (SCSI-FCP); bit 0 means target, bit 1 initiator."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone in force. `members`: WWPNs, 16 hexadecimal digits.

    `principals`: of a peer zone; they see the other members, which do not see each other. `initiators`, `targets`:
    members with this role in the zone itself (smart zoning); empty: the zone has no roles.
    """

    name: str
    members: tuple[str, ...]
    principals: frozenset[str] = frozenset()
    initiators: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()


def features(registered: str) -> bytes:
    """Return FC-4 features in the coding of FC-GS, from the words of a switch.

    >>> features("FCP-Target").hex(), features("scsi-fcp:init")[7]
    ('0000000000000001', 2)
    """
    words = registered.lower()
    bits = ("target" in words or "both" in words) | ("init" in words or "both" in words) << 1
    return bytes(_FEATURE_OCTET) + bytes([bits]) if bits else b""


def links(zones: Iterable[Zone], registered: Iterable[Login]) -> list[SourceLink] | None:
    """Return a link from each initiator to each target that a zone lets it see. None: there are too many.

    `registered`: entries of the name server; at least one of a pair must have a role there.
    """
    roles = {login.wwpn: role(login, devices()) for login in registered}
    initiators = {wwpn for wwpn, device_role in roles.items() if device_role == "initiator"}
    targets = {wwpn for wwpn, device_role in roles.items() if device_role == "target"}
    named: dict[tuple[str, str], str] = {}
    pairs = ((pair, zone.name) for zone in zones for pair in _pairs(zone, initiators, targets))
    for number, (pair, name) in enumerate(pairs):
        if number == MAX_PAIRS:
            return None
        named.setdefault(pair, name)
    return [
        SourceLink("zoned_with", ("wwpn", initiator), ("wwpn", target), f"zone {zone}")
        for (initiator, target), zone in named.items()
    ]


def left_out(seen_us: int) -> Event:
    """Return the warning that there are too many pairs."""
    return warning(seen_us, "zones-left-out", f"more than {MAX_PAIRS:,} pairs are zoned: {UNKNOWN}")


def _pairs(zone: Zone, initiators: Collection[str], targets: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield initiator and target; two ports of the same role do not use their visibility."""
    takers = [w for w in zone.members if w not in initiators and (not zone.targets or w in zone.targets)]
    known_takers = [w for w in takers if w in targets]
    for sender in zone.members:
        if sender in targets or (zone.initiators and sender not in zone.initiators):
            continue
        is_known = sender in initiators or (sender in zone.initiators and bool(zone.targets))
        for taker in takers if is_known else known_takers:
            peers = not zone.principals or (sender in zone.principals) != (taker in zone.principals)
            if peers and sender != taker:
                yield sender, taker
