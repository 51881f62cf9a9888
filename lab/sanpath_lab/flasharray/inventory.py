"""Builds the inventory items of FlashArray REST 2 responses from an ArrayState."""

from __future__ import annotations

from typing import Any

from sanpath_lab.flasharray.array_state import ArrayHost, ArrayPort, ArrayState, ArrayVolume

Item = dict[str, Any]


def arrays(state: ArrayState) -> list[Item]:
    """GET /arrays."""
    array = state.identity
    return [
        {
            "name": array.name,
            "id": array.id,
            "capacity": array.capacity_bytes,
            "space": space(sum(volume.provisioned_bytes for volume in state.volumes)),
            "os": "Purity//FA",
            "version": array.version,
            "parity": 1,
            "idle_timeout": 1_800_000,
            "scsi_timeout": 60_000,
            "console_lock_enabled": False,
            "ntp_servers": [],
            "banner": "",
        }
    ]


def controllers(state: ArrayState) -> list[Item]:
    """GET /controllers."""
    array = state.identity
    return [
        {
            "name": controller.name,
            "type": "array_controller",
            "status": controller.status,
            "mode": controller.mode,
            "model": array.model,
            "version": array.version,
            "mode_since": controller.mode_since_ms,
        }
        for controller in state.controllers
    ]


def hardware(state: ArrayState) -> list[Item]:
    """GET /hardware: controllers and front-end ports."""
    return [
        *(_component(controller.name, "controller", None) for controller in state.controllers),
        *(_component(port.name, f"{port.interface_type}_port", port.speed_bits_per_second) for port in state.ports),
    ]


def _component(name: str, kind: str, speed: int | None) -> Item:
    return {
        "name": name,
        "type": kind,
        "status": "ok",
        "details": None,
        "speed": speed,
        "identify_enabled": None,
        "index": 0,
        "model": None,
        "serial": None,
        "slot": None,
        "temperature": None,
        "voltage": None,
    }


def space(provisioned_bytes: int) -> Item:
    """Space of data that cannot be reduced, all of it written."""
    return {
        "data_reduction": 1.0,
        "shared": None,
        "snapshots": 0,
        "system": None,
        "thin_provisioning": 0.0,
        "total_physical": provisioned_bytes,
        "total_provisioned": provisioned_bytes,
        "total_reduction": 1.0,
        "unique": provisioned_bytes,
        "virtual": provisioned_bytes,
    }


def volumes(state: ArrayState) -> list[Item]:
    """GET /volumes."""
    connections = [connection.volume for connection in state.connections]
    return [_volume(volume, connections.count(volume.name)) for volume in state.volumes]


def _volume(volume: ArrayVolume, connection_count: int) -> Item:
    return {
        "connection_count": connection_count,
        "provisioned": volume.provisioned_bytes,
        "space": space(volume.provisioned_bytes),
        "name": volume.name,
        "id": volume.id,
        "serial": volume.serial,
        "subtype": "regular",
        "destroyed": False,
        "priority": 0,
        "source": {"name": None, "id": None},
        "pod": {"name": None, "id": None},
        "volume_group": {"name": None, "id": None},
        "time_remaining": None,
        "qos": {"bandwidth_limit": volume.bandwidth_limit, "iops_limit": volume.iops_limit},
    }


def hosts(state: ArrayState) -> list[Item]:
    """GET /hosts."""
    connections = [connection.host for connection in state.connections]
    return [_host(host, connections.count(host.name)) for host in state.hosts]


def _host(host: ArrayHost, connection_count: int) -> Item:
    status, details = host.connectivity
    return {
        "is_local": True,
        "name": host.name,
        "host_group": {"name": None},
        "personality": host.personality,
        "preferred_arrays": [],
        "iqns": list(host.iqns),
        "nqns": [],
        "wwns": list(host.wwns),
        "connection_count": connection_count,
        "chap": {"host_password": None, "host_user": None, "target_password": None, "target_user": None},
        "port_connectivity": {"status": status, "details": details},
    }


def connections(state: ArrayState) -> list[Item]:
    """GET /connections."""
    volume_ids = {volume.name: volume.id for volume in state.volumes}
    return [
        {
            "host": {"name": connection.host},
            "lun": connection.lun,
            "volume": {"name": connection.volume, "id": volume_ids[connection.volume]},
            "host_group": {"name": None},
            "protocol_endpoint": {"name": None, "id": None},
        }
        for connection in state.connections
    ]


def _portal(port: ArrayPort) -> str | None:
    """IANA port numbers of iSCSI and NVMe over TCP."""
    if port.address is None:
        return None
    return f"{port.address}:{4420 if 'nvme-tcp' in port.services else 3260}"


def target(port: ArrayPort | None) -> Item:
    """A target port as ports and balance rows name it; every name null for None."""
    return {
        "name": port.name if port else None,
        "wwn": port.wwn if port else None,
        "nqn": None,
        "iqn": port.iqn if port else None,
        "portal": _portal(port) if port else None,
        "failover": None,
    }


def ports(state: ArrayState) -> list[Item]:
    """GET /ports."""
    return [target(port) for port in state.ports]


def interface_name(port: ArrayPort) -> str:
    """Ethernet ports are `CT0.ETH4` among the ports and `ct0.eth4` among the interfaces; FC ports are not."""
    return port.name if port.interface_type == "fc" else port.name.lower()


def network_interfaces(state: ArrayState) -> list[Item]:
    """GET /network-interfaces: `speed` is in bits/s, in contrast to the documentation."""
    return [
        {
            "fc": {"wwn": port.wwn},
            "eth": {
                "subtype": "physical" if port.interface_type == "eth" else None,
                "subinterfaces": [] if port.interface_type == "eth" else None,
                "address": port.address,
                "vlan": None,
                "mac_address": port.mac_address,
                "netmask": None,
                "gateway": None,
                "mtu": 9000 if port.interface_type == "eth" else None,
                "subnet": {"name": None},
            },
            "services": list(port.services),
            "name": interface_name(port),
            "enabled": port.enabled,
            "interface_type": port.interface_type,
            "speed": port.speed_bits_per_second,
        }
        for port in state.ports
    ]
