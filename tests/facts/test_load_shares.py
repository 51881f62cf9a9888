"""Whose bytes a port carries: measured, certain at least, or not known."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from sanpath.facts.fabric.load_shares import (
    Shares,
    crossings,
    miscounted,
    on_loaded_path,
    other_path_idle,
    shares_of_open_links,
    shares_of_test,
    with_open_host_links,
)
from sanpath.model import SourceEntity, SourceLink
from sanpath.topology.paths import Cable, IoPath
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology

A, B, C = (Cable(f"link:a{n}", f"switch_port:sw1/{n}", f"hba:h/{n}", "host", "host", "host") for n in range(3))
P, Q = (
    Cable(f"link:p{n}", f"switch_port:sw1/{n + 4}", f"array_port:fa1/{n}", "array", "array", "array")
    for n in range(2)
)
HOST = {"host": {A.id, B.id, C.id}}


PATHS = [IoPath("load:fio", "host:h", a.device, (a, p), p.device, "array:fa1") for a, p in ((A, P), (B, Q))]
"""Host link A leads to target link P, B to Q."""
COUNTED: Mapping[str, tuple[Mapping[Cable, float], Sequence[float], set[Cable]]] = {
    "every port counts what passes it": ({A: 50, B: 50, P: 50, Q: 50}, [], set()),
    "one path carries all": ({A: 100, B: 0, P: 100, Q: 0}, [100], set()),
    "a host's port stands still": ({A: 0, B: 50, P: 50, Q: 50}, [], {A}),
    "a target port counts an eighth": ({A: 50, B: 50, P: 50, Q: 50 / 8}, [], {Q}),
    "a switch stands still, and the array counts": ({A: 0, B: 50, P: 0, Q: 50}, [100], {A, P}),
    "half of the bytes take a path that is not known": ({A: 50, B: 0.0, P: 50, Q: 0.0}, [], set()),
    "the host's cache answers, and nobody counts more": ({A: 5, B: 5, P: 5, Q: 5}, [10], set()),
    "the host's cache answers, and others use the array": ({A: 5, B: 5, P: 150, Q: 150}, [300], set()),
    "one port is not read": ({A: 0, B: 50, P: 50}, [100], set()),
}
"""Bytes a second on each link at a test of 100, what arrays count, and the links that cannot be right."""


@pytest.mark.parametrize("case", COUNTED)
def test_links_carry_at_least_what_has_passed_them(case: str) -> None:
    byte_rates, at_arrays, wrong = COUNTED[case]
    assert miscounted(PATHS, byte_rates, 100.0, at_arrays) == wrong


def test_where_nobody_else_sends_the_bytes_are_the_shares() -> None:
    assert shares_of_test({A: 75.0, B: 25.0}, 100, HOST, {}) == {A.id: 0.75, B.id: 0.25}


def test_what_followed_links_do_not_carry_left_by_the_others_of_the_host() -> None:
    """Two initiators; the path of the second ends at a switch that is not read."""
    followed = [IoPath("load:fio", "host:h", A.device, (A, P), P.device, "array:fa1")]
    known, own = {"host": {A.id}, "array": {P.id}}, [A, B]
    half = with_open_host_links(known, own, followed, {A: 50.0, B: 50.0}, 100.0)
    assert half["host"] == {A.id, B.id}
    assert shares_of_test({A: 50.0, B: 50.0}, 100.0, half, {}) == {A.id: 0.5, B.id: 0.5}
    assert with_open_host_links(known, own, followed, {A: 100.0, B: 50.0}, 100.0)["host"] == {A.id}, (
        "A carries it all"
    )


def test_seven_per_cent_more_are_commands_and_clock_edges() -> None:
    assert shares_of_test({A: 80.0, B: 27.0}, 100, HOST, {})[A.id] == pytest.approx(80 / 107)
    assert shares_of_test({A: 80.0, B: 28.0}, 100, HOST, {})[A.id] == pytest.approx(0.72)


def test_only_what_the_rest_cannot_have_carried_is_certain() -> None:
    """80 + 60 for a test of 100: at most 60 went by the second, so at least 40 by the first; and 20 by the second."""
    assert shares_of_test({A: 80.0, B: 60.0}, 100, HOST, {}) == pytest.approx({A.id: 0.4, B.id: 0.2})


def test_a_port_that_the_others_can_stand_in_for_is_not_known() -> None:
    """95 + 110 for a test of 100: the second may have carried it all, the first at most 95."""
    assert shares_of_test({A: 95.0, B: 110.0}, 100, HOST, {}) == {A.id: None, B.id: pytest.approx(0.05)}


def test_an_idle_port_is_idle_whoever_uses_the_rest() -> None:
    shares = shares_of_test({A: 90.0, B: 120.0, C: 0.5}, 100, HOST, {})
    assert shares[C.id] == pytest.approx(0.005)
    assert on_loaded_path(C, True, True, shares, HOST) is False
    assert on_loaded_path(A, True, True, {**shares, A.id: None}, HOST) is None


def test_the_only_port_in_use_carries_it_all() -> None:
    assert shares_of_test({A: 300.0, B: 0.0}, 100, HOST, {}) == {A.id: 1.0, B.id: 0.0}


def test_no_certain_share_is_more_than_the_test_has_sent_there() -> None:
    random.seed(2)
    for _ in range(500):
        parts = [random.random() ** 3 for _ in range(3)]
        local = [100 * part / sum(parts) for part in parts]
        others = [random.choice([0.0, random.uniform(0, 200)]) for _ in range(3)]
        sizes = dict(zip((A, B, C), (m + o for m, o in zip(local, others, strict=True)), strict=True))
        if sum(others) <= 7.1:
            continue
        shares = shares_of_test(sizes, 100, HOST, {})
        for cable, sent in zip((A, B, C), local, strict=True):
            share = shares[cable.id]
            assert share is None or share <= sent / 100 + 1e-9 or sizes[cable] < 1


def test_the_array_s_count_tells_whose_bytes_its_ports_carry() -> None:
    both = {"host": {A.id}, "array": {P.id, Q.id}}
    sizes = {A: 100.0, P: 100.0, Q: 300.0}
    assert shares_of_test(sizes, 100, both, {P.device: 900.0}) == {A.id: 1.0, P.id: 1.0, Q.id: 0.0}
    assert shares_of_test(sizes, 100, both, {P.device: 900.0, Q.device: 300.0})[Q.id] == 0.25


def test_the_array_s_count_is_not_the_test_s_where_others_use_its_initiators() -> None:
    """The host has sent 400 for a test of 100. What it never went to is still off the path."""
    both = {"host": {A.id}, "array": {P.id, Q.id}}
    sizes = {A: 400.0, P: 100.0, Q: 300.0}
    shares = shares_of_test(sizes, 100, both, {P.device: 100.0, Q.device: 300.0})
    assert (shares[P.id], shares[Q.id]) == (None, None)
    assert shares_of_test(sizes, 100, both, {Q.device: 300.0}) == {A.id: 1.0, P.id: 0.0, Q.id: 1.0}


def test_without_the_test_s_bytes_the_array_s_count_is_taken_as_it_is() -> None:
    both = {"host": {A.id}, "array": {P.id, Q.id}}
    shares = shares_of_test({A: 400.0, P: 100.0, Q: 300.0}, 0, both, {P.device: 1.0})
    assert (shares[P.id], shares[Q.id]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("sizes", "idle"),
    [
        ({A: 100.0, B: 0.2}, True),
        ({A: 100.0, B: 100.0}, False),
        ({A: 100.0, B: 40.0}, False),
        ({A: 100.0}, False),
    ],
    ids=["idle", "as busy", "used by others", "alone"],
)
def test_another_path_idles_when_nothing_goes_over_it(sizes: dict[Cable, float], idle: bool) -> None:
    local = {"host": {cable.id for cable in sizes}}
    shares: Shares = {cable.id: 1.0 if cable == A else 0.0 for cable in sizes}
    assert other_path_idle(A, sizes, shares, local) is idle


@pytest.mark.parametrize(("second_host_share", "idle"), [(0.0, True), (0.5, False)], ids=["one path", "in turn"])
def test_an_idle_target_port_is_no_path_of_a_host_that_uses_its_paths_in_turn(
    second_host_share: float, idle: bool
) -> None:
    used, unused = P, Q
    sizes = {A: 100.0, B: 200.0 * second_host_share, used: 100.0, unused: 0.0}
    cables = {"host": {A.id, B.id}, "array": {used.id, unused.id}}
    shares: Shares = {A.id: 1 - second_host_share, B.id: second_host_share, used.id: 1.0, unused.id: 0.0}
    assert other_path_idle(used, sizes, shares, cables) is idle


def test_a_path_that_was_not_counted_may_idle() -> None:
    assert other_path_idle(A, {A: 100.0}, {A.id: 1.0}, {"host": {A.id, B.id}}) is None


def between(number: int, group: str) -> Cable:
    return Cable(f"link:i{number}", f"switch_port:sw1/{number}", f"switch_port:sw3/{number}", "switch", "host", group)


def path(*way: Cable) -> IoPath:
    return IoPath("load:fio", "host:h", way[0].device, way, "array_port:fa1/0", "array:fa1")


ISL_1, ISL_2 = between(8, "sw1--sw3"), between(9, "sw2--sw4")
TWO_FABRICS = {"host": {A.id, B.id}, "sw1--sw3": {ISL_1.id}, "sw2--sw4": {ISL_2.id}}


def test_a_link_between_switches_carries_the_share_of_the_initiators_that_lead_over_it() -> None:
    """Others use it as well: what it counts does not tell the test's part, the host's own ports do."""
    crossed = crossings([path(A, ISL_1, P), path(B, ISL_2, Q)])
    shares = shares_of_test({A: 75.0, B: 25.0, ISL_1: 300.0, ISL_2: 400.0}, 100, TWO_FABRICS, {}, crossed)
    assert (shares[ISL_1.id], shares[ISL_2.id]) == pytest.approx((0.75, 0.25))
    one_path = shares_of_test({A: 100.0, B: 0.0, ISL_1: 300.0, ISL_2: 400.0}, 100, TWO_FABRICS, {}, crossed)
    assert (one_path[ISL_1.id], one_path[ISL_2.id]) == pytest.approx((1.0, 0.0))


THIRD = between(10, ISL_1.group)
PARALLEL = (ISL_1, replace(ISL_2, group=ISL_1.group), THIRD)


def shares_of_parallel(counted: Sequence[float], *at_initiators: float) -> list[float | None]:
    """The shares of parallel links that count so much. They carry all of a test of 100, which leaves by one or two
    initiators."""
    hosts, isls = (A, B)[: len(at_initiators)], PARALLEL[: len(counted)]
    crossed = crossings([path(host, isl, P) for host in hosts for isl in isls])
    cables = {"host": {host.id for host in hosts}, ISL_1.group: {isl.id for isl in isls}}
    rates = dict(zip((*hosts, *isls), (*at_initiators, *counted), strict=True))
    shares = shares_of_test(rates, 100, cables, {}, crossed)
    return [shares[isl.id] for isl in isls]


def test_parallel_links_that_spread_all_exchanges_share_what_crosses_them() -> None:
    """Others use them as well: 400 in all, as many on each. Of the test's bytes alone each has what it counts."""
    assert shares_of_parallel((200.0, 200.0), 100.0) == pytest.approx([0.5, 0.5])
    assert shares_of_parallel((75.0, 25.0), 100.0) == pytest.approx([0.75, 0.25])
    assert shares_of_parallel((250.0, 0.0), 100.0) == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize(
    ("counted", "shares"),
    [
        ((100.2, 200.0), [1.0, 0.0]),
        ((200.0, 99.8, 200.0), [0.0, 1.0, 0.0]),
        ((90.0, 30.0), [0.7, 0.1]),
        ((300.0, 400.0), [None, None]),
        ((100.0, 100.0, 200.0), [None, None, None]),
    ],
)
def test_unequal_parallel_links_pin_flows(counted: Sequence[float], shares: Sequence[float | None]) -> None:
    """Had they spread exchanges, they would carry equal bytes. So one carries what the initiator sends, if it is the
    only one that counts as much; else only what the others cannot have carried is certain."""
    expected = [share if share is None else pytest.approx(share) for share in shares]
    assert shares_of_parallel(counted, 100.0) == expected


