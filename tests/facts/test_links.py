"""Facts of links: utilisation, shares, what others send, and the ceiling that follows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.fabric.links import both_faster, merged_windows
from sanpath.facts.facts import Facts
from sanpath.facts.table import FactRow
from sanpath.model import SourceEntity
from sanpath.recording.reading.recording import Recording
from tests.support.recording import Number
from tests.support.san import ARRAY_PORT, HOST_PORT, Flow, Port, San
from tests.support.stories import COUNTED, NOTHING, OTHER_HOST, SECOND_HBA, STORIES, X, computed, fast

HOST_LINK, ARRAY_LINK = "link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"


def row(facts: Facts, entity: str, direction: str = "read") -> FactRow:
    return facts.tables["link"].select(entity=entity, direction=direction)[-1]


def test_windows_above_the_limit_are_joined_to_their_neighbours() -> None:
    # 1.21 and 0.76 in turn are 0.985 over both; nothing is lost.
    found = merged_windows([(0.76, 5), (1.21, 5), (0.76, 5), (1.21, 5)], 1.0)
    assert [rate for rate, _ in found] == pytest.approx([0.985, 0.985])
    assert [seconds for _, seconds in found] == [10, 10]


def test_a_first_window_above_the_limit_waits_for_its_neighbour() -> None:
    assert merged_windows([(1.4, 1), (0.6, 1), (0.5, 1)], 1.05) == [(pytest.approx(1.0), 2), (0.5, 1)]


def test_merging_keeps_bytes_and_time_whatever_the_windows() -> None:
    random.seed(1)
    for _ in range(200):
        windows = [(random.uniform(0, 2), random.uniform(0.5, 5)) for _ in range(random.randrange(1, 12))]
        found = merged_windows(windows, 1.05)
        assert sum(r * s for r, s in found) == pytest.approx(sum(r * s for r, s in windows))
        assert sum(s for _, s in found) == pytest.approx(sum(s for _, s in windows))
        assert len(found) == 1 or all(rate <= 1.05 for rate, _ in found)


def test_utilisation_is_against_the_data_rate_and_not_the_nominal_speed() -> None:
    found = row(computed("published"), HOST_LINK)
    assert found["capacity_bytes_per_second"] == 425e6
    assert found["negotiated_bits_per_second"] == 4e9
    assert found["utilisation"] == pytest.approx(415.2 / 425, rel=1e-6)
    assert found["full_windows_ratio"] == 1.0
    assert (found["share"], found["on_loaded_path"]) == (1.0, True)
    assert found["path_capable_bits_per_second"] == 8e9
    assert found["switch_is_slower"] is True
    assert found["both_ends_can_go_faster"] is None, "what the switch port is capable of was not read"


def test_one_end_at_its_highest_speed_decides_for_both() -> None:
    assert both_faster(8e9, 8e9, 4e9) is True
    assert both_faster(8e9, 4e9, 4e9) is False
    assert both_faster(None, 4e9, 4e9) is False
    assert both_faster(8e9, None, 4e9) is None
    assert both_faster(8e9, 8e9, None) is None


def test_the_other_direction_of_the_same_link_is_nearly_idle() -> None:
    found = row(computed("published"), HOST_LINK, "write")
    assert found["utilisation"] == pytest.approx(0.3 / 425, rel=0.01)
    assert found["on_loaded_path"] is False


def test_shares_are_measured_on_each_side() -> None:
    facts = computed("unequal")
    for port in ("esx7/vmhba2--sw1/fc1/7", "esx7/vmhba3--sw1/fc1/8"):
        assert row(facts, f"link:{port}")["share"] == pytest.approx(0.5)
    assert row(facts, ARRAY_LINK)["share"] == pytest.approx(1.0)


def test_what_a_neighbour_sends_is_told_from_the_test(tmp_path: Path) -> None:
    facts = compute(STORIES["neighbour"](San(tmp_path)).write())
    # 166.1 MB/s, less the 2 % of the test's own bytes that may be commands and responses.
    assert row(facts, ARRAY_LINK)["foreign_bytes_per_second"] == pytest.approx(166.1e6, rel=0.05)
    assert row(facts, HOST_LINK)["foreign_bytes_per_second"] == pytest.approx(0, abs=1)
    other = row(facts, "link:esx9/vmhba2--sw1/fc1/9")
    assert (other["share"], other["on_loaded_path"]) == (None, False)


def test_the_array_s_own_count_tells_whose_bytes_its_ports_carry() -> None:
    facts = computed("off_the_path")
    assert row(facts, ARRAY_LINK)["share"] == pytest.approx(1.0)
    assert row(facts, "link:sw1/fc1/2--fa1/CT1.FC0")["on_loaded_path"] is False


def test_without_a_path_to_the_array_its_links_are_unknown_and_the_host_s_own_are_not(tmp_path: Path) -> None:
    """The target port is on the switch, and nobody says that it belongs to the array of the test."""
    facts = compute(STORIES["array_not_observed"](San(tmp_path)).write())
    assert row(facts, HOST_LINK)["on_loaded_path"] is True
    assert [r["entity"] for r in facts.tables["link"]].count(ARRAY_LINK) == 0


def test_a_port_that_was_never_answered_has_no_utilisation(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[replace(HOST_PORT, speed=None), fast(ARRAY_PORT)])
    san.step("t", 16, read=Flow(X, 16 / X), ports={"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING)})
    found = row(compute(san.write()), HOST_LINK)
    assert (found["utilisation"], found["capacity_bytes_per_second"], found["ceiling_bytes_per_second"]) == (
        None,
    ) * 3
    assert found["bytes_per_second"] == pytest.approx(COUNTED)


def test_ports_of_other_hosts_are_links_of_their_own(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[HOST_PORT, SECOND_HBA, OTHER_HOST, ARRAY_PORT])
    san.step("t", 16, read=Flow(X, 16 / X), ports={"fc1/7": (COUNTED, NOTHING)})
    facts = compute(san.write())
    assert {r["entity"]: r["side"] for r in facts.tables["link"]} == {
        HOST_LINK: "host",
        "link:esx7/vmhba3--sw1/fc1/8": "host",
        "link:esx9/vmhba2--sw1/fc1/9": "host",
        ARRAY_LINK: "array",
    }


def test_utilisation_is_never_negative_and_mean_lies_below_max() -> None:
    for name in STORIES:
        for found in computed(name).tables["link"]:
            mean, most = found["utilisation"], found["utilisation_max"]
            if mean is not None and most is not None:
                assert 0 <= float(mean) <= float(most) + 1e-9, (name, found["entity"])


def test_a_link_names_what_a_remedy_needs() -> None:
    found = row(computed("published"), ARRAY_LINK)
    assert found["switch_port"] == "fc1/1"
    assert found["naa"] == "naa.624a93706c1b16ce1c034d1c00013918"
    assert row(computed("unequal"), HOST_LINK)["switch_port"] == "fc1/7"


def test_a_port_among_very_many_that_counts_more_than_its_speed_has_no_known_speed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its windows are not kept, only its mean."""
    monkeypatch.setattr("sanpath.facts.samples.step_samples._MAX_DETAILED_ENTITIES", 0)
    san = San(tmp_path, ports=[HOST_PORT, OTHER_HOST, ARRAY_PORT])
    san.step("t", 16, read=Flow(X, 16 / X), ports={"fc1/7": (COUNTED, NOTHING), "fc1/9": (10 * COUNTED, NOTHING)})
    found = row(compute(san.write()), "link:esx9/vmhba2--sw1/fc1/9")
    assert (found["utilisation"], found["bytes_per_second"]) == (None, pytest.approx(10 * COUNTED))


