"""What a vCenter tells of hosts, LUNs, paths, virtual machines and their disks, and how it joins."""

from __future__ import annotations

import pytest
from pyVmomi import vim

from sanpath_collectors.vsphere.connection import vmomi
from sanpath_collectors.vsphere.connection.plain import plain
from sanpath_collectors.vsphere.properties import adapters, machines, paths
from sanpath_collectors.vsphere.properties.inventory import STORAGE
from tests.collectors.vsphere.asking import Ask, Asked
from tests.collectors.vsphere.site import INITIATORS, NAA, RAW, TARGETS, site, vmfs


@pytest.fixture(scope="module")
def reported(ask: Ask) -> Asked:
    return ask(site())


def test_ports_carry_the_names_that_the_fabric_knows(reported: Asked) -> None:
    port = reported.entity("hba", "esx7/vmhba2")
    assert port.ids["wwpn"] == (INITIATORS[0],)
    assert (port.attributes["technology"], port.attributes["speed_bits_per_second"]) == ("fibre_channel", 8e9)
    assert reported.entity("host", "esx7").ids["wwpn"] == INITIATORS


def test_luns_have_an_identifier_a_queue_and_a_policy(reported: Asked) -> None:
    lun = reported.entity("lun", f"esx7/{NAA}")
    assert lun.ids["naa"] == (NAA,)
    expected = {
        "queue_depth": 64,
        "path_policy": "round_robin",
        "path_policy_native": "VMW_PSP_RR",
        "path_access_native": "VMW_SATP_ALUA",
        "paths": 4,
        "paths_active": 4,
        "datastore": "DS1",
        "sioc": True,
        "sioc_threshold_seconds": 0.03,
        "vendor": "PURE",
    }
    assert {name: lun.attributes[name] for name in expected} == expected


def test_disks_of_machines_lead_to_their_luns(reported: Asked) -> None:
    topology = reported.topology
    assert topology.related("vm:sqlvm1", "runs_on") == ["host:esx7"]
    below = {
        disk: topology.related(f"vdisk:sqlvm1/{disk}", "backed_by") for disk in ("scsi1:0", "scsi0:1", "nvme0:2")
    }
    assert below == {"scsi1:0": [f"lun:esx7/{NAA}"], "scsi0:1": [f"lun:esx7/{RAW}"], "nvme0:2": [f"lun:esx7/{NAA}"]}
    ways = topology.related(f"lun:esx7/{NAA}", "member_of", "path")
    assert len(ways) == 4
    assert {hba for way in ways for hba in topology.related(way, "attached_to", "hba")} == {
        "hba:esx7/vmhba2",
        "hba:esx7/vmhba3",
    }
    missing = {one.subject.split()[1] for one in topology.unjoined}
    assert missing == set(TARGETS)  # no array is read here


def test_disks_tell_their_controller_and_their_limit(reported: Asked) -> None:
    disks = {name: disk.attributes for name, disk in reported.entities("vdisk").items()}
    assert disks["sqlvm1/scsi1:0"]["controller_type"] == "pvscsi"
    assert disks["sqlvm1/scsi0:1"]["controller_type"] == "lsi_logic"
    assert disks["sqlvm1/scsi0:1"]["raw_device_mapping"] == "physical"
    assert disks["sqlvm1/nvme0:2"]["controller_type"] == "nvme"
    assert disks["sqlvm1/nvme0:2"]["limit_ops_per_second"] == 5000
    assert disks["sqlvm1/nvme0:2"]["limit_operation_bytes"] == 32768, "larger I/Os count as several"


def test_a_path_tells_its_state_and_its_target(reported: Asked) -> None:
    way = reported.entity("path", "esx7/vmhba3:C0:T1:L1").attributes
    assert (way["state"], way["usable"], way["target"], way["hba"]) == ("active", True, TARGETS[1], "esx7/vmhba3")