def test_flows_of_two_initiators_may_be_on_one_of_unequal_parallel_links_or_on_two() -> None:
    assert shares_of_parallel((100.0, 200.0), 60.0, 40.0) == pytest.approx([1.0, 0.0])
    assert shares_of_parallel((60.0, 300.0), 60.0, 40.0) == pytest.approx([0.6, 0.4])
    assert shares_of_parallel((60.0, 300.0, 40.0), 60.0, 40.0) == pytest.approx([0.6, 0.0, 0.4])


def test_where_some_paths_of_an_initiator_stay_on_its_switch_only_counted_bytes_tell() -> None:
    crossed = crossings([path(A, ISL_1, P), path(A, Q)])
    local = {"host": {A.id}, ISL_1.group: {ISL_1.id}}
    assert shares_of_test({A: 100.0, ISL_1: 300.0}, 100, local, {}, crossed)[ISL_1.id] is None
    assert shares_of_test({A: 100.0, ISL_1: 40.0}, 100, local, {}, crossed)[ISL_1.id] == pytest.approx(0.4)


def one_switch(*ports: int) -> Topology:
    """The ports of sw1, by number."""
    reported: list[tuple[str, int, SourceEntity | SourceLink]] = [("sw1", 0, SourceEntity("switch", "sw1", "sw1"))]
    for port in ports:
        reported.append(("sw1", 0, SourceEntity("switch_port", str(port), str(port))))
        link = SourceLink("member_of", ("switch_port", str(port)), ("switch", "sw1"), "ifTable")
        reported.append(("sw1", 0, link))
    return resolve(reported)


