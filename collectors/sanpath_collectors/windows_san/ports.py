"""The initiator ports of an export: Fibre Channel ports, named by WWPN, and the iSCSI initiator, named by IQN."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from sanpath.model import Scalar
from sanpath.plugin import Rows, SourceEntity, rows_of, without_none
from sanpath_collectors.windows_san import values
from sanpath_collectors.windows_san.parse import Export, Record
from sanpath_collectors.windows_san.tables import HBA, STATISTICS
from sanpath_collectors.windows_san.values import parse_integer, parse_text

_GIGABIT = 1_000_000_000
_UNSPECIFIED = ("0.0.0.0", "::")  # noqa: S104 - Windows' values for no chosen address


def port_items(export: Export, host: str) -> Iterator[SourceEntity]:
    """Yield every initiator port once, combined from the records of all cmdlets."""
    initiators = {}
    wwpns: dict[str, None] = {}
    for port in export.initiator_ports:
        node = (parse_text(port.get("NodeAddress")) or "").lower()
        connection = values.find_code_name(port.get("ConnectionType"), values.CONNECTIONS)
        if node.startswith("iqn."):
            initiators[node] = _iscsi_port(export, host, node)
        elif connection in (None, "Fibre Channel") and (wwpn := values.parse_wwn(port.get("PortAddress"))):
            wwpns[wwpn] = None
    wwpns |= {wwpn: None for port in export.hba_ports if (wwpn := values.parse_wwn(port.get("PortWWN")))}
    yield from (_fibre_channel_port(export, host, wwpn) for wwpn in wwpns)
    yield from initiators.values()


def statistics_rows(export: Export, host: str) -> Iterator[Rows]:
    """Yield the counters of the Fibre Channel ports, one `Rows` for each time."""
    instances = {
        parse_text(port.get("InstanceName")): values.parse_wwn(port.get("PortWWN")) for port in export.hba_ports
    }
    records_by_time: dict[int, dict[str, Record]] = defaultdict(dict)
    for time_us, record in export.statistics:
        wwpn = values.parse_wwn(record.get("PortWWN")) or instances.get(parse_text(record.get("InstanceName")))
        if wwpn is not None:
            records_by_time[time_us][f"{host}/{wwpn}"] = record
    for time_us, records in sorted(records_by_time.items()):
        counters = {
            port: {metric: parse_integer(record.get(name)) for metric, name in STATISTICS.items()}
            for port, record in records.items()
        }
        yield rows_of(HBA, counters, time_us)


def wwpn_by_scsi_port(export: Export) -> dict[int, str]:
    r"""Return number of a SCSI port (3 in `\\.\Scsi3:`) → WWPN of its Fibre Channel port."""
    return {
        int(match[1]): wwpn
        for port in export.hba_ports
        if (wwpn := values.parse_wwn(port.get("PortWWN")))
        and (match := re.search(r"scsi(\d{1,6}):?$", str(port.get("OSDeviceName")), re.IGNORECASE))
    }


def _iscsi_port(export: Export, host: str, iqn: str) -> SourceEntity:
    configured = (parse_text(connection.get("InitiatorAddress")) for connection in export.iscsi_connections)
    addresses = tuple(dict.fromkeys(address for address in configured if address and address not in _UNSPECIFIED))
    ids = {"iqn": (iqn,)} | ({"ip": addresses} if addresses else {})
    return SourceEntity("hba", f"{host}/{iqn}", f"{host}/{iqn}", ids, {"technology": "ethernet", "protocol": "iSCSI"})


def _fibre_channel_port(export: Export, host: str, wwpn: str) -> SourceEntity:
    port = next((port for port in export.hba_ports if values.parse_wwn(port.get("PortWWN")) == wwpn), {})
    initiator = next((p for p in export.initiator_ports if values.parse_wwn(p.get("PortAddress")) == wwpn), {})
    node = values.parse_wwn(port.get("NodeWWN")) or values.parse_wwn(initiator.get("NodeAddress"))
    adapter = next((a for a in export.hba_adapters if node and values.parse_wwn(a.get("NodeWWN")) == node), {})
    supported = parse_integer(port.get("PortSupportedSpeed")) or 0
    supported_gigabits = [gigabits for code, gigabits in values.PORT_SPEEDS.items() if supported & code]
    speed = values.PORT_SPEEDS.get(parse_integer(port.get("PortSpeed")) or 0)
    attributes: dict[str, Scalar] = {
        "technology": "fibre_channel",
        "capable_bits_per_second": max(supported_gigabits) * _GIGABIT if supported_gigabits else None,
        "speed_bits_per_second": speed * _GIGABIT if speed else None,
        "port_state": values.find_code_name(port.get("PortState"), values.PORT_STATES),
        "fabric_wwn": values.parse_wwn(port.get("FabricName")),
        "model": parse_text(adapter.get("ModelDescription")) or parse_text(adapter.get("Model")),
        "driver_version": parse_text(adapter.get("DriverVersion")),
        "firmware_version": parse_text(adapter.get("FirmwareVersion")),
    }
    return SourceEntity("hba", f"{host}/{wwpn}", f"{host}/{wwpn}", {"wwpn": (wwpn,)}, without_none(attributes))