@pytest.mark.parametrize("order", [(1.5, 0.97), (0.97, 1.5), (1.5, 0.2), (0.5, 0.97)])
def test_a_port_that_once_carried_more_than_its_speed_has_a_wrong_speed_in_every_step(
    tmp_path: Path, order: tuple[float, float]
) -> None:
    """What a link has carried in one step it can carry in each: nothing is full at less. `order`: bytes of each step
    over the data rate."""
    san = San(tmp_path, ports=[HOST_PORT, fast(ARRAY_PORT)])
    for name, ratio in zip(("first", "second"), order, strict=True):
        rate = ratio * 425e6
        ops = rate / 66_000
        san.step(name, 16, read=Flow(ops, 16 / ops), ports={"fc1/7": (rate, NOTHING), "fc1/1": (rate, NOTHING)})
    rows = compute(san.write()).tables["link"].select(entity=HOST_LINK, direction="read")
    expected = [None, None] if max(order) > 1.05 else [pytest.approx(ratio, rel=1e-3) for ratio in order]
    assert [row["utilisation"] for row in rows] == expected
    assert [row["counted_ratio"] for row in rows] == pytest.approx(list(order), rel=1e-3)


def test_a_short_step_says_nothing_of_the_speed_in_the_others(tmp_path: Path) -> None:
    """A switch that answers from its cache of 3 s is polled every 5 s: the one window of a step of 11 s has more
    bytes than its port can send."""
    san = San(tmp_path, ports=[HOST_PORT, fast(ARRAY_PORT)], switch_every=5.0, switch_cache=3.0)
    rate = 0.975 * 425e6
    ops = rate / 66_000
    for n, seconds in ((8, 11.0), (16, 120.0)):
        ports = {"fc1/7": (rate, NOTHING), "fc1/1": (rate, NOTHING)}
        san.step(f"q{n}", n, read=Flow(ops, n / ops), ports=ports, seconds=seconds)
    short, long = compute(san.write()).tables["link"].select(entity=HOST_LINK, direction="read")
    assert short["counted_ratio"] is not None
    assert float(short["counted_ratio"]) > 1.05
    assert long["utilisation"] == pytest.approx(0.975, abs=0.02)