def test_what_leaves_a_switch_in_the_middle_has_come_over_its_links_with_the_switches_of_the_test() -> None:
    """sw2 has no port of the test; sw1, where the initiator is, passes the test's 100 on to it."""
    reported: list[tuple[str, int, SourceEntity | SourceLink]] = []
    for switch, ports in (("sw1", ("0", "31")), ("sw2", ("31", "8", "9"))):
        reported.append((switch, 0, SourceEntity("switch", switch, switch)))
        for port in ports:
            reported.append((switch, 0, SourceEntity("switch_port", port, port)))
            link = SourceLink("member_of", ("switch_port", port), ("switch", switch), "ifTable")
            reported.append((switch, 0, link))
    near, far = "switch_port:sw1/31", "switch_port:sw2/31"
    between = Cable("link:sw1/31--sw2/31", near, far, "switch", "array", "sw1--sw2")
    open_links = tuple(
        Cable(f"switch_port:sw2/{n}", f"switch_port:sw2/{n}", f"switch_port:sw2/{n}", "switch", "array", "open")
        for n in (8, 9)
    )
    byte_rates = {A: 100.0, between: 100.5, between.from_far_end: 100.5, open_links[0]: 100.3, open_links[1]: 900.0}
    found = shares_of_open_links(resolve(reported), open_links, byte_rates, 100.0, HOST)
    assert found == {"switch_port:sw2/8": pytest.approx(1.0), "switch_port:sw2/9": 0.0}


