"""vSAN's statistics as its performance service tells them. No live cluster was at hand: the units are those its users
report."""

from __future__ import annotations

from typing import Any

import pytest
from pyVmomi import VmomiSupport, vim

from sanpath_collectors.vsphere import vsan
from sanpath_collectors.vsphere.vsan import Statistics
from tests.collectors.vsphere.asking import Ask, Asked
from tests.collectors.vsphere.site import site
from tests.collectors.vsphere.vcenter import STARTED, Vcenter

NODE, GROUP = "5f000000-0000-0000-0000-000000000001", "52a10000-0000-0000-0000-000000000001"


def result(entity: str, times: str, **values: str) -> Any:
    kind = VmomiSupport.GetVmodlType
    series = [
        kind("vim.cluster.VsanPerfMetricSeriesCSV")(
            metricId=kind("vim.cluster.VsanPerfMetricId")(label=label), values=csv
        )
        for label, csv in values.items()
    ]
    return kind("vim.cluster.VsanPerfEntityMetricCSV")(entityRefId=entity, sampleInfo=times, value=series)


def cluster() -> Vcenter:
    vcenter = site()
    enabled = vim.vsan.cluster.ConfigInfo(enabled=True)
    vcenter.objects["ClusterComputeResource", "domain-c1"] = {
        "name": "vsan1",
        "configurationEx": vim.cluster.ConfigInfoEx(
            dasConfig=vim.cluster.DasConfigInfo(), drsConfig=vim.cluster.DrsConfigInfo(), vsanConfigInfo=enabled
        ),
    }
    node = vim.vsan.host.ConfigInfo.ClusterInfo(uuid="c", nodeUuid=NODE)
    vcenter.objects["HostSystem", "host-1"]["config.vsanHostConfig.clusterInfo"] = node
    group, times = f"disk-group:{GROUP}", "2026-11-20 07:50:00,2026-11-20 07:55:00"
    vcenter.vsan = {
        "cluster-domclient": [result("cluster-domclient:c", times, latencyAvgRead="900,1200", oio="3,4")],
        "host-domclient": [
            result(f"host-domclient:{NODE}", times, iopsRead="10,20", latencyAvgRead="800,1500", congestion="0,70")
        ],
        "disk-group": [
            result(group, times, wbFreePct="90,12", rcHitRate="9,98", logCongestion="0,88", memCongestion="1,2")
        ],
        "capacity-disk": [result("capacity-disk:52b2", times, latencyDevRead="300,400")],
        "something-new": [],
    }
    return vcenter


@pytest.fixture(scope="module")
def reported(ask: Ask) -> Asked:
    return ask(cluster(), polls=2)


def test_a_node_is_its_host_with_microseconds_and_congestion(reported: Asked) -> None:
    (row,) = reported.rows("cluster_node", "esx7")  # the newest mean, once
    assert row["latency_seconds_mean_read"] == pytest.approx(0.0015)
    assert (row["ops_per_second_read"], row["congestion"], row["covers"]) == (20, 70, 300)
    assert row["device_time"] == round(STARTED.timestamp() * 1e6) - 300_000_000


def test_a_disk_group_tells_its_write_buffer_and_its_strongest_congestion(reported: Asked) -> None:
    (row,) = reported.rows("media", f"vsan1/disk-group {GROUP}")
    assert row["write_buffer_free_ratio"] == pytest.approx(0.12)
    assert row["read_cache_hit_ratio"] == pytest.approx(0.98)
    assert row["congestion"] == 88


def test_the_cluster_and_its_disks_are_told_and_hang_together(reported: Asked) -> None:
    assert reported.rows("media", "vsan1")[-1]["latency_seconds_mean_read"] == pytest.approx(0.0012)
    assert reported.rows("media", "vsan1/capacity-disk 52b2")[-1]["latency_seconds_mean_read"] == pytest.approx(
        0.0004
    )
    group = reported.entity("media", f"vsan1/disk-group {GROUP}")
    assert group.attributes["samples_cover_seconds"] == 300
    links = [item for item in reported.polls[0] if getattr(item, "relation", "") == "member_of"]
    assert ("media", f"vsan1/disk-group {GROUP}") in {link.from_end for link in links}


def test_a_cluster_without_the_service_is_told(ask: Ask) -> None:
    vcenter = cluster()
    fault = vim.fault.NotFound(msg="The performance service is off.")
    vcenter.faults["VsanPerfQueryPerf"] = [fault] * 4
    reported = ask(vcenter)
    events = [event for event in reported.events("facts-unknown") if "vsan1" in event["entity"]]
    assert len(events) == 4
    assert "performance service is off" in events[0]["why"]
    assert not reported.rows("media", "vsan1")


def test_a_service_that_hangs_costs_its_facts_only(ask: Ask) -> None:
    vcenter = cluster()
    vcenter.delays["VsanPerfQueryPerf"] = 20.0
    reported = ask(vcenter, polls=3, timeout_seconds=2)
    events = [event for event in reported.events("facts-unknown") if "vsan1" in event["entity"]]
    assert all("no answer within" in event["why"] for event in events)
    assert len(events) == 4
    assert vcenter.calls.count("Login") == 1


def test_no_cluster_costs_nothing_in_a_poll(ask: Ask) -> None:
    vcenter = site()
    ask(vcenter, polls=2)
    assert not [call for call in vcenter.calls if call.startswith("Vsan")]


def test_it_is_not_asked_when_that_is_not_wanted(ask: Ask) -> None:
    vcenter = cluster()
    ask(vcenter, vsan=False)
    assert not [call for call in vcenter.calls if call.startswith("Vsan")]


def test_every_mean_is_taken_once_and_nonsense_is_left_out() -> None:
    newest: dict[str, int] = {}
    first = Statistics("host-domclient:a", "2026-11-20 08:00:00,never", {"iopsRead": "5,6", "oio": "?,1"})
    (rows,) = vsan.rows([first], "host-domclient", "vsan1", {}, newest, 7)
    assert (list(rows.values["ops_per_second_read"]), list(rows.values["in_flight"])) == ([5], [None])
    assert list(vsan.rows([first], "host-domclient", "vsan1", {}, newest, 8)) == []
    later = Statistics("host-domclient:a", "2026-11-20 08:05:00,2026-11-20 08:00:00", {"iopsRead": "7,5"})
    (rows,) = vsan.rows([later], "host-domclient", "vsan1", {}, newest, 9)
    assert list(rows.values["ops_per_second_read"]) == [7]
