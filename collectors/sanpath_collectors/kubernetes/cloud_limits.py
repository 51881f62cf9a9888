"""Limits of cloud volumes and instances, from storage classes and types. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanpath.plugin import Cloud, CloudLimit, clouds
from sanpath_collectors.kubernetes.objects import quantity

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class _Driver:
    """Names of parameters. `throughput_unit`: unit of a number without a suffix, in bytes a second."""

    cloud: str
    type: str
    default_type: str
    ops: str
    throughput: str
    throughput_unit: float


_DRIVERS = {
    "ebs.csi.aws.com": _Driver("amazon", "type", "gp3", "iops", "throughput", 1 << 20),
    "disk.csi.azure.com": _Driver("azure", "skuName", "", "DiskIOPSReadWrite", "DiskMBpsReadWrite", 1e6),
    "pd.csi.storage.gke.io": _Driver(
        "google", "type", "pd-standard", "provisioned-iops-on-create", "provisioned-throughput-on-create", 1 << 20
    ),
}
"""CSI driver → its parameters, according to the driver's documentation."""
_IN_TREE = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
}
_PROVIDERS = {"aws": "amazon", "azure": "azure", "gce": "google"}
"""Prefix of a node's providerID → the cloud."""


def cloud_of(driver: str) -> Cloud | None:
    """Return the cloud of a driver. None: it is not a cloud's driver."""
    known = _DRIVERS.get(_IN_TREE.get(driver, driver))
    return next((cloud for cloud in clouds() if known is not None and cloud.key == known.cloud), None)


def volume_type(driver: str, parameters: Mapping[str, str]) -> str:
    """Return the type of a cloud volume; "": unknown.

    >>> volume_type("ebs.csi.aws.com", {}), volume_type("ebs.csi.aws.com", {"type": "io2"})
    ('', 'io2')
    """
    names = _DRIVERS.get(_IN_TREE.get(driver, driver))
    return parameters.get(names.type, "") if names is not None else ""


def default_parameters(driver: str) -> dict[str, str]:
    """Return the parameters of a volume whose class sets none; {}: unknown.

    In-tree EBS made gp2, and gp3 once it was migrated to CSI.

    >>> default_parameters("ebs.csi.aws.com"), default_parameters("awsElasticBlockStore")
    ({'type': 'gp3'}, {})
    """
    names = _DRIVERS.get(_IN_TREE.get(driver, driver))
    known = names is not None and names.default_type and driver != "awsElasticBlockStore"
    return {names.type: names.default_type} if names is not None and known else {}


def volume_limit(driver: str, parameters: Mapping[str, str], size_bytes: float | None) -> CloudLimit:
    """Return the limits of a cloud volume: those of its class, else those of its type.

    >>> volume_limit("ebs.csi.aws.com", {"type": "gp3", "iops": "6000", "throughput": "250"}, None)
    CloudLimit(ops_per_second=6000.0, bytes_per_second=262144000.0)
    """
    names, cloud = _DRIVERS.get(_IN_TREE.get(driver, driver)), cloud_of(driver)
    if names is None or cloud is None:
        return CloudLimit()
    size_gib = None if size_bytes is None else size_bytes / _GIB
    by_type = cloud.volume(volume_type(driver, parameters), size_gib) or CloudLimit()
    throughput = parameters.get(names.throughput, "")
    value = quantity(throughput)
    bytes_per_second = value * names.throughput_unit if value is not None and throughput.isdecimal() else value
    ops = quantity(parameters.get(names.ops))
    if ops is None and size_gib is not None and (per_gib := quantity(parameters.get("iopsPerGB"))) is not None:
        ops = per_gib * size_gib
    return CloudLimit(ops or by_type.ops_per_second, bytes_per_second or by_type.bytes_per_second)


def instance_limit(provider_id: str, instance_type: str) -> CloudLimit:
    """Return the total limits of all volumes of an instance; unknown if they depend on host caching.

    >>> instance_limit("aws:///eu-central-1a/i-0abc", "m5.large").ops_per_second is None
    True
    >>> instance_limit("aws:///eu-central-1a/i-0abc", "c5.9xlarge").ops_per_second
    40000.0
    """
    key = _PROVIDERS.get(provider_id.partition(":")[0])
    cloud = next((cloud for cloud in clouds() if cloud.key == key and key != "azure"), None)
    return (cloud.instance(instance_type) if cloud is not None else None) or CloudLimit()
