"""The answer of a switch to `sanpath check`: its identity, and what its rights and settings leave unknown."""

from __future__ import annotations

from sanpath.plugin import Check, quantity
from sanpath_collectors.snmp_switch.device import Device
from sanpath_collectors.snmp_switch.plan import Plan
from sanpath_collectors.snmp_switch.ports import ETHERNET, Port

_NO_PORTS = "ifTable: no port of this switch can be judged; a virtual fabric may need its own SNMPv3 context"
_NO_FAMILY = "sysObjectID: the vendor of the switch is unknown; its own tables are not read"
_NARROW = "64-bit octet counters: the 32-bit ones wrap in 5 s on a full 8 Gb/s link; poll every second"
_NO_STALL = "credit stall of Fibre Channel ports: slow-drain devices are not found"
_NO_LOGINS = "logins of Fibre Channel ports: what is connected where has to be configured"


def check(device: Device, plan: Plan) -> Check:
    """Return the identity of the device, and what cannot be read from it."""
    ports = [port for port in device.ports.values() if port.carries and _is_physical(port)]
    online = [port for port in ports if port.attributes.get("up")]
    links = [port for port in online if port.attributes.get("port_mode") in ("E", "TE", "EX")]
    model = device.about.get("model") or device.summary
    description = [str(model), str(device.about.get("firmware", ""))]
    if ports:
        between = f", {len(links)} of them inter-switch links" if links else ""
        description.append(f"{quantity(len(ports), 'port')}, {len(online)} online{between}")
    identity = ", ".join(filter(None, description))
    return Check(f"{device.name}: {identity}" if identity else device.name, None, tuple(_unreadable(device, plan)))


def _is_physical(port: Port) -> bool:
    # Fabric OS reports no connector for a port without a transceiver, some Ethernet switches for none of their ports.
    is_up = port.attributes.get("if_type") in ETHERNET and port.attributes.get("up")
    return port.attributes.get("connector_present") is not False or port.technology == "fibre_channel" or bool(is_up)


def _unreadable(device: Device, plan: Plan) -> list[str]:
    if not device.ports:
        return [_NO_PORTS]
    missing = [profile.without for profile in device.family.unanswered if profile.without]
    if not device.object_id:
        missing.append(_NO_FAMILY)
    counted = [plan.chosen.get(port.local_id, {}) for port in device.ports.values() if port.carries]
    widths = [chosen["bytes_rx_total"].bits for chosen in counted if "bytes_rx_total" in chosen]
    if widths and not any(bits > 32 for bits in widths):
        missing.append(_NARROW)
    fibre_channel = any(port.technology == "fibre_channel" and port.carries for port in device.ports.values())
    if fibre_channel and not any("credit_stall_seconds_tx_total" in chosen for chosen in counted):
        missing.append(_NO_STALL)
    if fibre_channel and not any(profile.logins for profile in device.profiles):
        missing.append(_NO_LOGINS)
    return missing