def link_read(recording: Recording, host_speed: float | None) -> Sequence[FactRow]:
    """The rows of the host's link, if the host names this speed of its initiator port."""
    items = [
        (source, at, replace(item, attributes={**item.attributes, "speed_bits_per_second": host_speed}))
        if isinstance(item, SourceEntity) and item.kind == "hba"
        else (source, at, item)
        for source, at, item in recording.inventory()
    ]
    with patch.object(type(recording), "inventory", lambda _: items):
        return compute(recording).tables["link"].select(entity="link:esx7/vmhba2--sw1/fc1/7", direction="read")


@pytest.mark.parametrize(
    ("switch_speed", "host_speed", "bytes_of_full_8gfc", "negotiated"),
    [
        (32, 8e9, 0.98, 8e9),  # the switch names the highest speed of its port
        (8, 16e9, 0.98, 8e9),  # the host does
        (32, 8e9, 1.9, 32e9),  # more than 8GFC carries: the host names an old speed
        (16, 16e9, 0.98, 16e9),
        (16, None, 0.98, 16e9),
    ],
)
def test_both_ends_of_a_link_run_at_the_lower_speed_that_one_of_them_names_unless_they_carry_more(
    tmp_path: Path, switch_speed: float, host_speed: float | None, bytes_of_full_8gfc: float, negotiated: float
) -> None:
    counted = bytes_of_full_8gfc * 850e6
    san = San(tmp_path, ports=[replace(HOST_PORT, speed=switch_speed), replace(ARRAY_PORT, speed=32)])
    ops = counted / (32 * 2076)
    for name, share in (("light", 0.1), ("heavy", 1.0)):
        rates = (share * counted, NOTHING)
        san.step(name, 16, read=Flow(share * ops, 16 / (share * ops)), ports={"fc1/7": rates, "fc1/1": rates})
    rows = link_read(san.write(), host_speed)
    assert {row["negotiated_bits_per_second"] for row in rows} == {negotiated}
    assert None not in {row["utilisation"] for row in rows}


@pytest.mark.parametrize("host_speed", [None, 8e9])
def test_the_speed_that_a_host_names_at_one_time_does_not_hold_for_a_link_whose_speed_changes(
    tmp_path: Path, host_speed: float | None
) -> None:
    class Falls(San):
        def _port(self, port: Port, at: float) -> dict[str, Number]:
            speed = 32 if at < self.steps[1].begin - 1 else 8
            return San._port(self, replace(port, speed=speed), at)

    san = Falls(tmp_path, ports=[replace(HOST_PORT, speed=32), replace(ARRAY_PORT, speed=32)])
    for name in ("before", "after"):
        rates = (0.5 * 850e6, NOTHING)
        san.step(name, 16, read=Flow(3000, 16 / 3000), ports={"fc1/7": rates, "fc1/1": rates})
    rows = link_read(san.write(), host_speed)
    assert [row["negotiated_bits_per_second"] for row in rows] == [32e9, 8e9]
    assert [row["utilisation"] for row in rows] == pytest.approx([0.125, 0.5], rel=0.02)
