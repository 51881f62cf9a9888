"""esxcli responses of the simulated host through its vCenter: path policies, queue limits, driver settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from sanpath_lab.scenario import Scenario
from sanpath_lab.vcenter.inventory import ARRAY_TYPES, POLICIES, path_name

Row = Mapping[str, str]
_DEVICE_CONFIGS = {
    "active/active": "{{TPG_id=0,TPG_state=AO}}",
    "active/passive": "SATP VMW_SATP_DEFAULT_AP does not support device configuration.",
}


def answer(scenario: Scenario, method: str) -> str | None:
    """Return the rows of a command as XML. None: unknown command."""
    rows = {
        "vim.EsxCLI.storage.nmp.device.list": _policies,
        "vim.EsxCLI.storage.core.device.list": _devices,
        "vim.EsxCLI.system.module.parameters.list": _parameters,
    }.get(method)
    return None if rows is None else _written(rows(scenario))


def _policies(scenario: Scenario) -> Sequence[Row]:
    policy, access = scenario.host.path_policy, scenario.array.access
    first = path_name(scenario, scenario.active_paths[0])
    config = f"Current Path={first}"
    if policy == "round_robin":
        turns = f"policy=iops,iops={scenario.ios_per_path},bytes=10485760,useANO=0"
        config = f"{{{turns}; lastPathIndex=0: NumIOsPending=0,numBytesPending=0}}"
    return [
        {
            "Device": scenario.volume.naa,
            "PathSelectionPolicy": POLICIES[policy],
            "PathSelectionPolicyDeviceConfig": config,
            "StorageArrayType": ARRAY_TYPES[access],
            "StorageArrayTypeDeviceConfig": _DEVICE_CONFIGS[access],
        }
    ]


def _devices(scenario: Scenario) -> Sequence[Row]:
    depth = str(scenario.host.lun_queue_depth)
    return [
        {
            "Device": scenario.volume.naa,
            "DeviceMaxQueueDepth": depth,
            "NoofoutstandingIOswithcompetingworlds": depth,
            "QueueFullSampleSize": "0",
            "QueueFullThreshold": "0",
        }
    ]


def _parameters(scenario: Scenario) -> Sequence[Row]:
    return [{"Name": "ql2xmaxqdepth", "Type": "int", "Value": str(scenario.host.lun_queue_depth)}]


def _written(rows: Sequence[Row]) -> str:
    escaped = ("".join(f"<{name}>{escape(value)}</{name}>" for name, value in row.items()) for row in rows)
    return f'<obj xmlns="urn:vim25">{"".join(f"<DataObject>{row}</DataObject>" for row in escaped)}</obj>'
