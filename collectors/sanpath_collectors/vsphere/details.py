"""What esxcli and the advanced options add to LUNs, adapters and hosts: the second tier. Pure but for `ask`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.model import Scalar
from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.vsphere.adapters import told
from sanpath_collectors.vsphere.esxcli import Esxcli, Fields
from sanpath_collectors.vsphere.inventory import EsxHost
from sanpath_collectors.vsphere.plain import Record
from sanpath_collectors.vsphere.session import Session

Attributes = Mapping[str, Scalar]

CONSEQUENCE = "after how many I/Os Round Robin takes turns, queue limits of devices and driver settings are unknown"

_OPTIONS: Mapping[str, str] = {
    "Disk.SchedNumReqOutstanding": "sched_num_req_outstanding",
    "Disk.SchedQuantum": "sched_quantum",
    "Disk.QFullSampleSize": "queue_full_sample_size",
    "Disk.QFullThreshold": "queue_full_threshold",
    "Disk.DiskMaxIOSize": "max_io_kib",
    "Misc.EnablePSPLatencyPolicy": "latency_policy_enabled",
}
"""Advanced option of a host → attribute. From ESXi 5.5 on the first is set device by device."""

QUEUE_PARAMETERS = ("ql2xmaxqdepth", "lpfc_lun_queue_depth", "lun_queue_depth_per_path", "iscsivmk_LunQDepth")
"""Parameters of drivers (qlnativefc, lpfc, nfnic, iscsi_vmk) that set how many I/Os a LUN may have in flight."""

_CONFIG = re.compile(r"(\w+)=([^,;}]*)")
_GROUP = re.compile(r"TPG_id=(\d+),TPG_state=(\w+)")


@dataclass(slots=True)
class Told:
    """What was told: by LUN (naa.…), by adapter (vmhba2), and of the host. `refused`: why esxcli did not answer."""

    luns: dict[str, Attributes] = field(default_factory=dict)
    adapters: dict[str, Attributes] = field(default_factory=dict)
    host: Attributes = field(default_factory=dict)
    refused: str = ""


async def ask(session: Session, host: EsxHost, esxcli: bool, seconds: float) -> Told:
    """Everything of one host. What is refused, or not told within `seconds`, is no failure: it stays unknown. Raises
    CollectorError when the server cannot be reached."""
    try:
        async with asyncio.timeout(seconds):
            return await _ask(session, host, esxcli)
    except TimeoutError:
        return Told(refused=f"no answer within {seconds:.3g} s")


async def _ask(session: Session, host: EsxHost, esxcli: bool) -> Told:
    found = await session.properties_of("HostSystem", [host.moid], ["config.option"])
    told_here = Told(host=options(found[0].records("config.option")) if found else {})
    if not esxcli:
        return told_here
    line = Esxcli(session, host.moid)
    try:
        await line.open()
        nmp = await line.run("storage nmp device list")
        core = await line.run("storage core device list")
        told_here.luns = luns(nmp, core)
        for driver in sorted({str(one["driver"]) for one in host.adapters.values() if one.get("driver")}):
            parameters = module(await _unless_refused(line, "system module parameters list", module=driver))
            for one in host.adapters.values():
                if one.get("driver") == driver:
                    told_here.adapters[str(one["device"])] = parameters
    except CollectorError as error:
        if error.failure in (Failure.UNREACHABLE, Failure.MISCONFIGURED):
            raise
        told_here.refused = str(error)
    return told_here


async def _unless_refused(line: Esxcli, command: str, **options: str) -> list[Fields]:
    """Rows of a command; none where the host does not know it: a driver need not be a module with parameters."""
    try:
        return await line.run(command, **options)
    except CollectorError as error:
        if error.failure is Failure.UNREADABLE:
            return []
        raise


def options(said: Sequence[Record]) -> dict[str, Scalar]:
    """The advanced options that matter to storage."""
    values = {str(one.get("key")): one.get("value") for one in said}
    return told({name: values.get(key) for key, name in _OPTIONS.items()})


def luns(nmp: Sequence[Fields], core: Sequence[Fields]) -> dict[str, Attributes]:
    """LUN → attributes, of `storage nmp device list` and `storage core device list`."""
    found: dict[str, dict[str, Scalar]] = {}
    for row in core:
        found.setdefault(row.get("Device", ""), {}).update(
            {
                "device_max_queue_depth": _integer(row.get("DeviceMaxQueueDepth")),
                "sched_num_req_outstanding": _integer(row.get("NoofoutstandingIOswithcompetingworlds")),
                "queue_full_sample_size": _integer(row.get("QueueFullSampleSize")),
                "queue_full_threshold": _integer(row.get("QueueFullThreshold")),
            }
        )
    for row in nmp:
        found.setdefault(row.get("Device", ""), {}).update(policy(row))
    return {device: told(attributes) for device, attributes in found.items() if device}


def policy(row: Fields) -> dict[str, Scalar]:
    """How Round Robin takes turns, and which target port groups the array offers.

    >>> policy({"PathSelectionPolicyDeviceConfig": "{policy=iops,iops=1,bytes=10485760,useANO=0; lastPathIndex=1}"})
    {'path_switch': 'iops', 'path_switch_operations': 1, 'path_switch_bytes': 10485760}
    """
    config = row.get("PathSelectionPolicyDeviceConfig", "")
    values: dict[str, str] = dict(_CONFIG.findall(config))
    groups = _GROUP.findall(row.get("StorageArrayTypeDeviceConfig", ""))
    turns = values.get("policy")
    # The latency policy looks at the paths, not at a number of I/Os, whatever number is shown.
    counts = turns in ("rr", "iops", "bytes")
    return told(
        {
            "path_switch": turns,
            "path_switch_operations": _integer(values.get("iops")) if counts else None,
            "path_switch_bytes": _integer(values.get("bytes")) if counts else None,
            "target_groups": ", ".join(f"{number} {state}" for number, state in groups),
        }
    )


def module(rows: Sequence[Fields]) -> Attributes:
    """The parameters of an adapter's driver that were set."""
    given = {row.get("Name", ""): row.get("Value", "") for row in rows if row.get("Value")}
    depths = [_integer(value) for name, value in given.items() if name in QUEUE_PARAMETERS]
    return told(
        {
            "driver_parameters": ", ".join(f"{name}={value}" for name, value in sorted(given.items())),
            "driver_queue_depth": next(iter(depths), None),
        }
    )


def merged(thing_kind: str, local_id: str, host: str, found: Told) -> Attributes:
    """What was told of a thing of this host."""
    name = local_id.removeprefix(f"{host}/")
    if thing_kind == "host" and local_id == host:
        reason = {"esxcli_unknown": f"{found.refused}: {CONSEQUENCE}"} if found.refused else {}
        return {**found.host, **reason}
    by_kind: Mapping[str, Mapping[str, Attributes]] = {"lun": found.luns, "hba": found.adapters}
    return by_kind.get(thing_kind, {}).get(name, {})


def _integer(value: str | None) -> int | None:
    return int(value) if value is not None and re.fullmatch(r"-?\d{1,18}", value) else None
