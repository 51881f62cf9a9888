"""Facts of multipath devices: which paths work, where they lead, and how the I/Os are spread over them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.devices import multipath
from sanpath.facts.host.tested_machines import UnderTest
from sanpath.facts.table import FactRow
from sanpath.model import Column, Scalar, Table
from tests.support.esx_san import DEVICE, over_first_path
from tests.support.recording import RecordingBuilder
from tests.support.san import NAA

HBA = "hba:esx7/vmhba2"
DISK = {"sqlvm1/scsi0:0": {}}
MRU = {"path_policy": "most_recently_used", "path_policy_native": "VMW_PSP_MRU"}


def rows(folder: Path, **more: Any) -> list[FactRow]:
    found = compute(over_first_path(folder, **more)).tables["multipath"]
    assert {row["entity"] for row in found} <= {DEVICE}
    return list(found)


def test_two_paths_of_which_one_carries_everything(tmp_path: Path) -> None:
    first, second = rows(tmp_path, lun={**MRU, "path_access": "active/active"})
    assert (first["step"], second["step"]) == ("t16", "t128")
    assert (first["paths"], first["usable_paths"], first["lost_paths"], first["down_paths"]) == (2, 2, 0, 0)
    assert (first["initiators"], first["target_ports"], first["fabrics"]) == (2, 2, 1)
    assert (first["one_path_policy"], first["equal_paths"], first["platform"]) == (True, True, "esxi")
    assert (first["naa"], first["direction"]) == (NAA, "read")


def test_a_path_that_dies_is_lost_from_then_on(tmp_path: Path) -> None:
    """The steps are 5 to 17 s and 21 to 33 s; the path is dead from 26 s on."""
    before, after = rows(tmp_path, lun=MRU, lost_at=26)
    assert (before["usable_paths"], before["lost_paths"], before["lost_path"]) == (2, 0, None)
    assert (after["usable_paths"], after["lost_paths"], after["down_paths"]) == (1, 1, 0)
    assert str(after["lost_path"]).endswith("vmhba3:C0:T1:L1")


def test_a_path_that_never_worked_was_not_lost(tmp_path: Path) -> None:
    row = rows(tmp_path, states=("active", "dead"))[0]
    assert (row["usable_paths"], row["lost_paths"], row["down_paths"], row["initiators"]) == (1, 0, 1, 1)


@pytest.mark.parametrize("state", ["standby", "dead"])
def test_a_link_that_no_path_can_take_is_no_way_round_a_full_one(tmp_path: Path, state: str) -> None:
    """The second link is up and idle, and the LUN's path over it carries nothing from the first step to the last."""
    found = compute(over_first_path(tmp_path, lun=MRU, vdisks=DISK, states=("active", state)))
    assert {row["usable_links"] for row in found.tables["load"]} == {1}
    assert {row["other_path_idle"] for row in found.tables["link"].select(on_loaded_path=True)} == {False}


def test_a_path_that_worked_for_a_while_and_one_of_which_nobody_tells_lead_over_usable_links(tmp_path: Path) -> None:
    for more in ({"lost_at": 26}, {}):
        found = compute(over_first_path(tmp_path / str(len(more)), lun=MRU, vdisks=DISK, **more))
        assert {row["usable_links"] for row in found.tables["load"]} == {2}
        assert {row["other_path_idle"] for row in found.tables["link"].select(on_loaded_path=True)} == {True}


