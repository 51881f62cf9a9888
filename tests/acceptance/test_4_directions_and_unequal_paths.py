"""Row 4: reads, writes and both on one link; Round Robin over 8GFC and 4GFC."""

from __future__ import annotations

import pytest

from tests.acceptance.lab import HOST, SECOND_HOST, SHORT, STORY, TWO_PATHS, Ran, Record, changed, ports

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def mixed(record: Record) -> Ran:
    return record(changed(STORY, load={**SHORT, "threads": [4, 64], "direction": "mixed"}))


@pytest.fixture(scope="module", params=["read", "write"])
def alone(record: Record, request: pytest.FixtureRequest) -> Ran:
    return record(changed(STORY, load={**SHORT, "threads": [4], "direction": request.param}))


@pytest.fixture(scope="module")
def unequal(record: Record) -> Ran:
    eight = ports(changed(STORY, load={**SHORT, "threads": [2, 64]}, paths=TWO_PATHS), 8)
    return record(ports(eight, 4, "vmhba2"))


def test_each_direction_of_a_mix_is_full_by_itself(mixed: Ran) -> None:
    found = {(b.entity, b.direction): b for b in mixed.found.verdict.bottlenecks}
    assert set(found) == {(HOST, "read"), (HOST, "write")}
    for bottleneck in found.values():
        assert 0.97 <= (bottleneck.utilisation or 0) <= 0.985
    assert "in the write direction it is saturated as well" in mixed.found.verdict.headline


def test_a_mix_gives_in_each_direction_what_one_alone_gives(mixed: Ran, alone: Ran) -> None:
    (direction,) = alone.found.steps[-1].directions
    both = mixed.found.steps[-1].directions[direction].ops_per_second
    assert alone.found.steps[-1].directions[direction].ops_per_second == pytest.approx(both, rel=0.01)


def test_no_link_is_busier_than_it_can_be(mixed: Ran) -> None:
    assert max(e.utilisation or 0 for e in mixed.found.elements) < 1
    assert "200 %" not in mixed.report


def test_of_unequal_paths_twice_the_slower_is_the_ceiling(unequal: Ran) -> None:
    assert unequal.limit.entity == HOST
    assert (unequal.limit.ceiling_bytes_per_second or 0) == pytest.approx(826e6, rel=0.003)
    assert "1,239" not in unequal.report
    assert "1.24 GB/s" not in unequal.report
    assert SECOND_HOST in unequal.cleared
