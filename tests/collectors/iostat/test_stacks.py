"""What a device is made of, by the bytes of the devices in each interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from sanpath_collectors.iostat.stacks import Traffic
from sanpath_collectors.iostat.tables import Rate

RATES = {"bytes_read_total": Rate("rkB/s", 1024.0)}
MEMBERS = ("sdb", "sdc", "sdd")
VARYING = (90_000.0, 120_000.0, 70_000.0, 110_000.0, 100_000.0)


def find_parts(
    moved: Mapping[str, Sequence[float]], outstanding: Mapping[str, float] | None = None
) -> set[tuple[str, str]]:
    """What is found. `moved`: device → kB a second in each interval of one second."""
    traffic = Traffic()
    for row in zip(*moved.values(), strict=True):
        values = dict(zip(moved, row, strict=True))
        queues = outstanding or {}
        traffic.add({name: {"rkB/s": kb, "aqu-sz": queues.get(name, 1.0)} for name, kb in values.items()}, RATES, 1.0)
    return set(traffic.find_parts())


@given(st.lists(st.tuples(*[st.floats(2e4, 9e5)] * len(MEMBERS)), min_size=4, max_size=12))
def test_what_moves_the_bytes_of_all_others_is_made_of_them(intervals: list[tuple[float, ...]]) -> None:
    """Unless one of them moves so little that the others alone might be all."""
    moved = {name: [each[index] for each in intervals] for index, name in enumerate(MEMBERS)}
    whole, members = [sum(each) for each in intervals], {(member, "md0") for member in MEMBERS}
    found = find_parts({"md0": whole, **moved})
    assert found == members if min(map(sum, moved.values())) > 0.06 * sum(whole) else found in (set(), members)


def test_a_disk_of_its_own_is_no_part() -> None:
    halves = [each / 2 for each in VARYING]
    found = find_parts({"md0": VARYING, "sdb": halves, "sdc": halves, "sde": VARYING[::-1]})
    assert found == {("sdb", "md0"), ("sdc", "md0")}


def test_where_two_disks_would_do_nothing_is_concluded() -> None:
    """A mirror writes everything twice."""
    assert not find_parts({"md0": VARYING, "sdb": VARYING, "sdc": VARYING})


def test_the_device_with_more_outstanding_stands_above_the_other() -> None:
    moved = dict.fromkeys(("dm-0", "dm-2", "sdb"), VARYING)
    found = find_parts(moved, {"dm-2": 64.0, "dm-0": 60.0, "sdb": 2.0})
    assert found == {("sdb", "dm-0"), ("dm-0", "dm-2")}


def test_idle_devices_and_few_intervals_show_nothing() -> None:
    assert not find_parts({"md0": [4.0] * 9, "sdb": [4.0] * 9})
    assert not find_parts({"md0": VARYING[:3], "sdb": VARYING[:3]})


def test_where_as_many_are_outstanding_nothing_tells_which_device_is_above() -> None:
    found = find_parts(dict.fromkeys(("dm-0", "dm-2", "sdb"), VARYING), {"dm-2": 60.0, "dm-0": 60.0, "sdb": 2.0})
    assert len(found) == 1


def test_what_is_on_the_way_at_the_end_of_each_interval_is_not_told_from_the_rest() -> None:
    """It is counted an interval later by the lower device, so that both move the same in all."""
    delayed = [each + late for each, late in zip(VARYING, (-3000.0, 2000.0, 2500.0, -2500.0, 900.0), strict=True)]
    assert find_parts({"dm-0": VARYING, "sdb": delayed}) == {("sdb", "dm-0")}
    assert not find_parts({"dm-0": VARYING, "sdb": [1.03 * each for each in VARYING]})
    assert not find_parts({"dm-0": VARYING, "sdb": delayed, "sdc": [1.03 * each for each in VARYING]})
