"""The configuration files with which sanpath reads the lab, and the secrets they refer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml

from sanpath_lab.scenario import Array, GuestDisk, Scenario, Vcenter

SWITCH_POLL_SECONDS = 1
ARRAY_POLL_SECONDS = 2
VCENTER_USER = "sanpath@vsphere.local"
VCENTER_POLL_SECONDS = 5
"""The host samples every 20 s; a short test needs a sample soon after it is taken."""
REST1_POLL_SECONDS = 1
"""REST 1 reports only the most recent second."""


def write_secret(file: Path, value: str) -> str:
    """Write a secret that only its owner may read. Returns the reference for a configuration next to its folder."""
    file.parent.mkdir(mode=0o700, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(value + "\n", encoding="utf-8")
    return f"file:{file.parent.name}/{file.name}"


def site_config(
    scenario: Scenario,
    switch_addresses: Mapping[str, tuple[str, int]],
    communities: Mapping[str, str],
    arrays: Mapping[str, tuple[tuple[str, int], str]],
    ca_file: str,
    rest_version: Literal[1, 2] = 2,
    vcenters: Sequence[Mapping[str, object]] = (),
) -> dict[str, Any]:
    """The configuration; addresses and communities are by name of the switch, communities and tokens are references.
    `arrays`: name → address and token.

    `rest_version`: REST interface of the array to read. `vcenters`: complete sources.
    """
    host, virtual_machine = scenario.host, scenario.load.virtual_machine
    luns = {f"lun:{virtual_machine}/{disk.name}": (disk, volume) for disk, volume in scenario.disks}
    ports = {f"array_port:{scenario.array.name}/{port.name}": port for port in scenario.array.ports}
    unread = ports if scenario.array.access == "active/passive" else {}
    hbas = {f"hba:{host.name}/{hba.name}": hba for hba in host.hbas}
    return {
        "sources": [
            *(
                {
                    "name": switch.name,
                    "collector": "snmp_switch",
                    "host": switch_addresses[switch.name][0],
                    "port": switch_addresses[switch.name][1],
                    "community": communities[switch.name],
                    "every_seconds": SWITCH_POLL_SECONDS,
                }
                for switch in scenario.fabric_switches
            ),
            *(
                _array_source(scenario, array, *arrays[array.name], ca_file, rest_version)
                for array in scenario.arrays
                if array.access != "active/passive"
            ),
            *map(dict, vcenters),
        ],
        "topology": {
            "things": {
                **{
                    name: {"wwpn": hba.wwpn, "capable_bits_per_second": hba.capable_gigabit * 1.0e9}
                    for name, hba in hbas.items()
                },
                **{name: {"naa": volume.naa, **_depth(scenario, disk)} for name, (disk, volume) in luns.items()},
                **_caches(scenario),
                **{name: {"wwpn": port.wwpn} for name, port in unread.items()},
            },
            "links": [
                f"load:fio runs_on vm:{virtual_machine}",
                f"vm:{virtual_machine} runs_on host:{host.name}",
                *(f"{name} attached_to host:{host.name}" for name in hbas),
                *(f"{lun} attached_to vm:{virtual_machine}" for lun in luns),
            ],
        },
    }


def _depth(scenario: Scenario, disk: GuestDisk) -> dict[str, int]:
    reported = scenario.vcenter is None or not disk.has_default_depth
    return {"queue_depth": disk.queue_depth} if reported else {}


def _caches(scenario: Scenario) -> dict[str, dict[str, int]]:
    """Return sizes that no device reports. Users know them from a data sheet or the configuration of the machine."""
    array, memory = scenario.array, scenario.guest_memory
    caches = [size for size in (array.cache_bytes, array.write_cache and array.write_cache.capacity_bytes) if size]
    entities = {f"array:{array.name}": {"cache_bytes": max(caches)}} if caches else {}
    if memory is not None:
        entities[f"vm:{scenario.load.virtual_machine}"] = {"memory_bytes": memory.capacity_bytes}
    return entities


def _array_source(
    scenario: Scenario,
    array: Array,
    address: tuple[str, int],
    api_token: str,
    ca_file: str,
    rest_version: Literal[1, 2],
) -> dict[str, object]:
    every_seconds = ARRAY_POLL_SECONDS if rest_version == 2 else REST1_POLL_SECONDS
    # Only then do volumes report more than the array's own, finer sample.
    shared = bool(scenario.neighbours or scenario.other_disks) or scenario.volume.limited
    return {
        "name": array.name,
        "collector": "flasharray" if rest_version == 2 else "flasharray_rest1",
        "host": f"{address[0]}:{address[1]}",
        "api_token": api_token,
        "ca_file": ca_file,
        "every_seconds": every_seconds,
        **({"detail_every_seconds": every_seconds} if shared else {}),
    }


def vcenter_source(vcenter: Vcenter, address: tuple[str, int], password: str, ca_file: str) -> Mapping[str, object]:
    """The vCenter as a source; `password` is a reference."""
    return {
        "name": vcenter.name,
        "collector": "vsphere",
        "host": f"{address[0]}:{address[1]}",
        "user": VCENTER_USER,
        "password": password,
        "ca_file": ca_file,
        "every_seconds": VCENTER_POLL_SECONDS,
    }


def write_config(config: dict[str, Any], file: Path) -> None:
    """Write the configuration as YAML."""
    file.write_text(yaml.safe_dump(config, sort_keys=False, width=120), encoding="utf-8")
