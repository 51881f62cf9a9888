"""The second tier: what esxcli tells over the session, and what is said where it does not."""

from __future__ import annotations

import pytest
from pyVmomi import vim

from sanpath.model import SourceEntity
from sanpath.plugin import CollectorError
from sanpath_collectors.vsphere.connection import esxcli
from sanpath_collectors.vsphere.properties import details
from tests.collectors.vsphere.asking import Ask
from tests.collectors.vsphere.site import NAA, measured, site

HEAD = '<obj xmlns="urn:vim25" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="ArrayOfDataObject">'


def structures(*rows: dict[str, str]) -> str:
    """An answer of esxcli."""
    parts = ["".join(f"<{name}>{value}</{name}>" for name, value in row.items()) for row in rows]
    return HEAD + "".join(f"<DataObject>{part}</DataObject>" for part in parts) + "</obj>"


NMP = {
    "Device": NAA,
    "DeviceDisplayName": "PURE Fibre Channel Disk",
    "PathSelectionPolicy": "VMW_PSP_RR",
    "PathSelectionPolicyDeviceConfig": (
        "{policy=rr,iops=1000,bytes=10485760,useANO=0; lastPathIndex=1: NumIOsPending=0,numBytesPending=0}"
    ),
    "StorageArrayType": "VMW_SATP_ALUA",
    "StorageArrayTypeDeviceConfig": "{implicit_support=on; {TPG_id=0,TPG_state=AO}{TPG_id=1,TPG_state=ANO}}",
    "WorkingPaths": "vmhba2:C0:T0:L1",
}
CORE = {
    "Device": NAA,
    "DeviceMaxQueueDepth": "64",
    "NoofoutstandingIOswithcompetingworlds": "32",
    "QueueFullSampleSize": "0",
    "QueueFullThreshold": "0",
}
LINES = {
    "vim.EsxCLI.storage.nmp.device.list": structures(NMP),
    "vim.EsxCLI.storage.core.device.list": structures(CORE),
    "vim.EsxCLI.system.module.parameters.list": structures(
        {"Name": "ql2xmaxqdepth", "Type": "int", "Value": "128", "Description": "Maximum queue depth"},
        {"Name": "ql2xloginretrycount", "Type": "int", "Value": "", "Description": "Login retries"},
    ),
}


def test_the_turns_of_round_robin_and_the_limits_of_the_queue_are_told(ask: Ask) -> None:
    vcenter = site()
    vcenter.lines.update(LINES)
    reported = ask(vcenter)
    lun = reported.entity("lun", f"esx7/{NAA}").attributes
    expected = {
        "path_switch": "rr",
        "path_switch_operations": 1000,
        "path_switch_bytes": 10_485_760,
        "device_max_queue_depth": 64,
        "sched_num_req_outstanding": 32,
        "target_groups": "0 AO, 1 ANO",
        "queue_depth": 64,
        "path_policy": "round_robin",
    }
    assert {name: lun[name] for name in expected} == expected
    port = reported.entity("hba", "esx7/vmhba2").attributes
    assert (port["driver_queue_depth"], port["driver_parameters"]) == (128, "ql2xmaxqdepth=128")
    assert reported.entity("host", "esx7").attributes["sched_num_req_outstanding"] == 32
    assert reported.check is not None
    assert not [line for line in reported.check.unreadable if "esxcli" in line]


def test_an_account_that_may_not_is_told_with_the_privilege(ask: Ask) -> None:
    vcenter = site()
    fault = vim.fault.NoPermission(
        msg="Permission denied.", object=vim.HostSystem("host-1", None), privilegeId="Host.Config.Settings"
    )
    vcenter.faults["RetrieveManagedMethodExecuter"] = [fault, fault]
    reported = ask(vcenter)
    assert reported.check is not None
    assert any("Host.Config.Settings" in line for line in reported.check.unreadable)
    reason = reported.entity("host", "esx7").attributes["esxcli_unknown"]
    assert "Host.Config.Settings" in str(reason)
    assert [event["entity"] for event in reported.events("facts-unknown")] == ["esx7"]
    assert reported.entities("lun")  # the first tier is not concerned


def test_it_is_not_asked_when_that_is_not_wanted(ask: Ask) -> None:
    vcenter = site()
    reported = ask(vcenter, esxcli=False)
    assert "RetrieveManagedMethodExecuter" not in vcenter.calls
    assert not reported.events("facts-unknown")


def test_an_esxcli_that_hangs_costs_its_facts_and_no_samples(ask: Ask) -> None:
    vcenter = site()
    measured(vcenter, [20])
    vcenter.lines.update(LINES)
    vcenter.delays["ExecuteSoap"] = 20.0
    reported = ask(vcenter, polls=2, timeout_seconds=2)
    (event,) = reported.events("facts-unknown")
    assert "no answer within" in event["why"]
    assert reported.rows("lun", f"esx7/{NAA}")
    assert vcenter.calls.count("Login") == 1  # the session goes on


def test_a_new_inventory_keeps_what_was_told(ask: Ask) -> None:
    vcenter = site()
    vcenter.lines.update(LINES)
    reported = ask(vcenter, inventories=2)
    (lun,) = (
        item for item in reported.inventory if isinstance(item, SourceEntity) and item.local_id == f"esx7/{NAA}"
    )
    assert (lun.attributes["path_switch_operations"], lun.attributes["datastore"]) == (1000, "DS1")


def test_the_latency_policy_takes_no_turns_by_numbers() -> None:
    config = "{policy=latency,latencyEvalTime=180000,samplingCycles=16,curSamplingCycle=0,useANO=0; iops=1000}"
    assert details.policy({"PathSelectionPolicyDeviceConfig": config}) == {"path_switch": "latency"}


def test_turns_by_bytes_have_no_number_of_operations() -> None:
    config = "{policy=bytes,iops=1000,bytes=10485760,useANO=0; lastPathIndex=1: NumIOsPending=0,numBytesPending=0}"
    turns = details.policy({"PathSelectionPolicyDeviceConfig": config})
    assert turns == {"path_switch": "bytes", "path_switch_bytes": 10_485_760}


def test_an_answer_that_is_no_xml_is_told() -> None:
    with pytest.raises(CollectorError, match="esxcli storage nmp device list: no XML"):
        esxcli.rows("<obj><DataObject>", "storage nmp device list")
    with pytest.raises(CollectorError):
        esxcli.rows('<!DOCTYPE a [<!ENTITY b "c">]><a><d><e>&b;</e></d></a>', "x")


def test_one_structure_is_one_row() -> None:
    assert esxcli.rows(f"{HEAD}<Name>esx7</Name></obj>") == [{"Name": "esx7"}]
    assert esxcli.rows(f"{HEAD}</obj>") == esxcli.rows("") == []
