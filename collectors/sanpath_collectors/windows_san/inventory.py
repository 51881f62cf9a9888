"""The entities of an export: the host, its initiator ports and its disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink, without_none
from sanpath_collectors.windows_san.disks import disks
from sanpath_collectors.windows_san.parse import Export
from sanpath_collectors.windows_san.ports import ports
from sanpath_collectors.windows_san.values import integer, text


def inventory(export: Export, host: str) -> Iterator[SourceEntity | SourceLink]:
    """Yield all entities and links. `host`: the name of the machine; arrays identify it by its port names."""
    initiator_ports = list(ports(export, host))
    ids: dict[str, tuple[str, ...]] = {"name": (host,)}
    for key in ("wwpn", "iqn"):
        if names := tuple(name for port in initiator_ports for name in port.ids.get(key, ())):
            ids[key] = names
    yield SourceEntity("host", host, host, ids, _settings(export))
    for port in initiator_ports:
        yield port
        yield SourceLink("attached_to", ("hba", port.local_id), ("host", host), "initiator port")
    yield from disks(export, host)


def _settings(export: Export) -> Mapping[str, Scalar]:
    settings: dict[str, Scalar] = {"os": export.os, "cores": export.cores}
    settings["iscsi_sessions"] = len(export.iscsi_connections) or None
    for record in export.mpio:
        settings["mpio_path_verification"] = text(record.get("PathVerificationState"))
        settings["mpio_pdo_remove_seconds"] = integer(record.get("PDORemovePeriod"))
        settings["mpio_retry_count"] = integer(record.get("RetryCount"))
        settings["disk_timeout_seconds"] = integer(record.get("DiskTimeoutValue"))
    return without_none(settings)