def test_a_standby_path_is_not_down(tmp_path: Path) -> None:
    row = rows(tmp_path, states=("active", "standby"))[0]
    assert (row["usable_paths"], row["down_paths"], row["standby_paths"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("access", "equal"), [("active/active", True), ("active/passive", False), ("asymmetric", None), (None, None)]
)
def test_whether_paths_are_equal_is_what_somebody_says(
    tmp_path: Path, access: str | None, equal: bool | None
) -> None:
    assert rows(tmp_path, lun={"path_access": access})[0]["equal_paths"] is equal


def test_the_slower_path_and_the_faster(tmp_path: Path) -> None:
    row = rows(tmp_path, speeds=(8e9, 16e9))[0]
    assert (row["slowest_bits_per_second"], row["fastest_bits_per_second"]) == (8e9, 16e9)


def test_an_end_is_as_fast_as_the_switch_port_it_is_connected_to(tmp_path: Path) -> None:
    """Virtual network cards report no speed."""
    facts = compute(over_first_path(tmp_path))
    topology, step = facts.topology, UnderTest(facts.loads[0])
    assert multipath._speed(topology, step, HBA) is None
    (port,) = topology.related(HBA, "logged_in", "switch_port")
    topology.entities[port] = replace(topology.entities[port], attributes={"speed_bits_per_second": 4e9})
    assert multipath._speed(topology, step, HBA) == 4e9
    topology.entities[HBA] = replace(topology.entities[HBA], attributes={"speed_bits_per_second": 2e9})
    assert multipath._speed(topology, step, HBA) == 2e9


def test_without_counters_of_paths_their_shares_are_unknown(tmp_path: Path) -> None:
    row = rows(tmp_path, shares=None)[0]
    assert row["non_optimised_share"] is None


LOAD = Table("load", tuple(Column(f"{n}_read_total", 64) for n in ("ops", "latency_seconds", "bytes")))
LUN = Table("lun", (Column("ops_read_total", 64), Column("latency_seconds_read_total", 64)))


def on_linux(
    folder: Path, states: tuple[str, str], operations: tuple[int, int], longer: int = 1, **about: Scalar
) -> FactRow:
    """fio at 300 IOPS on dm-0 of db1, which has the paths sdb and sdc. `longer`: how many times as long an I/O takes
    over sdc."""
    out = RecordingBuilder(folder)
    out.source("fio", "fio", LOAD)
    out.source("db1", "linux_host", LUN)
    out.configure_link("load:fio runs_on host:db1")
    out.entity("fio", "load", "fio", ids={"name": ("fio",)})
    out.link("fio", "targets", (("load", "fio"), ("lun", "db1/dm-0")))
    out.entity("db1", "host", "db1", ids={"name": ("db1",)}, attributes={"os": "Linux 6.1"})
    result = {"map": "mpatha", "path_policy": "service_time", "paths": 2, **about}
    out.entity("db1", "lun", "dm-0", "db1/dm-0", ids={"device": ("dm-0", "mpatha"), "naa": (NAA,)}, attributes=result)
    out.link("db1", "attached_to", (("lun", "dm-0"), ("host", "db1")))
    for device, state in zip(("sdb", "sdc"), states, strict=True):
        out.entity("db1", "lun", device, f"db1/{device}", ids={"device": (device,)})
        out.link("db1", "attached_to", (("lun", device), ("host", "db1")))
        out.link("db1", "member_of", (("lun", device), ("lun", "dm-0")))
        out.entity("db1", "path", device, attributes={"device": device, "state": state, "usable": True})
        out.link("db1", "member_of", (("path", device), ("lun", "dm-0")))
    for at in range(12):
        out.poll("fio", at)
        done = {"ops_read_total": 300 * at, "latency_seconds_read_total": 300 * at, "bytes_read_total": 300 * at}
        out.samples("fio", LOAD, at, {"fio": done})
        each = {"sdb": operations[0] * at, "sdc": operations[1] * at, "dm-0": 300 * at}
        times = {"sdc": 2 * longer}
        counted = {
            device: {"ops_read_total": n, "latency_seconds_read_total": times.get(device, 2) * n}
            for device, n in each.items()
        }
        out.samples("db1", LUN, at, counted)
    facts = compute(out.write())
    assert {row["entity"] for row in facts.tables["device"]} == {"lun:db1/dm-0"}, "paths count with their map"
    (row,) = facts.tables["multipath"]
    return row


def test_a_path_of_linux_is_counted_at_its_block_device(tmp_path: Path) -> None:
    row = on_linux(tmp_path, ("active/optimized", "active/optimized"), (225, 75))
    assert (row["platform"], row["map"], row["device"], row["nvme"]) == ("linux", "mpatha", "dm-0", False)
    assert (row["equal_paths"], row["non_optimised_share"]) == (True, 0.0)
    assert row["in_flight"] == pytest.approx(600), "300 a second, 2 s each"


def test_the_array_s_word_makes_paths_unequal(tmp_path: Path) -> None:
    row = on_linux(tmp_path, ("active/optimized", "active/non-optimized"), (225, 75))
    assert row["equal_paths"] is False
    assert row["non_optimised_share"] == pytest.approx(0.25)


def test_each_step_has_the_states_that_its_paths_had_in_it(tmp_path: Path) -> None:
    """All I/Os take the first path. The array calls it optimised in the first step and no longer in the second."""
    states = ("active/non-optimized", "active/optimized")
    first, second = rows(tmp_path, states=states, swapped_at=19)
    assert (first["non_optimised_share"], second["non_optimised_share"]) == (0.0, 1.0)


@pytest.mark.parametrize("longer", [1, 3])
def test_the_clocks_of_paths_tell_what_a_detour_costs(tmp_path: Path, longer: int) -> None:
    states = ("active/optimized", "active/non-optimized")
    assert on_linux(tmp_path, states, (225, 75), longer)["detour_ratio"] == pytest.approx(longer)


def test_states_that_say_nothing_of_the_array_leave_it_open(tmp_path: Path) -> None:
    row = on_linux(tmp_path, ("running", "running"), (150, 150))
    assert (row["equal_paths"], row["non_optimised_share"]) == (None, None)
