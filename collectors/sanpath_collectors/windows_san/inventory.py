"""The entities of an export: the host, its initiator ports and its disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanpath.model import Scalar
from sanpath.plugin import SourceEntity, SourceLink, without_none
from sanpath_collectors.windows_san.disks import disk_items
from sanpath_collectors.windows_san.parse import Export
from sanpath_collectors.windows_san.ports import port_items
from sanpath_collectors.windows_san.values import parse_integer, parse_text


def inventory_items(export: Export, host: str) -> Iterator[SourceEntity | SourceLink]:
    """Yield all entities and links. `host`: name of the machine. Arrays identify the machine by its port names."""
    initiator_ports = list(port_items(export, host))
    ids: dict[str, tuple[str, ...]] = {"name": (host,)}
    for key in ("wwpn", "iqn"):
        if names := tuple(name for port in initiator_ports for name in port.ids.get(key, ())):
            ids[key] = names
    yield SourceEntity("host", host, host, ids, _host_settings(export))
    for port in initiator_ports:
        yield port
        yield SourceLink("attached_to", ("hba", port.local_id), ("host", host), "initiator port")
    yield from disk_items(export, host)


def _host_settings(export: Export) -> Mapping[str, Scalar]:
    settings: dict[str, Scalar] = {"os": export.os, "cores": export.cores}
    settings["iscsi_sessions"] = len(export.iscsi_connections) or None
    for record in export.mpio:
        settings["mpio_path_verification"] = parse_text(record.get("PathVerificationState"))
        settings["mpio_pdo_remove_seconds"] = parse_integer(record.get("PDORemovePeriod"))
        settings["mpio_retry_count"] = parse_integer(record.get("RetryCount"))
        settings["disk_timeout_seconds"] = parse_integer(record.get("DiskTimeoutValue"))
    return without_none(settings)
