"""Details of LUNs, adapters and hosts from esxcli and the advanced options. Pure except `ask`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sanpath.model import Scalar
from sanpath.plugin import CollectorError, Failure
from sanpath_collectors.vsphere.connection.esxcli import Esxcli, Fields
from sanpath_collectors.vsphere.connection.plain import Record
from sanpath_collectors.vsphere.connection.session import Session
from sanpath_collectors.vsphere.properties.adapters import without_empty
from sanpath_collectors.vsphere.properties.inventory import EsxHost

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
class Details:
    """The details by LUN (naa.…), by adapter (vmhba2), and of the host. `refused`: why esxcli did not answer."""

    luns: dict[str, Attributes] = field(default_factory=dict)
    adapters: dict[str, Attributes] = field(default_factory=dict)
    host: Attributes = field(default_factory=dict)
    refused: str = ""


async def ask(session: Session, host: EsxHost, esxcli: bool, seconds: float) -> Details:
    """Read all details of one host; those that are refused, or not answered within `seconds`, remain unknown.

    Raises CollectorError if the server cannot be reached.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _ask(session, host, esxcli)
    except TimeoutError:
        return Details(refused=f"no answer within {seconds:.3g} s")


async def _ask(session: Session, host: EsxHost, esxcli: bool) -> Details:
    properties = await session.properties_of("HostSystem", [host.moid], ["config.option"])
    details = Details(host=options(properties[0].records("config.option")) if properties else {})
    if not esxcli:
        return details
    line = Esxcli(session, host.moid)
    try:
        await line.open()
        nmp = await line.run("storage nmp device list")
        core = await line.run("storage core device list")
        details.luns = luns(nmp, core)
        for driver in sorted({str(record["driver"]) for record in host.adapters.values() if record.get("driver")}):
            parameters = module(await _unless_refused(line, "system module parameters list", module=driver))
            for record in host.adapters.values():
                if record.get("driver") == driver:
                    details.adapters[str(record["device"])] = parameters
    except CollectorError as error:
        if error.failure in (Failure.UNREACHABLE, Failure.MISCONFIGURED):
            raise
        details.refused = str(error)
    return details


async def _unless_refused(line: Esxcli, command: str, **options: str) -> list[Fields]:
    """Return the rows of a command; none if the host does not know it: a driver may have no parameters."""
    try:
        return await line.run(command, **options)
    except CollectorError as error:
        if error.failure is Failure.UNREADABLE:
            return []
        raise


def options(records: Sequence[Record]) -> dict[str, Scalar]:
    """Return the advanced options that concern storage."""
    values = {str(record.get("key")): record.get("value") for record in records}
    return without_empty({name: values.get(key) for key, name in _OPTIONS.items()})


def luns(nmp: Sequence[Fields], core: Sequence[Fields]) -> dict[str, Attributes]:
    """Return attributes by LUN, from `storage nmp device list` and `storage core device list`."""
    properties: dict[str, dict[str, Scalar]] = {}
    for row in core:
        properties.setdefault(row.get("Device", ""), {}).update(
            {
                "device_max_queue_depth": _integer(row.get("DeviceMaxQueueDepth")),
                "sched_num_req_outstanding": _integer(row.get("NoofoutstandingIOswithcompetingworlds")),
                "queue_full_sample_size": _integer(row.get("QueueFullSampleSize")),
                "queue_full_threshold": _integer(row.get("QueueFullThreshold")),
            }
        )
    for row in nmp:
        properties.setdefault(row.get("Device", ""), {}).update(policy(row))
    return {device: without_empty(attributes) for device, attributes in properties.items() if device}


def policy(row: Fields) -> dict[str, Scalar]:
    """Return when Round Robin switches paths, and the target port groups of the array.

    >>> policy({"PathSelectionPolicyDeviceConfig": "{policy=iops,iops=1,bytes=10485760,useANO=0; lastPathIndex=1}"})
    {'path_switch': 'iops', 'path_switch_operations': 1}
    """
    config = row.get("PathSelectionPolicyDeviceConfig", "")
    values: dict[str, str] = dict(_CONFIG.findall(config))
    groups = _GROUP.findall(row.get("StorageArrayTypeDeviceConfig", ""))
    path_policy = values.get("policy")
    # All numbers are shown, whichever counts: the latency policy counts none, the one by bytes counts no I/Os.
    return without_empty(
        {
            "path_switch": path_policy,
            "path_switch_operations": _integer(values.get("iops")) if path_policy in ("rr", "iops") else None,
            "path_switch_bytes": _integer(values.get("bytes")) if path_policy in ("rr", "bytes") else None,
            "target_groups": ", ".join(f"{number} {state}" for number, state in groups),
        }
    )


def module(rows: Sequence[Fields]) -> Attributes:
    """Return the configured parameters of an adapter's driver."""
    values_by_name = {row.get("Name", ""): row.get("Value", "") for row in rows if row.get("Value")}
    depths = [_integer(value) for name, value in values_by_name.items() if name in QUEUE_PARAMETERS]
    return without_empty(
        {
            "driver_parameters": ", ".join(f"{name}={value}" for name, value in sorted(values_by_name.items())),
            "driver_queue_depth": next(iter(depths), None),
        }
    )


def details_of(entity_kind: str, local_id: str, host: str, details: Details) -> Attributes:
    """Return the details of an entity of this host."""
    name = local_id.removeprefix(f"{host}/")
    if entity_kind == "host" and local_id == host:
        reason = {"esxcli_unknown": f"{details.refused}: {CONSEQUENCE}"} if details.refused else {}
        return {**details.host, **reason}
    by_kind: Mapping[str, Mapping[str, Attributes]] = {"lun": details.luns, "hba": details.adapters}
    return by_kind.get(entity_kind, {}).get(name, {})


def _integer(value: str | None) -> int | None:
    return int(value) if value is not None and re.fullmatch(r"-?\d{1,18}", value) else None
