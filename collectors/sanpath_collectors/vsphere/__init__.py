"""vSphere: hosts, paths, queues and latencies from a vCenter or a single ESXi host."""

from __future__ import annotations

from sanpath.plugin import Extra, Right, Spec
from sanpath_collectors.vsphere.config import VsphereConfig
from sanpath_collectors.vsphere.tables import SAMPLE_SECONDS, TABLES

COLLECTOR = Spec(
    name="vsphere",
    title="VMware vCenter or a single ESXi host",
    config=VsphereConfig,
    collector="sanpath_collectors.vsphere.collector:Vsphere",
    tables=TABLES,
    cadence_seconds=SAMPLE_SECONDS,
    extra=Extra("sanpath[vsphere]", ("pyVmomi",)),
    rights=(
        Right(
            "Role Read-only at the root, with propagation (System.View, System.Read)",
            "inventory, path states and all performance counters, those of vSAN too",
            "hosts, LUNs, paths and virtual machines are unknown",
        ),
        Right(
            "The privileges that a host requires for esxcli over the API; Read-only is not enough",
            "I/Os after which Round Robin takes turns, queue limits of devices, parameters of adapter drivers",
            "these settings are unknown, and the reason is reported",
        ),
    ),
)
