"""Against govmomi's simulator, an implementation of the API by other people: inventory, login, trust, expiry.

Its counters of storage are all 0 and have no instances; see test_performance.py for those.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sanpath.plugin import CollectorError, Cost, Failure, SecretStr
from sanpath.transport.http import HttpSession
from sanpath_collectors.vsphere.connection.session import Session
from tests.collectors.vsphere.asking import Asked, ask_all
from tests.collectors.vsphere.conftest import Authority, Simulator

ROOT = Path(__file__).parents[3]
INVENTORY = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "vsphere"
LUNS = {
    "round_robin": "naa.624a9370000000000000000000000001",
    "fixed": "naa.624a9370000000000000000000000002",
    "most_recently_used": "naa.60000970000000000000000000000003",
}

Start = Callable[..., AbstractContextManager[Simulator]]


@pytest.fixture(scope="module")
def fibre_channel(simulator: Start) -> Iterator[Simulator]:
    """The simulator with an inventory of Fibre Channel."""
    if not INVENTORY.is_dir():
        pytest.skip("no recorded inventory: set SANPATH_RECORDINGS")
    with simulator("-load", str(INVENTORY.resolve())) as running:
        yield running


@pytest.fixture(scope="module")
def reported(fibre_channel: Simulator) -> Asked:
    return fibre_channel.ask()


@pytest.fixture(scope="module")
def plain_model(simulator: Start) -> Iterator[Simulator]:
    """The simulator's own model: a host, a cluster of three, and some virtual machines."""
    with simulator() as running:
        yield running


def test_three_luns_with_three_policies_are_read_back(reported: Asked) -> None:
    luns = {lun.attributes["path_policy"]: lun for lun in reported.entities("lun").values()}
    assert {policy: lun.ids["naa"][0] for policy, lun in luns.items()} == LUNS
    assert {lun.attributes["queue_depth"] for lun in luns.values()} == {64}
    assert {policy: lun.attributes["path_access_native"] for policy, lun in luns.items()} == {
        "round_robin": "VMW_SATP_ALUA",
        "fixed": "VMW_SATP_DEFAULT_AA",
        "most_recently_used": "VMW_SATP_SYMM",
    }
    assert luns["fixed"].attributes["path_preferred"] == "vmhba2:C0:T0:L2"


def test_standby_and_dead_paths_are_told_from_active_ones(reported: Asked) -> None:
    states = {name.partition("/")[2]: path.attributes["state"] for name, path in reported.entities("path").items()}
    assert len(states) == 12
    others = {name: state for name, state in states.items() if state != "active"}
    assert others == {"vmhba2:C0:T1:L3": "standby", "vmhba3:C0:T1:L3": "dead"}
    mru = reported.entities("lun")[f"esx01/{LUNS['most_recently_used']}"].attributes
    assert (mru["paths"], mru["paths_active"]) == (4, 2)
    assert reported.rows("path", "esx01/vmhba3:C0:T1:L3")[-1]["path_usable"] == 0


def test_ports_have_their_names_and_speeds(reported: Asked) -> None:
    ports = reported.entities("hba")
    known = {name: (port.ids["wwpn"][0], port.attributes["speed_bits_per_second"]) for name, port in ports.items()}
    assert known == {
        "esx01/vmhba2": ("10000090faaa0001", 32_000_000_000),
        "esx01/vmhba3": ("10000090faaa0002", 16_000_000_000),
    }


def test_controllers_and_the_raw_device_mapping_are_read_back(reported: Asked) -> None:
    assert reported.entity("vm", "fio01").attributes["controllers"] == "scsi0 lsi_logic, scsi1 pvscsi, nvme0 nvme"
    disk = reported.entity("vdisk", "fio01/scsi1:0").attributes
    assert (disk["controller_type"], disk["raw_device_mapping"]) == ("pvscsi", "virtual")


