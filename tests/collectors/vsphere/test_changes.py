"""What changes during a run: a dying path, a host that goes away, a machine that moves."""

from __future__ import annotations

from pyVmomi import vim

from tests.collectors.vsphere.asking import Ask
from tests.collectors.vsphere.site import NAA, RAW, host_properties, measured, multipath, site
from tests.collectors.vsphere.vcenter import Vcenter

ALWAYS = 0.001
"""Looks for changes at every poll."""


def test_a_path_that_dies_is_an_event_and_a_sample(ask: Ask) -> None:
    vcenter = site()
    host = vcenter.objects["HostSystem", "host-1"]

    def change(number: int) -> None:
        state = {1: "active", 2: "dead", 3: "active"}[number]
        adapters = host["config.storageDevice.hostBusAdapter"]
        host["config.storageDevice.multipathInfo"] = multipath([NAA, RAW], adapters, vmhba2_C0_T0_L1=state)

    reported = ask(vcenter, polls=3, change=change, states_every_seconds=ALWAYS, every_seconds=20)
    path = "esx7/vmhba2:C0:T0:L1"
    assert reported.events("path-state") == [
        {"path": path, "from": "active", "to": "dead"},
        {"path": path, "from": "dead", "to": "active"},
    ]
    assert [row["path_usable"] for row in reported.rows("path", path)] == [1, 0, 1]
    assert reported.entity("path", path).attributes["state"] == "active"
    others = {row["path_usable"] for row in reported.rows("path", "esx7/vmhba3:C0:T0:L1")}
    assert others == {1}


def test_a_path_that_is_gone_carries_nothing(ask: Ask) -> None:
    vcenter = site()
    host = vcenter.objects["HostSystem", "host-1"]

    def change(number: int) -> None:
        if number == 2:
            left = host["config.storageDevice.hostBusAdapter"][:1]
            host["config.storageDevice.multipathInfo"] = multipath([NAA, RAW], left)

    reported = ask(vcenter, polls=2, change=change, states_every_seconds=ALWAYS)
    gone = {event["path"] for event in reported.events("path-state") if event["to"] == "gone"}
    assert gone == {f"esx7/vmhba3:C0:T{target}:L{lun}" for target in (0, 1) for lun in (1, 2)}
    assert [row["path_usable"] for row in reported.rows("path", "esx7/vmhba3:C0:T0:L1")] == [1, 0]


def test_a_host_that_is_disconnected_is_told_and_the_others_are_read(ask: Ask) -> None:
    vcenter = two_hosts()

    def change(number: int) -> None:
        measured(vcenter, [20 * number])
        vcenter.samples["host-2"] = vcenter.samples["host-1"]
        vcenter.objects["HostSystem", "host-2"]["runtime.connectionState"] = (
            "connected" if number == 1 else "notResponding"
        )

    reported = ask(vcenter, polls=3, change=change, states_every_seconds=ALWAYS)
    (event,) = reported.events("host-state")
    assert (event["host"], event["from"], event["to"]) == ("esx8", "connected", "notResponding")
    assert event["consequence"]
    assert len(reported.rows("lun", f"esx7/{NAA}")) == 4
    assert len(reported.rows("lun", f"esx8/{NAA}")) == 3  # at the second poll its state was not known yet


def test_a_host_that_is_not_connected_from_the_start_is_told_at_the_check(ask: Ask) -> None:
    vcenter = two_hosts()
    vcenter.objects["HostSystem", "host-2"]["runtime.connectionState"] = "disconnected"
    reported = ask(vcenter, states_every_seconds=ALWAYS)
    assert reported.check is not None
    assert any("esx8 (disconnected)" in line for line in reported.check.unreadable)
    assert [(event["host"], event["to"]) for event in reported.events("host-state")] == [("esx8", "disconnected")]
    assert not reported.rows("path", "esx8/vmhba2:C0:T0:L1")


def test_a_host_that_comes_back_is_read_at_once(ask: Ask) -> None:
    vcenter = two_hosts()
    away = vcenter.objects["HostSystem", "host-2"]
    away["runtime.connectionState"] = "disconnected"

    def change(number: int) -> None:
        measured(vcenter, [20 * number])
        vcenter.samples["host-2"] = vcenter.samples["host-1"]
        if number == 2:
            away["runtime.connectionState"] = "connected"

    reported = ask(vcenter, polls=3, change=change, states_every_seconds=ALWAYS)
    assert [event["to"] for event in reported.events("host-state")] == ["disconnected", "connected"]
    assert reported.entity("hba", "esx8/vmhba2").ids["wwpn"] == ("21000024ff4a8e14",)
    assert reported.rows("lun", f"esx8/{NAA}")


def test_a_host_in_maintenance_is_told_and_read(ask: Ask) -> None:
    vcenter = site()
    vcenter.objects["HostSystem", "host-1"]["runtime.inMaintenanceMode"] = True
    measured(vcenter, [20])
    reported = ask(vcenter)
    assert reported.check is not None
    assert any("esx7 (maintenance)" in line for line in reported.check.unreadable)
    assert [event["to"] for event in reported.events("host-state")] == ["maintenance"]
    assert reported.rows("lun", f"esx7/{NAA}")


def test_a_machine_that_moves_is_told_and_its_disks_lead_to_the_other_host(ask: Ask) -> None:
    vcenter = two_hosts()

    def change(number: int) -> None:
        if number == 2:
            vcenter.objects["VirtualMachine", "vm-1"]["runtime.host"] = vim.HostSystem("host-2", None)

    reported = ask(vcenter, polls=3, change=change, states_every_seconds=3600)
    (moved,) = reported.events("vm-moved")
    assert (moved["vm"], moved["from"], moved["to"]) == ("sqlvm1", "esx7", "esx8")
    links = [item for item in reported.polls[1] if getattr(item, "relation", "") in ("runs_on", "backed_by")]
    assert {link.to_end[1].partition("/")[0] for link in links} == {"esx8"}


def test_a_machine_that_moves_to_a_host_that_is_not_read_is_on_none_that_is(ask: Ask) -> None:
    vcenter = two_hosts()

    def change(number: int) -> None:
        if number == 2:
            vcenter.objects["VirtualMachine", "vm-1"]["runtime.host"] = vim.HostSystem("host-9", None)

    reported = ask(vcenter, polls=3, change=change)
    (link,) = [item for item in reported.polls[1] if getattr(item, "relation", "") == "runs_on"]
    assert link.to_end == ("host", "host-9")


def test_a_machine_that_stops_is_told(ask: Ask) -> None:
    vcenter = site()

    def change(number: int) -> None:
        if number == 2:
            vcenter.objects["VirtualMachine", "vm-1"]["runtime.powerState"] = "poweredOff"

    reported = ask(vcenter, polls=3, change=change, states_every_seconds=ALWAYS)
    assert reported.events("vm-stopped") == [{"vm": "sqlvm1", "state": "poweredOff"}]


def test_states_are_looked_at_less_often_than_samples(ask: Ask) -> None:
    vcenter = site()
    ask(vcenter, polls=3, states_every_seconds=3600)
    looks = [number for number, call in enumerate(vcenter.calls) if call == "QueryPerf"]
    between = vcenter.calls[looks[-3] :]
    assert between.count("RetrievePropertiesEx") == 1, "where the machines run, which every poll asks"


def two_hosts() -> Vcenter:
    vcenter = site()
    vcenter.objects["HostSystem", "host-2"] = host_properties(
        "esx8.example.com", [NAA, RAW], ("21000024ff4a8e14", "21000024ff4a8e15")
    )
    return vcenter
