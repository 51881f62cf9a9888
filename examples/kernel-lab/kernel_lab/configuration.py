"""Writes sanpath.yaml, the fio job of a lab, and the plan of its probe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kernel_lab import machines, network, virtual_disk
from kernel_lab.cases import Case
from real_lab.files import options, planned
from real_lab.state import State

VOLUMES = {
    "iscsi": "/dev/mapper/mpatha",
    "fcp": "/dev/mapper/mpatha",
    "nvme": "/dev/nvme0n1",
    "nvme-fc": "/dev/nvme0n1",
    "kvm": "/dev/vdc",
}
"""Transport → device of the volume on the host."""

POLL_SECONDS = 2
"""An emulated machine needs a tenth of a second per poll, so polling every second would slow it down."""


def write_configuration(case: Case, state: State, folder: Path) -> Path:
    """Write sanpath.yaml: host and target over SSH, one switch per fabric over SNMP; or a virtual machine."""
    login = {"user": "root", "key_file": "secrets/login_key", "known_hosts": "secrets/known_hosts"}
    machines.write_known_hosts(state, folder)
    if case.disk is not None:
        return _written_configuration(case, folder, _virtual_machine(case, state, folder, login))
    target = "host" if case.one_machine else "target"
    sources: list[dict[str, object]] = [
        {
            "name": name,
            "collector": collector,
            "address": network.guest_address(state, side),
            "every_seconds": POLL_SECONDS,
            **login,
        }
        for name, collector, side in (("host1", "linux_host", "host"), ("array1", "linux_target", target))
    ]
    links, entities = ["load:fio runs_on host:host1"], {}
    for number, letter in enumerate(network.fabrics(case), start=1):
        switch = f"sw-{letter}"
        sources.append({
            "name": switch, "collector": "snmp_switch", "host": network.switch_address(state, letter),
            "community": "file:secrets/community", "every_seconds": 1,
        })  # fmt: skip
        hba, array_port = f"hba:host1/eth{number}", f"array_port:array1/eth{number}"
        if case.transport == "fcp":  # the only SCSI hosts of the guest, and the port's name in the fabric
            hba = f"hba:host1/host{number - 1}"
            array_port = f"array_port:{network.wwpn('target', letter).replace(':', '')}"
        entities[hba] = {"capable_bits_per_second": network.FAST_MEGABITS * 1e6}
        links += [
            f"switch_port:{switch}/p-host cabled_to {hba}",
            f"switch_port:{switch}/p-target cabled_to {array_port}",
        ]
    document = {
        "hosts": {"host1": {"address": network.guest_address(state, "host"), **login}},
        "sources": sources,
        "topology": {"links": links, "things": entities},
    }
    return _written_configuration(case, folder, document)


def _virtual_machine(case: Case, state: State, folder: Path, login: Mapping[str, str]) -> dict[str, Any]:
    """The guest over SSH, its disks through QEMU's monitor, and this machine, the hypervisor."""
    guest = {"address": network.guest_address(state, "vm"), **login}
    qemu = {"collector": "qemu", "interface": "qmp", "monitors": [str(virtual_disk.monitor(folder))]}
    return {
        "hosts": {case.load_host: guest},
        "sources": [
            {"name": "vm1", "collector": "linux_host", **guest, "every_seconds": POLL_SECONDS},
            {"name": "qemu", **qemu, "machines": ["vm1"], "host": "kvm1", "every_seconds": 1},
            {"name": "kvm1", "collector": "linux_host", "host": "kvm1", "every_seconds": 1},
        ],
        "topology": {"links": ["load:fio runs_on vm:vm1"], "things": {}},
    }


def _written_configuration(case: Case, folder: Path, document: dict[str, Any]) -> Path:
    """Write sanpath.yaml without the sources that the case leaves out."""
    document["sources"] = [source for source in document["sources"] if source["name"] not in case.unread]
    file = folder / "sanpath.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


def write_job(case: Case, folder: Path) -> Path:
    """Write the fio job, one step per queue depth. fio counts startdelay from its own start, so gaps add up."""
    load = case.load
    lines = [
        *_global_options(case),
        *options(load),
        *([f"rate_iops={load.rate_iops}"] if load.rate_iops else []),
    ]
    for step, depth in enumerate(load.queue_depths):
        begin = step * (load.ramp_seconds + load.step_seconds + load.gap_seconds)
        lines += ["", f"[depth-{depth}]", "stonewall", f"startdelay={begin}", f"iodepth={depth}"]
    return _written(folder, lines)


def write_neighbours_job(case: Case, folder: Path) -> Path:
    """Write the fio job of the second host, which runs from its start until the lab is taken down."""
    (folder / "neighbour").mkdir()
    lines = [*_global_options(case), "time_based", "runtime=3600", "[other]", *case.neighbour]
    return _written(folder / "neighbour", lines)


def write_plan(case: Case, folder: Path) -> Path:
    """Write the plan of a probe that starts from the heaviest step of the case's load."""
    document = {
        "hosts": [case.load_host],
        "target": {"filename": [VOLUMES[case.transport]]},
        **planned(case.load),
        "guard": {"baseline_seconds": POLL_SECONDS},
    }
    file = folder / "plan.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    return file


def _global_options(case: Case) -> list[str]:
    return ["[global]", f"filename={VOLUMES[case.transport]}", "ioengine=libaio", "direct=1"]


def _written(folder: Path, lines: list[str]) -> Path:
    file = folder / "job.fio"
    file.write_text("\n".join(lines) + "\n")
    return file