def test_only_the_hosts_and_machines_that_were_named_are_read(ask: Ask) -> None:
    vcenter = site()
    other = dict(vcenter.objects["HostSystem", "host-1"], name="esx8.example.com")
    vcenter.objects["HostSystem", "host-2"] = other
    vcenter.objects["VirtualMachine", "vm-2"] = dict(vcenter.objects["VirtualMachine", "vm-1"], name="other")
    named = ask(vcenter, hosts=["esx7"], machines=["sqlvm1", "nobody"])
    assert set(named.entities("host")) == {"esx7"}
    assert set(named.entities("vm")) == {"sqlvm1"}
    assert any("virtual machine nobody" in line for line in named.check.unreadable)


def test_machines_of_one_name_and_hosts_of_one_short_name_are_told_apart(ask: Ask) -> None:
    vcenter = site()
    vcenter.objects["HostSystem", "host-2"] = dict(
        vcenter.objects["HostSystem", "host-1"], name="esx7.lab.example.com"
    )
    vcenter.objects["VirtualMachine", "vm-2"] = dict(vcenter.objects["VirtualMachine", "vm-1"])
    both = ask(vcenter)
    assert set(both.entities("host")) == {"esx7.example.com", "esx7.lab.example.com"}
    assert set(both.entities("vm")) == {"sqlvm1 (vm-1)", "sqlvm1 (vm-2)"}


def test_a_machine_that_is_off_is_not_read(ask: Ask) -> None:
    vcenter = site()
    vcenter.objects["VirtualMachine", "vm-1"]["runtime.powerState"] = "poweredOff"
    assert ask(vcenter).entities("vm") == {}


def test_iscsi_and_nvme_adapters_are_told_by_their_names_and_speeds() -> None:
    iscsi = vim.host.InternetScsiHba(
        device="vmhba64", iScsiName="iqn.1998-01.com.vmware:esx7", currentSpeedMb=10000, isSoftwareBased=True
    )
    port = adapters.adapter("esx7", plain(iscsi))
    assert port.ids["iqn"] == ("iqn.1998-01.com.vmware:esx7",)
    assert (port.attributes["protocol"], port.attributes["speed_bits_per_second"]) == ("iSCSI", 10_000_000_000)
    tcp = vim.host.TcpHba(device="vmhba65", storageProtocol="nvme", associatedPnic="vmnic4")
    port = adapters.adapter("esx7", plain(tcp))
    assert (port.attributes["protocol"], port.attributes["network_adapter"]) == ("NVMe/TCP", "vmnic4")
    fcoe = vim.host.FibreChannelOverEthernetHba(device="vmhba5", portWorldWideName=-1, speed=10)
    port = adapters.adapter("esx7", plain(fcoe))
    assert (port.ids["wwpn"], port.attributes["protocol"]) == (("ffffffffffffffff",), "FCoE")


def test_a_host_is_known_by_its_nvme_name_and_its_nvme_ports_say_what_they_are_connected_to(ask: Ask) -> None:
    vcenter = site()
    host = vcenter.objects["HostSystem", "host-1"]
    ports = [
        vim.host.TcpHba(key=f"key-vmhba{n}", device=f"vmhba{n}", storageProtocol="nvme", associatedPnic=f"vmnic{n}")
        for n in (65, 66)
    ]
    host["config.storageDevice.hostBusAdapter"] = [*host["config.storageDevice.hostBusAdapter"], *ports]
    host["hardware.systemInfo.qualifiedName"] = [
        vim.host.QualifiedName(type="vvolNvmeQualifiedName", value="nqn.2021-01.com.vmware:vvol"),
        vim.host.QualifiedName(type="nvmeQualifiedName", value="nqn.2014-08.com.example:nvme:esx7"),
    ]
    controllers = [
        vim.host.NvmeController(
            key=f"c{n}",
            controllerNumber=n,
            subnqn="nqn.2010-06.com.array:1",
            name=f"c{n}",
            associatedAdapter="key-vmhba65",
            transportType="tcp",
            fusedOperationSupported=True,
            numberOfQueues=4,
            queueSize=size,
        )
        for n, size in ((1, 256), (2, 128))
    ]
    used = vim.host.NvmeTopology.Interface(key="i1", adapter="key-vmhba65", connectedController=controllers)
    host["config.storageDevice.nvmeTopology"] = vim.host.NvmeTopology(adapter=[used])
    reported = ask(vcenter)
    assert reported.entity("host", "esx7").ids["nqn"] == ("nqn.2014-08.com.example:nvme:esx7",)
    first, second = (reported.entity("hba", f"esx7/vmhba{n}") for n in (65, 66))
    assert first.attributes["nqn"] == second.attributes["nqn"] == "nqn.2014-08.com.example:nvme:esx7"
    assert (first.attributes["target_nqn"], first.attributes["nvme_queue_slots"]) == ("nqn.2010-06.com.array:1", 512)
    assert "target_nqn" not in second.attributes
    assert "nqn" not in reported.entity("hba", "esx7/vmhba2").attributes
    assert len({reported.topology.known_as["vc", "hba", f"esx7/vmhba{n}"] for n in (65, 66)}) == 2