OPEN = tuple(
    Cable(f"switch_port:sw1/{n}", f"switch_port:sw1/{n}", f"switch_port:sw1/{n}", "switch", "array", "open")
    for n in (8, 9)
)


def test_nothing_is_known_to_lead_to_where_a_port_without_a_known_peer_does() -> None:
    """The other port is perhaps for management, and no path of the test."""
    used, idle = OPEN
    open_ends = {used.group: {used.id, idle.id}}
    assert other_path_idle(used, {used: 100.0, idle: 0.0}, {used.id: 1.0, idle.id: 0.0}, open_ends) is False


@pytest.mark.parametrize(
    ("rates", "shares"),
    [
        ((50.0, 900.0), (0.5, 0.0)),
        ((900.0, 50.2), (0.0, 0.5)),
        ((50.0, 50.0), (None, None)),
        ((90.0, 900.0), (None, None)),
    ],
)
def test_what_a_switch_takes_in_leaves_by_the_port_that_moves_as_much(
    rates: tuple[float, float], shares: tuple[float | None, float | None]
) -> None:
    """An initiator brings half of the test's 100 to the switch. Nobody knows what is behind two other ports."""
    topology = one_switch(0, 8, 9)
    byte_rates = {A: 50.0, **dict(zip(OPEN, rates, strict=True))}
    found = shares_of_open_links(topology, OPEN, byte_rates, 100.0, HOST)
    assert found == dict(zip((cable.id for cable in OPEN), shares, strict=True))


