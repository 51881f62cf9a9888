"""Facts of block devices, machines, initiator ports and virtual disks under test."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.facts.compute import compute
from sanpath.facts.facts import Facts
from sanpath.facts.host.machines import _other_ports_full
from sanpath.facts.table import FactRow
from sanpath.model import Scalar, SourceEntity, SourceLink
from sanpath.rulebook.remedy import applicable_remedies
from sanpath.rulebook.rule_files import load_rulebook
from sanpath.topology.resolve import resolve
from tests.support.esx_san import DEVICE, EsxSan, over_first_path
from tests.support.recording import RecordingBuilder
from tests.support.san import NAA, Flow, San
from tests.support.stories import X, computed, guest_queue, mixed

HBA = "hba:esx7/vmhba2"
LSI: dict[str, Scalar] = {"controller_type": "lsi_logic", "controller": "scsi0"}


def row(facts: Facts, table: str, entity: str, step: str = "t128") -> FactRow:
    (found,) = facts.tables[table].select(entity=entity, step=step)
    return found


def test_a_queue_of_32_is_full_with_32_in_flight() -> None:
    """32 / 0.5 ms = 64,000 IOPS, links at 15.7 %. Only its name tells that sda is a disk of Linux."""
    found = row(computed("guest_queue"), "device", "lun:sqlvm1/sda", "q512")
    assert (found["queue_depth"], found["platform"], found["device"]) == (32, "linux", "sda")
    assert found["in_flight"] == pytest.approx(32, rel=1e-3)
    assert found["queue_filled_ratio"] == pytest.approx(1.0, rel=1e-3)
    assert found["busiest_utilisation"] == pytest.approx(0.157, abs=1e-3)


def test_a_setting_is_told_once_though_the_load_reads_and_writes(tmp_path: Path) -> None:
    (found,) = compute(mixed(San(tmp_path)).write()).tables["device"]
    assert found["in_flight"] == pytest.approx(32, rel=1e-3), "16 reads and 16 writes"


def test_links_that_nobody_saw_are_not_idle(tmp_path: Path) -> None:
    facts = compute(guest_queue(San(tmp_path, leave_out={"switch"})).write())
    assert row(facts, "device", "lun:sqlvm1/sda", "q512")["busiest_utilisation"] is None


def test_what_the_hypervisor_says_of_the_same_lun(tmp_path: Path) -> None:
    counted = {"lun": {"in_flight": 30, "queue_depth": 32, "kernel_seconds_mean": 0.002, "sioc_active_ratio": 0.25}}
    vdisks = {f"sqlvm1/scsi0:{n}": LSI for n in (1, 2)}
    settings: dict[str, Scalar] = {"sched_num_req_outstanding": 16, "queue_depth": 64}
    found = row(compute(over_first_path(tmp_path, lun=settings, counted=counted, vdisks=vdisks)), "device", DEVICE)
    assert (found["queue_depth"], found["in_flight"]) == (32, 30), "as sampled, not as it was set"
    assert found["kernel_seconds"] == pytest.approx(0.002)
    assert found["sioc_active_ratio"] == pytest.approx(0.25)
    assert (found["competing_limit"], found["virtual_machines"], found["platform"]) == (16, 1, "esxi")
    assert found["depth_lowered"], "32 of the 64 that are set"
    assert found["deeper_queue_depth"] == "128", "as text, for commands"


@pytest.mark.parametrize(("depth", "lowered"), [(16, True), (32, None), (128, False)])
def test_a_depth_that_was_set_during_the_run_was_not_lowered_before(
    tmp_path: Path, depth: int, lowered: bool | None
) -> None:
    """Set to 32, and raised to 128 at some time before this was read."""

    class Raised(EsxSan):
        def _configuration(self, out: RecordingBuilder) -> None:
            out.entity("vc", "lun", f"esx7/{NAA}", attributes={"queue_depth": 32})
            EsxSan._configuration(self, out)

    counted = {"lun": {"in_flight": 30, "queue_depth": depth}}
    san = Raised(tmp_path, counted=counted, lun={"queue_depth": 128})
    san.step("t128", 128, read=Flow(X, 128 / X))
    found = row(compute(san.write()), "device", DEVICE)
    assert found["depth_lowered"] is lowered


def test_a_device_of_which_nothing_is_known_has_no_row(tmp_path: Path) -> None:
    facts = compute(over_first_path(tmp_path, leave_out={"disk"}))
    assert not facts.tables["device"].select(entity=DEVICE)


@pytest.mark.parametrize(("in_flight", "filled"), [(32, 1.0), (34, None), (127, None)])
def test_a_default_depth_is_refuted_by_more_ios_in_flight(
    tmp_path: Path, in_flight: int, filled: float | None
) -> None:
    """A queue does not hold more I/Os than it has slots: a guest with more of them was given another depth."""
    counted = {"vdisk": {"in_flight_read": in_flight, "in_flight_write": 0}}
    facts = compute(over_first_path(tmp_path, counted=counted, vdisks={"sqlvm1/scsi0:1": LSI}))
    found = row(facts, "virtual_disk", "vdisk:sqlvm1/scsi0:1")
    assert (found["queue_filled_ratio"], found["queue_depth"]) == (filled, None if filled is None else 32)


@pytest.mark.parametrize(("depth", "deeper"), [(32, "128"), (128, "256"), (256, None)])
def test_a_deeper_queue_is_deeper_than_the_present_one(tmp_path: Path, depth: int, deeper: str | None) -> None:
    counted = {"lun": {"in_flight": depth, "queue_depth": depth}}
    assert row(compute(over_first_path(tmp_path, counted=counted)), "device", DEVICE)["deeper_queue_depth"] == deeper


def test_links_that_nobody_counts_are_known_not_to_be_counted(tmp_path: Path) -> None:
    for left_out, counted in ((set[str](), True), ({"switch"}, False)):
        facts = compute(guest_queue(San(tmp_path / str(counted), leave_out=left_out)).write())
        found = row(facts, "device", "lun:sqlvm1/sda", "q512")
        assert (found["links_counted"], found["busiest_utilisation"] is not None) == (counted, counted)


@pytest.mark.parametrize(
    ("hba", "nvme", "driver"),
    [
        ({"protocol": "NVMe/FC", "driver": "qlnativefc"}, True, "qlnativefc"),
        ({"protocol": "iSCSI", "driver": "iscsi_vmk"}, False, "iscsi_vmk"),
        ({}, False, None),
    ],
)
def test_a_device_of_esxi_is_told_by_the_adapters_of_its_paths(
    tmp_path: Path, hba: dict[str, Scalar], nvme: bool | None, driver: str | None
) -> None:
    """Where they do not say it, its identifier of NAA is one of SCSI."""
    counted = {"lun": {"in_flight": 30, "queue_depth": 32}}
    found = row(compute(over_first_path(tmp_path, counted=counted, hba=hba)), "device", DEVICE)
    assert (found["nvme"], found["driver"]) == (nvme, driver)


def test_processors_and_ports_of_the_host(tmp_path: Path) -> None:
    counted = {
        "host": {"cpu_busy_ratio": 0.25, "cpu_busiest_core_ratio": 1.0},
        "hba": {"in_flight": 30, "queue_depth": 32, "queued": 4},
    }
    facts = compute(over_first_path(tmp_path, counted=counted, speeds=(4e9, 0)))
    host = row(facts, "host", "host:esx7")
    assert (host["cpu_ratio"], host["busiest_core_ratio"]) == (0.25, 1.0)
    assert (host["fc_ports"], host["fc_ports_down"]) == (2, None), "a speed of nothing tells no state"
    port = row(facts, "initiator", "hba:esx7/vmhba2")
    assert (port["adapter"], port["queued"], port["technology"]) == ("vmhba2", 4, "fibre_channel")
    assert port["queue_filled_ratio"] == pytest.approx(30 / 32)


@pytest.mark.parametrize(("software", "filled"), [(False, 0.993), (True, None)])
def test_the_payload_that_a_hypervisor_counts_fills_the_link_of_the_adapter(
    tmp_path: Path, software: bool, filled: float | None
) -> None:
    """6,250 x 64 KiB are counted as 415.2 of 425 MB/s, and a full 4GFC link as 98.4 %. Below a software adapter may
    be several ports."""
    counted = {"hba": {"bytes_read_total": X * 65536}}
    facts = compute(over_first_path(tmp_path, counted=counted, speeds=(4e9, 4e9), hba={"software": software}))
    found = row(facts, "initiator", HBA)["filled_ratio_read"]
    assert found == (None if filled is None else pytest.approx(filled, abs=0.001))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"fibre_channel": 0.98}, True),
        ({"fibre_channel": 0.4}, False),
        ({"fibre_channel": None}, None),  # not read
        ({"fibre_channel": None, None: 0.4}, False),
        ({None: None}, None),  # may be of this technology
        ({"ethernet": 0.1}, True),  # the only one
        ({}, True),  # the only one
    ],
)
def test_i_os_are_spread_over_other_ports_only_where_one_has_room(
    others: dict[str | None, float | None], expected: bool | None
) -> None:
    machine = SourceEntity("host", "esx7", "esx7", {"name": ("esx7",)})
    found: list[tuple[str, int, SourceEntity | SourceLink]] = [("h", 0, machine)]
    uses: dict[str, FactRow] = {}
    for number, (technology, ratio) in enumerate([("fibre_channel", 0.99), *others.items()]):
        name = f"esx7/vmhba{number}"
        found.append(("h", 0, SourceEntity("hba", name, name, {}, {"technology": technology})))
        found.append(("h", 0, SourceLink("attached_to", ("hba", name), ("host", "esx7"), "sysfs")))
        uses[f"hba:{name}"] = {"filled_ratio_read": ratio}
    assert _other_ports_full(resolve(found), "hba:esx7/vmhba0", uses, "read") is expected
    (rule,) = (rule for rule in load_rulebook() if rule.id == "initiator-port-full")
    fixes = applicable_remedies(rule.fix, [{"other_ports_full": expected}])
    assert ("Spread" in str(fixes[0].action)) == (expected is not True)


def test_pcie_lanes_are_compared_with_the_port(tmp_path: Path) -> None:
    """Lanes of 8 Gb/s below a 16GFC port of 1,700 MB/s (13.6 Gb/s); not read, there is nothing to compare."""
    counted = {"hba": {"in_flight": 30}}
    hba: dict[str, Scalar] = {"pcie_bits_per_second": 8e9, "pcie_capable_bits_per_second": 31.5e9}
    facts = compute(over_first_path(tmp_path / "slot", counted=counted, speeds=(16e9, 16e9), hba=hba))
    port = row(facts, "initiator", HBA)
    assert port["pcie_port_ratio"] == pytest.approx(8 / 13.6)
    assert (port["pcie_bits_per_second"], port["pcie_used_ratio"]) == (8e9, None)
    unread = row(compute(over_first_path(tmp_path / "none", counted=counted, speeds=(16e9, 16e9))), "initiator", HBA)
    assert unread.get("pcie_port_ratio") is None


def test_disks_on_one_virtual_controller_share_its_queue(tmp_path: Path) -> None:
    """Two disks, 3,125 IOPS each; 30 reads and 2 writes of each are in flight: 64 of the 128 of LSI Logic."""
    counted = {"vdisk": {"in_flight_read": 30, "in_flight_write": 2}}
    vdisks = {"sqlvm1/scsi0:1": LSI, "sqlvm1/scsi0:2": {**LSI, "limit_ops_per_second": 4000}}
    facts = compute(over_first_path(tmp_path, counted=counted, vdisks=vdisks))
    first, second = (row(facts, "virtual_disk", f"vdisk:sqlvm1/scsi0:{n}") for n in (1, 2))
    assert (first["vm"], first["queue_depth"], first["queue_filled_ratio"]) == ("sqlvm1", 32, 1.0)
    assert (first["adapter_in_flight"], first["adapter_filled_ratio"]) == (64, 0.5)
    assert (first["limit_ops_per_second"], second["limit_ops_per_second"]) == (0, 4000)
    assert second["ops_per_second"] == pytest.approx(3125, rel=1e-3)


def test_the_queue_of_an_unknown_virtual_controller_is_unknown(tmp_path: Path) -> None:
    counted = {"vdisk": {"in_flight_read": 30, "in_flight_write": 2}}
    vdisks: dict[str, dict[str, Scalar]] = {"sqlvm1/disk2000": {}}
    found = row(
        compute(over_first_path(tmp_path, counted=counted, vdisks=vdisks)), "virtual_disk", "vdisk:sqlvm1/disk2000"
    )
    assert (found["queue_depth"], found["queue_filled_ratio"], found["adapter_filled_ratio"]) == (None, None, None)
    assert found["limit_ops_per_second"] is None


def test_a_load_that_nobody_reads_has_no_rows(tmp_path: Path) -> None:
    facts = compute(EsxSan(tmp_path, leave_out={"load", "disk"}).write())
    assert not any(
        list(facts.tables[table]) for table in ("device", "multipath", "host", "initiator", "virtual_disk")
    )
