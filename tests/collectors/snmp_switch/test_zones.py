"""Which initiators may see which targets, from zones and from what the name server knows."""

from __future__ import annotations

from collections.abc import Iterable

from sanpath_collectors.snmp_switch.logins import Login
from sanpath_collectors.snmp_switch.zones import MAX_PAIRS, Zone, features, links

I1, I2, I3 = (f"21000024ff00000{n}" for n in (1, 2, 3))
T1, T2 = "524a937100000001", "524a937100000002"


def known(initiators: Iterable[str] = (I1, I2), targets: Iterable[str] = (T1, T2)) -> list[Login]:
    roles = {**dict.fromkeys(initiators, "init"), **dict.fromkeys(targets, "target")}
    return [Login("p", wwpn, "", features=features(role)) for wwpn, role in roles.items()]


def pairs(*zones: Zone, registered: list[Login] | None = None) -> list[tuple[str, str]]:
    found = links(zones, known() if registered is None else registered)
    assert found is not None
    return [(link.from_end[1], link.to_end[1]) for link in found]


def test_a_zone_pairs_its_initiators_with_its_targets_and_nobody_else() -> None:
    assert pairs(Zone("z", (I1, I2, T1))) == [(I1, T1), (I2, T1)]
    assert pairs(Zone("a", (I1, T1)), Zone("b", (I2, T2))) == [(I1, T1), (I2, T2)]
    assert pairs(Zone("a", (I1, T1)), Zone("again", (T1, I1))) == [(I1, T1)]


def test_initiators_of_one_zone_are_no_pair() -> None:
    assert pairs(Zone("z", (I1, I2))) == []


def test_in_a_peer_zone_the_others_do_not_see_each_other() -> None:
    """T1 is the principal: I1 and T2 are both peers."""
    assert pairs(Zone("z", (T1, I1, T2), principals=frozenset({T1}))) == [(I1, T1)]


def test_one_known_end_is_enough_and_none_is_not() -> None:
    zone = Zone("z", (I3, T1))
    assert pairs(zone, registered=known(initiators=(), targets=(T1,))) == [(I3, T1)]
    assert pairs(zone, registered=known(initiators=(I3,), targets=())) == [(I3, T1)]
    assert pairs(zone, registered=[]) == []


def test_smart_zoning_tells_the_roles_itself() -> None:
    zone = Zone("z", (I1, I2, T1), initiators=frozenset({I1}), targets=frozenset({T1}))
    assert pairs(zone, registered=[]) == [(I1, T1)]


def test_too_many_pairs_are_none_at_all_and_take_no_time() -> None:
    initiators = [f"{n:016x}" for n in range(1, 20_000)]
    targets = [f"{n:016x}" for n in range(50_000, 50_100)]
    assert links([Zone("z", (*initiators, *targets))], known(initiators, targets)) is None
    few = initiators[: MAX_PAIRS // len(targets)]
    found = links([Zone("z", (*few, *targets))], known(few, targets))
    assert found is not None
    assert len(found) == MAX_PAIRS


def test_many_members_that_nobody_knows_are_passed_over() -> None:
    assert pairs(Zone("z", tuple(f"{n:016x}" for n in range(1, 100_000))), registered=[]) == []
