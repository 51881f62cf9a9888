"""The simulated vCenter as its clients see it: pyVmomi itself, and the collector."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pyVim import connect as pyvim_connect

from sanpath.model import SourceEntity
from sanpath.plugin import CollectorError
from sanpath_lab.certificate import server_context
from sanpath_lab.physics.hypervisor_counters import PathTotals, total
from sanpath_lab.scenario import Scenario, load_scenario
from sanpath_lab.simulation import Simulation
from sanpath_lab.site_config import VCENTER_USER
from sanpath_lab.vcenter.server import VcenterServer
from sanpath_lab.vcenter.types import vim, vmodl
from tests.collectors.vsphere.asking import Asked, ask_all

connect: Any = pyvim_connect

EPOCH_SECONDS = 1_800_000_000.0
PASSWORD = "pass-word"
NAA = "naa.624a93705f1c0b7e6a1d4c5500011001"
ONE_4GFC_LINK = 3148
"""I/Os of 128 KiB a second that fill it."""

T = TypeVar("T")


def loaded(scenario: Scenario, threads: int = 8, seconds: float = 21.0, **host: object) -> Simulation:
    """After so many seconds of an even load, counted each 20 s: of the first interval only the I/Os that are still
    in flight at its end are missing. `host`: settings of the host that are other than the scenario's."""
    load = scenario.load.model_copy(update={"threads": (threads,), "measured_seconds": 60.0})
    changed = {"load": load, "host": scenario.host.model_copy(update=host)}
    simulation = Simulation(scenario.model_copy(update=changed), EPOCH_SECONDS)
    simulation.begin_load()
    simulation.advance(seconds)
    return simulation


def last_interval(simulation: Simulation) -> PathTotals:
    """What the host has counted in its last whole interval under load, over all paths."""
    assert simulation.host.hypervisor is not None
    return total(simulation.host.hypervisor.samples[-1].totals_by_nexus.values())


@pytest.fixture(scope="module")
def mru() -> Simulation:
    return loaded(load_scenario("mru-active-active"))


@pytest.fixture(scope="module")
def round_robin() -> Simulation:
    return loaded(load_scenario("round-robin-active-active"))


@asynccontextmanager
async def served(simulation: Simulation, folder: Path) -> AsyncIterator[VcenterServer]:
    server = VcenterServer(simulation, PASSWORD, lambda: None)
    await server.start(server_context(folder / "ca.pem"))
    try:
        yield server
    finally:
        await server.stop()


def with_pyvmomi(simulation: Simulation, folder: Path, use: Callable[[Any], T], password: str = PASSWORD) -> T:
    """What `use` makes of the content of a session that trusts the lab's authority."""

    def client(address: tuple[str, int]) -> T:
        trusted = ssl.create_default_context(cafile=folder / "ca.pem")
        instance = connect.SmartConnect(
            host=address[0],
            port=address[1],
            user=VCENTER_USER,
            pwd=password,
            sslContext=trusted,
            connectionPoolTimeout=1,
        )
        try:
            return use(instance.RetrieveContent())
        finally:
            connect.Disconnect(instance)

    async def run() -> T:
        async with served(simulation, folder) as server:
            return await asyncio.to_thread(client, server.address)

    return asyncio.run(run())