def test_an_iscsi_path_leads_to_an_address() -> None:
    unit = {
        "lun": "key-1",
        "path": [
            {
                "name": "vmhba64:C0:T0:L0",
                "state": "active",
                "adapter": "key-vmhba64",
                "transport": {"iScsiName": "iqn.2010-06.com.array", "address": ["10.0.0.1:3260"]},
            }
        ],
    }
    luns = [{"key": "key-1", "canonicalName": NAA, "lunType": "disk"}]
    (way,) = paths.paths({"lun": [unit]}, luns, {"key-vmhba64": {"device": "vmhba64"}})
    assert (way.target_end, way.target_name, way.adapter) == (
        ("ip", "10.0.0.1"),
        "iqn.2010-06.com.array",
        "vmhba64",
    )


@pytest.mark.parametrize(
    ("policy", "name", "operations"),
    [
        ("LB-RR", "round_robin", 1000),
        ("LB-IOPS", "round_robin", 1000),
        ("LB-BYTES", "least_blocks", None),
        ("LB-Latency", "service_time", None),
    ],
)
def test_only_policies_of_hpp_that_count_ios_take_turns_after_a_number_of_them(
    policy: str, name: str, operations: int | None
) -> None:
    shown = vim.host.MultipathInfo.HppLogicalUnitPolicy(policy=policy, iops=1000, bytes=10_485_760)
    lun = paths.lun("esx7", {"canonicalName": NAA}, {"policy": plain(shown)}, [], {})
    assert (lun.attributes["path_policy"], lun.attributes.get("path_switch_operations")) == (name, operations)


def test_a_file_system_on_several_luns_leads_to_each_of_them() -> None:
    info = vim.host.VmfsDatastoreInfo(name="DS", url="", freeSpace=0, maxFileSize=0, vmfs=vmfs("1", NAA, RAW))
    store = machines.datastore("datastore-1", {"name": "DS", "info": plain(info)})
    assert store.devices == (NAA, RAW)
    disk = {
        "type name": "VirtualDisk",
        "key": 1,
        "backing": {"fileName": "[DS] a.vmdk", "datastore": "datastore-1"},
    }
    storage = machines.HostStorage("esx7", {"datastore-1": store}, frozenset((NAA, RAW)), {})
    links = [item for item in machines.items("vm", [disk], storage) if getattr(item, "relation", "") == "backed_by"]
    assert [(link.to_end[1], link.evidence) for link in links] == [
        (f"esx7/{NAA}", "VMFS DS, extent 1 of 2"),
        (f"esx7/{RAW}", "VMFS DS, extent 2 of 2"),
    ]


def test_nothing_is_asked_that_the_release_does_not_have() -> None:
    """An unknown property makes a real vCenter refuse the whole call."""
    old = "vim.version.version6"  # 4.1, before vSAN
    assert [path for path in STORAGE if not vmomi.has("HostSystem", path, old)] == [
        "config.vsanHostConfig.clusterInfo",
        "config.storageDevice.nvmeTopology",
        "hardware.systemInfo.qualifiedName",
    ]
