"""Facts of switch ports, target ports, controllers and sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.facts.samples.step_samples import StepSamples
from sanpath.facts.sources import _window_facts, _windows, longest_gap
from sanpath.facts.storage.array_ports import with_ports_in_paths
from sanpath.facts.table import FactRow
from sanpath.model import Poll, Step
from sanpath_collectors.flasharray.tables import ARRAY, ARRAY_PORT
from sanpath_collectors.snmp_switch.tables import SWITCH_PORT
from tests.support.recording import RecordingBuilder
from tests.support.san import ARRAY_PORT as TARGET
from tests.support.san import HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, OTHER_HOST, SECOND_TARGET, STORIES, X, computed, fast

HOST_SIDE, NEIGHBOURS = "switch_port:sw1/fc1/7", "switch_port:sw1/fc1/9"


def counted(folder: Path, result: Mapping[str, Mapping[str, float]], seconds: float = 12) -> Facts:
    """The test over fc1/7 and fc1/1, with esx9 at fc1/9 beside it."""
    san = San(folder, ports=[fast(port) for port in (HOST_PORT, TARGET, OTHER_HOST)])
    san.step(
        "t",
        16,
        read=Flow(X, 16 / X),
        ports={port.name: (COUNTED, NOTHING) for port in (HOST_PORT, TARGET)},
        array={"read": AtArray(0.0004)},
        seconds=seconds,
        counted=result,
    )
    return compute(san.write())


def only(facts: Facts, table: str, entity: str) -> FactRow:
    (found,) = facts.tables[table].select(entity=entity)
    return found


def test_ports_of_the_test_have_a_row_and_those_in_trouble(tmp_path: Path) -> None:
    clean = counted(tmp_path / "clean", {"sw1/fc1/7": {"crc_errors_total": 0}})
    assert {r["entity"] for r in clean.tables["switch_port"]} == {HOST_SIDE, "switch_port:sw1/fc1/1"}
    trouble = counted(tmp_path / "trouble", {"sw1/fc1/9": {"crc_errors_total": 100}})
    assert only(trouble, "switch_port", NEIGHBOURS)["carries_test"] is False
    assert only(trouble, "switch_port", HOST_SIDE)["carries_test"] is True


def test_a_step_shorter_than_a_minute_counts_as_one(tmp_path: Path) -> None:
    """100 over 12 seconds: 8.3 a second, over the windows after the ramp, and not 500 a minute."""
    facts = counted(tmp_path, {"sw1/fc1/7": {"crc_errors_total": 100, "link_resets_rx_total": 50}})
    found = only(facts, "switch_port", HOST_SIDE)
    observed = number_of(found["windows"])
    assert found["crc_errors_per_minute"] == pytest.approx(100 * observed / 12, abs=1)
    assert found["link_resets_per_minute"] == pytest.approx(50 * observed / 12, abs=1)
    assert found["sync_losses_per_minute"] is None


def test_of_a_longer_step_it_is_the_rate(tmp_path: Path) -> None:
    found = only(counted(tmp_path, {"sw1/fc1/7": {"crc_errors_total": 100}}, seconds=100), "switch_port", HOST_SIDE)
    assert found["crc_errors_per_minute"] == pytest.approx(60, rel=0.05)


def test_a_port_names_itself_and_who_has_logged_in(tmp_path: Path) -> None:
    found = only(counted(tmp_path, {}), "switch_port", HOST_SIDE)
    assert (found["switch_port"], found["technology"], found["logins"]) == ("fc1/7", "fibre_channel", 1)


def number_of(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def light(folder: Path, ports: Mapping[str, tuple[float | None, int]]) -> dict[str, FactRow]:
    """Rows of ports with these received powers, dBm, and link states."""
    out = RecordingBuilder(folder / "a.sanpath")
    out.source("sw1", "snmp_switch", SWITCH_PORT)
    out.entity("sw1", "switch", "sw1", ids={"name": ("sw1",)})
    for port in ports:
        out.entity("sw1", "switch_port", port, ids={"name": (port,)}, attributes={"technology": "fibre_channel"})
        out.link("sw1", "member_of", (("switch_port", port), ("switch", "sw1")))
    for at in range(8):
        out.poll("sw1", at)
        result = {
            port: {"optics_rx_power_dbm": power, "link_up": up, "crc_errors_total": at * 10}
            for port, (power, up) in ports.items()
        }
        out.samples("sw1", SWITCH_PORT, at, result)
    return {str(row["switch_port"]): row for row in compute(out.write()).tables["switch_port"]}


def test_received_light_is_compared_with_the_other_ports(tmp_path: Path) -> None:
    powers = {"fc1/1": -2.5, "fc1/2": -2.6, "fc1/3": -2.7, "fc1/4": -9.6, "fc1/5": None}
    rows = light(tmp_path, {port: (power, 1) for port, power in powers.items()})
    below = {port: row["optics_below_others_db"] for port, row in rows.items()}
    assert below["fc1/4"] == pytest.approx(9.6 - 2.65)
    assert below["fc1/1"] == pytest.approx(2.5 - 2.65)
    assert below["fc1/5"] is None


def test_ports_that_are_down_say_nothing_of_typical_light(tmp_path: Path) -> None:
    """Receivers without a peer report their noise, or the light of a link that does not come up."""
    up = {"fc1/1": (-2.5, 1), "fc1/2": (-2.6, 1), "fc1/3": (-2.7, 1), "fc1/4": (-9.6, 1)}
    dark = {f"fc2/{number}": (power, 0) for number, power in enumerate((-24.0, -31.2, -35.8, -37.0, -40.0))}
    rows = light(tmp_path, up | dark | {"fc3/1": (-8.0, 0)})
    assert rows["fc1/4"]["optics_below_others_db"] == pytest.approx(9.6 - 2.65)
    assert [rows[port]["optics_rx_power_dbm"] for port in dark] == [None] * 5
    assert [rows[port]["optics_below_others_db"] for port in dark] == [None] * 5
    assert rows["fc3/1"]["optics_rx_power_dbm"] == -8.0


def test_a_weak_receiver_whose_link_is_up_keeps_its_power(tmp_path: Path) -> None:
    rows = light(tmp_path, {"fc1/1": (-26.0, 1), "fc1/2": (-26.0, 0)})
    assert (rows["fc1/1"]["optics_rx_power_dbm"], rows["fc1/2"]["optics_rx_power_dbm"]) == (-26.0, None)


def test_the_front_end_counts_its_ports_and_those_in_use() -> None:
    full = computed("array_front").tables["array_front"].select(direction="read")[-1]
    assert (full["ports"], full["used_ports"], full["full_ports"]) == (2, 2, 2)
    assert full["hosts_utilisation"] == pytest.approx(0.488, abs=0.001)
    alongside = computed("off_the_path").tables["array_front"].select(direction="read")[-1]
    assert (alongside["ports"], alongside["used_ports"], alongside["full_ports"]) == (2, 1, 2)
    assert alongside["busiest_port_share"] == pytest.approx(0.5, abs=0.01)


def test_an_idle_target_port_is_one_that_is_not_used(tmp_path: Path) -> None:
    san = San(tmp_path, ports=[fast(port) for port in (HOST_PORT, TARGET, SECOND_TARGET)])
    ports = {"fc1/7": (COUNTED, NOTHING), "fc1/1": (COUNTED, NOTHING), "fc1/2": (0.0, 0.0)}
    san.step("t", 16, read=Flow(X, 16 / X), ports=ports, array={"read": AtArray(0.0004)})
    (found,) = compute(san.write()).tables["array_front"].select(direction="read")
    assert (found["ports"], found["used_ports"], found["full_ports"]) == (2, 1, 0)


def test_target_ports_and_controllers_say_what_the_array_says_of_them(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path / "a.sanpath")
    out.source("fa1", "flasharray", ARRAY, ARRAY_PORT)
    out.entity("fa1", "array", "fa1", ids={"name": ("fa1",)})
    out.entity("fa1", "array_port", "CT0.ETH4", attributes={"technology": "ethernet"})
    out.link("fa1", "member_of", (("array_port", "CT0.ETH4"), ("array", "fa1")))
    for name, status in (("CT0", "ready"), ("CT1", "not ready"), ("CT2", None), ("CT3", "identifying")):
        out.entity("fa1", "controller", name, attributes={"mode": "primary", "status": status})
        out.link("fa1", "member_of", (("controller", name), ("array", "fa1")))
    for at in range(4):
        out.poll("fa1", at)
        values = {"CT0.ETH4": {"errors_per_second": 0, "pause_frames_per_second_rx": 12}}
        out.samples("fa1", ARRAY_PORT, at, values, covers=1.0)
    out.event("fa1", 2, "controller-failover", primary="CT0", before="CT1")
    facts = compute(out.write())
    port = only(facts, "array_port", "array_port:fa1/CT0.ETH4")
    assert (port["pause_frames_per_second_rx"], port["errors_per_second"]) == (12, 0)
    assert (port["technology"], port["crc_errors_per_second"]) == ("ethernet", None)
    reported = {str(r["entity"])[-3:]: (r["sound"], r["took_over"]) for r in facts.tables["controller"]}
    assert reported == {"CT0": (True, 1), "CT1": (False, 0), "CT2": (None, 0), "CT3": (True, 0)}


def test_a_source_tells_how_complete_it_is(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path / "a.sanpath")
    out.source("sw1", "snmp_switch", SWITCH_PORT)
    for at in (0, 1, 2, 9, 10):
        out.poll("sw1", at)
    out.poll("sw1", 3, "failed", "no answer")
    out.poll("sw1", 4, "skipped")
    out.event("sw1", 5, "device-restarted")
    found = only(compute(out.write()), "source", "source:sw1")
    assert found["failed_ratio"] == pytest.approx(1 / 6)
    assert found["skipped_ratio"] == pytest.approx(1 / 7)
    assert (found["longest_gap_seconds"], found["restarts"], found["every_seconds"]) == (pytest.approx(7), 1, 1)
    assert (found["fewest_windows"], found["clock_offset_seconds"]) == (None, None)


def test_a_load_is_silent_between_its_steps_and_while_its_ios_wait(tmp_path: Path) -> None:
    """Nothing is missing while nothing ran; six seconds without an answer within a step are."""
    san = San(tmp_path)
    for name in ("t1", "t2"):
        san.step(name, 16, read=Flow(X, 16 / X), seconds=12)
    steps = compute(san.write()).steps
    (first, second), source = steps, steps[0].loads[0].source

    def gap(*seconds: tuple[int, float], slowest: float = 0.0) -> float | None:
        polls = [Poll(source, 0, 0, start + round(1e6 * after), "ok") for start, after in seconds]
        return longest_gap(polls, steps, {first.name: slowest}, 1.0)

    assert second.start > first.end + 3e6
    around = [(first.start, 0.0), (first.end, 0.0), (second.start, 0.0)]
    whole = [(first.start, float(after)) for after in range(13)]
    assert gap(*whole, *around) == pytest.approx(1, abs=0.1)
    assert gap(*whole[:3], *whole[9:]) == pytest.approx(7, abs=0.1)
    assert gap(*whole[:3], *whole[9:], slowest=6.1) == pytest.approx(1, abs=0.1), "one of its I/Os took that long"
    assert gap(*whole[:3], *whole[9:], slowest=5.0) == pytest.approx(7, abs=0.1)


def test_a_clock_that_is_off_is_told_of_its_source(tmp_path: Path) -> None:
    facts = compute(STORIES["one_in_flight"](San(tmp_path, clock={"fa1": -300.0})).write())
    assert only(facts, "source", "source:fa1")["clock_offset_seconds"] == pytest.approx(-300, abs=0.2)


def test_the_step_with_the_fewest_windows_counts() -> None:
    assert only(computed("too_short"), "source", "source:sw1")["fewest_windows"] == 2
    assert number_of(only(computed("published"), "source", "source:sw1")["fewest_windows"]) >= 8


def test_steps_that_are_too_short_are_named_with_the_length_that_is_needed() -> None:
    """The switch is read every second: a step of five holds four of its windows, wherever it begins."""
    row = only(computed("too_short"), "source", "source:sw1")
    assert row["fewest_windows_step"] == "s"
    assert row["seconds_of_four_windows"] == pytest.approx(5 * number_of(row["every_seconds"]), abs=1)


@pytest.mark.parametrize(
    ("judged", "fewest", "seconds"),
    [((), 20, 5), (("array:fa1",), 20, 5), (("volume:fa1/v",), 2, 50), (("array:fa1", "volume:fa1/v"), 2, 50)],
)
def test_the_windows_of_what_is_judged_count(judged: tuple[str, ...], fewest: int, seconds: float) -> None:
    """An array may give values of its own every second, and those of its volumes every ten."""
    step = Step("s", 0, 20_000_000, "marks", (), None)
    often = StepSamples("fa1", "array:fa1", "s", samples=20)
    seldom = StepSamples("fa1", "volume:fa1/v", "s", samples=2)
    samples = {"array": [often], "volume": [seldom, replace(seldom, entity="volume:fa1/w", samples=1)]}
    row = _window_facts([step], _windows(samples, [step], {("fa1", "s"): judged})["fa1"], 1.0)
    assert (row["fewest_windows"], row["seconds_of_four_windows"]) == (fewest, seconds)
    assert set(_window_facts([step], None, 1.0).values()) == {None}


def test_data_reduction_is_compared_with_the_first_step(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path / "a.sanpath")
    out.source("fa1", "flasharray", ARRAY)
    out.entity("fa1", "array", "fa1", ids={"name": ("fa1",)})
    for at in range(24):
        out.poll("fa1", at)
        result = {"ops_per_second_write": 100, "bytes_per_second_write": 1e6}
        out.samples(
            "fa1", ARRAY, at, {"fa1": {**result, "data_reduction_ratio": 4.0 if at < 20 else 6.0}}, covers=1.0
        )
    (found,) = compute(out.write()).tables["array"].select(direction="write")
    assert found["data_reduction_ratio"] == 6
    assert 0.2 < number_of(found["data_reduction_change"]) < 0.5


def test_what_a_device_says_is_wrong_with_it_is_counted(tmp_path: Path) -> None:
    out = RecordingBuilder(tmp_path)
    out.source("fa1", "flasharray", ARRAY_PORT)
    out.event("fa1", 0, "alert", severity="warning", summary="a drive has failed")
    out.event("fa1", 0, "alert", severity="info", summary="somebody has logged in")
    out.event("fa1", 1, "hardware-state", component="CH0.FAN2", state="critical")
    out.event("fa1", 2, "hardware-state", component="CH0.FAN2", state="ok")
    (row,) = compute(out.write()).tables["source"]
    assert (row["complaints"], row["complaint"]) == (2.0, "a drive has failed (warning)")


@pytest.mark.parametrize(
    ("target_ports", "arrays", "in_paths"), [(4.0, 1, True), (2.0, 1, False), (None, 1, None), (4.0, 2, None)]
)
def test_zones_lack_no_port_to_which_the_lun_has_a_path(
    target_ports: float | None, arrays: int, in_paths: bool | None
) -> None:
    front: list[FactRow] = [{"entity": f"array:{n}", "step": "s", "reachable_ports": 4.0} for n in range(arrays)]
    found = with_ports_in_paths(front, [{"step": "s", "target_ports": target_ports}])
    assert {row["all_ports_in_paths"] for row in found} == {in_paths}