def asked(simulation: Simulation, folder: Path, ca_file: str = "ca.pem") -> Asked:
    """What the collector says of it; the server forgets its sessions between two polls."""

    async def run() -> Asked:
        async with served(simulation, folder) as server:
            address = f"{server.address[0]}:{server.address[1]}"
            given = {"host": address, "ca_file": folder / ca_file, "user": VCENTER_USER, "password": PASSWORD}
            return await ask_all(given, polls=2, change=lambda number: server.end_sessions() if number == 2 else None)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def of_mru(mru: Simulation, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return asked(mru, tmp_path_factory.mktemp("mru"))


@pytest.fixture(scope="module")
def of_round_robin(round_robin: Simulation, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return asked(round_robin, tmp_path_factory.mktemp("round-robin"))


def multipath(content: Any) -> Any:
    """The multipath information of the host, as a property collector tells it."""
    collector = vmodl.query.PropertyCollector
    path = "config.storageDevice.multipathInfo"
    wanted = collector.PropertySpec(type=vim.HostSystem, pathSet=[path])
    start = collector.ObjectSpec(obj=vim.HostSystem("host-1", content.propertyCollector._stub))
    result = content.propertyCollector.RetrievePropertiesEx(
        [collector.FilterSpec(objectSet=[start], propSet=[wanted])], collector.RetrieveOptions()
    )
    return result.objects[0].propSet[0].val


def test_pyvmomi_reads_the_policy_and_the_paths_of_the_lun(mru: Simulation, tmp_path: Path) -> None:
    (unit,) = with_pyvmomi(mru, tmp_path, multipath).lun
    assert (unit.id, unit.policy.policy) == (NAA, "VMW_PSP_MRU")
    assert {path.name: path.isWorkingPath for path in unit.path} == {
        "vmhba2:C0:T0:L1": True,
        "vmhba3:C0:T0:L1": False,
        "vmhba2:C0:T1:L1": False,
        "vmhba3:C0:T1:L1": False,
    }
    assert {path.state for path in unit.path} == {"active"}


def test_a_wrong_password_is_refused(mru: Simulation, tmp_path: Path) -> None:
    with pytest.raises(vim.fault.InvalidLogin):
        with_pyvmomi(mru, tmp_path, multipath, password="guessed")


def test_its_certificate_is_of_the_labs_own_authority_alone(mru: Simulation, tmp_path: Path) -> None:
    server_context(tmp_path / "another.pem")
    with pytest.raises(CollectorError, match="certificate"):
        asked(mru, tmp_path, "another.pem")


def test_the_collector_logs_in_again_when_its_session_has_ended(of_mru: Asked) -> None:
    assert len(of_mru.polls) == 2
    assert not of_mru.events("no-samples")


def test_what_is_not_simulated_is_refused_as_a_server_does(mru: Simulation, tmp_path: Path) -> None:
    def use(content: Any) -> object:
        return content.viewManager.CreateListView([])

    with pytest.raises(vmodl.fault.NotSupported):
        with_pyvmomi(mru, tmp_path, use)


def test_the_collector_misses_nothing_that_the_lab_simulates(of_mru: Asked) -> None:
    check = of_mru.check
    assert check is not None
    assert "1 host, 1 LUN, 4 paths, 1 running virtual machine" in check.identity
    assert not [line for line in check.unreadable if not line.startswith(("counters", "samples"))]


def test_the_collector_reads_the_machine_down_to_its_paths(of_mru: Asked) -> None:
    lun = of_mru.entity("lun", f"esx7/{NAA}")
    assert lun.attributes["path_policy"] == "most_recently_used"
    assert lun.attributes["queue_depth"] == 128
    assert lun.attributes["paths_active"] == 4
    disk = of_mru.entity("vdisk", "sqlvm1/scsi0:0")
    assert (disk.attributes["controller_type"], disk.attributes["datastore"]) == ("pvscsi", "DS1")
    hbas = of_mru.entities("hba")
    assert {name: hba.attributes["speed_bits_per_second"] for name, hba in hbas.items()} == {
        "esx7/vmhba2": 4e9,
        "esx7/vmhba3": 4e9,
    }


def test_esxcli_tells_how_round_robin_takes_turns(of_round_robin: Asked) -> None:
    reported = [item for poll in of_round_robin.polls for item in poll if isinstance(item, SourceEntity)]
    (lun,) = [node for node in reported if node.kind == "lun"]
    assert (lun.attributes["path_policy"], lun.attributes["path_switch_operations"]) == ("round_robin", 1)
    assert lun.attributes["device_max_queue_depth"] == 128


def operations(reported: Asked, kind: str) -> dict[str, float]:
    """I/Os a second of each thing of a kind, of the last sample."""
    found = {}
    for entity in reported.entities(kind):
        *_, row = reported.rows(kind, entity)[:2]
        found[entity] = row["ops_read_total"] / 20
    return found


def test_most_recently_used_loads_one_path_of_four(of_mru: Asked) -> None:
    assert operations(of_mru, "path") == pytest.approx(
        {
            "esx7/vmhba2:C0:T0:L1": ONE_4GFC_LINK,
            "esx7/vmhba3:C0:T0:L1": 0,
            "esx7/vmhba2:C0:T1:L1": 0,
            "esx7/vmhba3:C0:T1:L1": 0,
        },
        rel=0.01,
    )


def test_round_robin_loads_both_adapters_alike_and_carries_twice_as_much(of_round_robin: Asked) -> None:
    assert operations(of_round_robin, "hba") == pytest.approx(
        {"esx7/vmhba2": ONE_4GFC_LINK, "esx7/vmhba3": ONE_4GFC_LINK}, rel=0.01
    )
    assert operations(of_round_robin, "lun") == pytest.approx({f"esx7/{NAA}": 2 * ONE_4GFC_LINK}, rel=0.01)


def test_a_latency_of_the_host_is_whole_milliseconds(of_mru: Asked) -> None:
    """32 in flight over 3148 a second are 10.16 ms."""
    *_, row = of_mru.rows("lun", f"esx7/{NAA}")[:2]
    assert row["device_seconds_mean"] == pytest.approx(0.010)
    assert row["kernel_seconds_mean"] == 0


def test_a_deeper_lun_queue_moves_the_wait_from_the_host_to_the_link() -> None:
    scenario = load_scenario("mru-active-active")
    disk = scenario.guest_disk.model_copy(update={"queue_depth": 254})
    scenario = scenario.model_copy(update={"guest_disk": disk})
    shallow = last_interval(loaded(scenario, threads=32, lun_queue_depth=32))
    deep = last_interval(loaded(scenario, threads=32, seconds=41.0, lun_queue_depth=128))
    in_flight = [part / 20 for part in (shallow.device_seconds, shallow.queue_seconds)]
    assert in_flight == pytest.approx([32, 96], rel=0.02)
    assert [part / 20 for part in (deep.device_seconds, deep.queue_seconds)] == pytest.approx([128, 0], abs=0.1)
    assert shallow.ops == pytest.approx(deep.ops, rel=0.01)


@pytest.mark.parametrize(("controller", "depth"), [("lsi_logic", 32), ("pvscsi", 64)])
def test_a_virtual_controller_lets_so_many_through_to_the_host(controller: str, depth: int) -> None:
    scenario = load_scenario("mru-active-active").model_dump(mode="json")
    scenario["guest_disk"] = {"name": "sda", "controller": controller}
    counted = last_interval(loaded(Scenario.model_validate(scenario), threads=32))
    assert counted.guest_seconds / 20 == pytest.approx(depth, rel=0.01)


def far_array(depth: int, controller: str = "pvscsi", queue_depth: int | None = 254) -> Simulation:
    """Nothing below the queues is full: 60 ms an I/O, with 128 of them in flight 2,000 a second."""
    scenario = load_scenario("lun-queue-full").model_dump(mode="json")
    scenario["array"]["read"] = {"minimum_seconds": 0.06, "tail_seconds": 0.001}
    depth_given = {} if queue_depth is None else {"queue_depth": queue_depth}
    scenario["guest_disk"] = {"name": "sda", "controller": controller, **depth_given}
    return loaded(Scenario.model_validate(scenario), threads=16, lun_queue_depth=depth)


def test_where_nothing_below_is_full_a_deeper_lun_queue_carries_more() -> None:
    shallow, deep = (last_interval(far_array(depth)) for depth in (32, 128))
    assert [one.device_seconds / 20 for one in (shallow, deep)] == pytest.approx([32, 128], rel=0.02)
    assert deep.ops / shallow.ops == pytest.approx(4, rel=0.05)


def test_where_nothing_below_is_full_pvscsi_carries_twice_what_lsi_does() -> None:
    lsi, pvscsi = (last_interval(far_array(128, controller, None)) for controller in ("lsi_logic", "pvscsi"))
    assert pvscsi.ops / lsi.ops == pytest.approx(2, rel=0.05)


def test_a_scenario_without_a_vcenter_counts_nothing_for_one(demo: Scenario) -> None:
    assert Simulation(demo, EPOCH_SECONDS).host.hypervisor is None
    with pytest.raises(ValueError, match="four-gigabit-switch has no vCenter"):
        VcenterServer(Simulation(demo, EPOCH_SECONDS), PASSWORD, lambda: None)