def test_the_topology_leads_from_the_machine_to_the_port(reported: Asked) -> None:
    topology = reported.topology
    assert topology.related("vm:fio01", "attached_to", "vdisk") == ["vdisk:fio01/scsi1:0"]
    (lun,) = topology.related("vdisk:fio01/scsi1:0", "backed_by", "lun")
    assert lun == f"lun:esx01/{LUNS['fixed']}"
    ways = topology.related(lun, "member_of", "path")
    assert len(ways) == 4
    assert {port for way in ways for port in topology.related(way, "attached_to", "hba")} == {
        "hba:esx01/vmhba2",
        "hba:esx01/vmhba3",
    }


def test_the_advanced_option_is_read_with_the_second_tier(reported: Asked) -> None:
    assert reported.entity("host", "esx01").attributes["sched_quantum"] == 8


def test_what_esxcli_would_tell_is_unknown_with_the_reason(reported: Asked) -> None:
    """This release of the simulator has no esxcli."""
    assert reported.check is not None
    assert any("esxcli on esx01" in line and "Round Robin" in line for line in reported.check.unreadable)
    (event,) = reported.events("facts-unknown")
    assert "RetrieveManagedMethodExecuter" in event["why"]
    assert "path_switch_operations" not in reported.entity("lun", f"esx01/{LUNS['round_robin']}").attributes


def test_product_version_and_clock_are_told(reported: Asked) -> None:
    assert reported.check is not None
    assert reported.check.identity.startswith("VMware vCenter Server")
    assert "1 host, 3 LUNs, 12 paths, 1 running virtual machine" in reported.check.identity
    assert reported.check.device_time is not None
    assert reported.rows("host", "esx01")[-1]["cpu_busy_ratio"] > 0


def test_a_wrong_password_is_refused(fibre_channel: Simulator) -> None:
    with pytest.raises(CollectorError) as caught:
        fibre_channel.ask(password="wrong")
    assert caught.value.failure is Failure.REFUSED


def test_another_certificate_is_refused_although_it_is_127_0_0_1(fibre_channel: Simulator, tmp_path: Path) -> None:
    with pytest.raises(CollectorError) as caught:
        fibre_channel.ask(ca_file=Authority(tmp_path, "other").file)
    assert caught.value.failure is Failure.MISCONFIGURED


def test_its_own_model_is_read(plain_model: Simulator) -> None:
    reported = plain_model.ask(polls=2)
    assert set(reported.entities("host")) == {"DC0_H0", "DC0_C0_H0", "DC0_C0_H1", "DC0_C0_H2"}
    for machine in reported.entities("vm"):
        assert len(reported.topology.related(f"vm:{machine}", "runs_on", "host")) == 1
        assert reported.entity("vdisk", f"{machine}/scsi0:0").attributes["controller_type"] == "pvscsi"
    assert not reported.events("samples-missing")


def test_one_host_without_a_vcenter_is_read(simulator: Start) -> None:
    with simulator("-esx") as esx:
        reported = esx.ask()
    assert reported.check is not None
    assert reported.check.identity.startswith("VMware ESXi")
    assert set(reported.entities("host")) == {"vc"}  # it calls itself localhost: what the configuration calls it


def test_a_session_that_was_ended_is_renewed(plain_model: Simulator) -> None:
    async def end_sessions(_: int) -> None:
        http = HttpSession(f"https://{plain_model.address}", Cost(), plain_model.ca_file)
        session = Session(http, "user", SecretStr("pass"))
        await session.open()
        own = session.content.sessionManager
        (result,) = await session.properties_of("SessionManager", [own._moId], ["sessionList", "currentSession"])
        local = result.values["currentSession"]
        assert isinstance(local, dict)
        keys = [one["key"] for one in result.records("sessionList") if one["key"] != local["key"]]
        assert keys
        await session.call(own, "TerminateSession", keys)
        await session.close()
        await http.close()

    reported = plain_model.ask(polls=2, change=end_sessions, states_every_seconds=0.001)
    assert all(any(hasattr(item, "table") for item in poll) for poll in reported.polls)


def test_several_sources_at_once_do_not_disturb_each_other(plain_model: Simulator) -> None:
    async def both() -> list[Asked]:
        given = {"host": plain_model.address, "ca_file": plain_model.ca_file, "user": "user", "password": "pass"}
        return list(await asyncio.gather(*(ask_all(given, 2) for _ in range(3))))

    assert {len(reported.entities("host")) for reported in asyncio.run(both())} == {4}