def test_the_host_s_count_of_its_paths_tells_the_test_s_part_of_ports_that_others_use() -> None:
    """Others fill the first target port: the host has sent 30 of 100 over it. What ports count cannot show that."""
    both = {"host": {A.id, B.id}, "array": {P.id, Q.id}}
    sizes = {A: 30.0, B: 70.0, P: 250.0, Q: 200.0}
    assert shares_of_test(sizes, 100, both, {})[P.id] is None
    of_paths = {A.device: 30.0, B.device: 70.0, P.device: 30.0, Q.device: 70.0}
    shares = shares_of_test(sizes, 100, both, {}, of_paths=of_paths)
    assert (shares[P.id], shares[Q.id]) == pytest.approx((0.3, 0.7))


def test_paths_that_end_at_a_bond_tell_nothing_of_its_ports() -> None:
    sizes = {A: 150.0, B: 150.0}
    assert shares_of_test(sizes, 100, HOST, {}, of_paths={"hba:h/bond0": 100.0, P.device: 100.0})[A.id] is None


@pytest.mark.parametrize(
    ("rates", "shares"),
    [
        ((102.0, 34.0), (1.0, 0.0)),
        ((60.0, 42.0), (0.59, 0.41)),
        ((102.0, 98.0), (None, None)),
        ((60.0, 70.0), (None, None)),
    ],
    ids=["one link", "both together", "either of them", "neither"],
)
def test_where_no_device_of_the_test_is_known_the_links_that_move_as_much_as_the_test_carry_it(
    rates: tuple[float, float], shares: tuple[float | None, float | None]
) -> None:
    """The other one of the first two moves a third of it, of another host: the test cannot have used it alone."""
    byte_rates = dict(zip(OPEN, rates, strict=True))
    found = shares_of_open_links(one_switch(8, 9), OPEN, byte_rates, 100.0, {})
    expected = [share if share is None else pytest.approx(share, abs=0.01) for share in shares]
    assert list(found.values()) == expected


def test_the_links_of_two_switches_are_not_combined() -> None:
    """The test may leave by both switches, and by any share at each."""
    reported: list[tuple[str, int, SourceEntity | SourceLink]] = []
    for switch, port in (("sw1", "8"), ("sw2", "9")):
        reported.append((switch, 0, SourceEntity("switch", switch, switch)))
        for number in (port, "7"):
            reported.append((switch, 0, SourceEntity("switch_port", number, number)))
            link = SourceLink("member_of", ("switch_port", number), ("switch", switch), "ifTable")
            reported.append((switch, 0, link))
    names = ("switch_port:sw1/8", "switch_port:sw1/7", "switch_port:sw2/9", "switch_port:sw2/7")
    open_links = [Cable(name, name, name, "switch", "array", "open") for name in names]
    byte_rates = dict(zip(open_links, (100.0, 30.0, 50.0, 60.0), strict=True))
    assert set(shares_of_open_links(resolve(reported), open_links, byte_rates, 100.0, {}).values()) == {None}
