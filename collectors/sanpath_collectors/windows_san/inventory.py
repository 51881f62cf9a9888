"""The things that an export tells of: the host, its initiator ports and its disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink
from sanpath_collectors.windows_san.disks import disks
from sanpath_collectors.windows_san.parse import Export
from sanpath_collectors.windows_san.ports import ports
from sanpath_collectors.windows_san.values import integer, text, told


def things(export: Export, host: str) -> Iterator[SourceEntity | SourceLink]:
    """All of them. `host`: what the machine is called; arrays know it by the names of its ports."""
    found = list(ports(export, host))
    ids: dict[str, tuple[str, ...]] = {"name": (host,)}
    for key in ("wwpn", "iqn"):
        if names := tuple(name for port in found for name in port.ids.get(key, ())):
            ids[key] = names
    yield SourceEntity("host", host, host, ids, _settings(export))
    for port in found:
        yield port
        yield SourceLink("attached_to", ("hba", port.local_id), ("host", host), "initiator port")
    yield from disks(export, host)


def _settings(export: Export) -> Mapping[str, Scalar]:
    found: dict[str, Scalar] = {"os": export.os, "cores": export.cores}
    found["iscsi_sessions"] = len(export.iscsi_connections) or None
    for record in export.mpio:
        found["mpio_path_verification"] = text(record.get("PathVerificationState"))
        found["mpio_pdo_remove_seconds"] = integer(record.get("PDORemovePeriod"))
        found["mpio_retry_count"] = integer(record.get("RetryCount"))
        found["disk_timeout_seconds"] = integer(record.get("DiskTimeoutValue"))
    return told(found)
