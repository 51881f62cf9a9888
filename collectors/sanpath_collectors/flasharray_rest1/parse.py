"""Converts REST 1 answers to entries with the field names of REST 2, for the same code to read. No I/O.

A monitor entry (virtual array, Purity 5.0.0, REST 1.15; `input` are writes of hosts, `output` reads):

    {"input_per_sec": 0, "output_per_sec": 0, "queue_depth": 0, "reads_per_sec": 0, "san_usec_per_read_op": 0,
     "san_usec_per_write_op": 0, "time": "2017-12-16T05:12:47Z", "usec_per_read_op": 0, "usec_per_write_op": 0,
     "writes_per_sec": 0}
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sanpath.plugin import CollectorError, Failure, excerpt, json_answer, json_objects
from sanpath_collectors.flasharray.parse import Entry, name, number, text

_REST2_NAMES = {
    "output_per_sec": "read_bytes_per_sec",
    "input_per_sec": "write_bytes_per_sec",
    "mirrored_input_per_sec": "mirrored_write_bytes_per_sec",
}


def answer(body: bytes, call: str) -> Any:
    """Parse a JSON object or list. Raises UNREADABLE with an excerpt of the body."""
    parsed = json_answer(body, call)
    if not isinstance(parsed, dict | list):
        raise CollectorError(Failure.UNREADABLE, f"{call}: neither object nor list", excerpt(body))
    return parsed


def entries(answer: object) -> list[Entry]:
    """The objects of a list; a single object is a list of one."""
    return json_objects(answer, or_one=True)


def merge_by_name(*answers: object) -> list[Entry]:
    """Merge answers about the same objects, such as size and space, by name.

    Only names in the first answer are used.
    """
    first, *additional = ([(name(entry), entry) for entry in entries(answer)] for answer in answers)
    merged = {entry_name: dict(entry) for entry_name, entry in first}
    for answer_entries in additional:
        for entry_name, entry in answer_entries:
            if entry_name in merged:
                merged[entry_name] |= entry
    return list(merged.values())


def milliseconds(time_text: str) -> int | None:
    """A time of REST 1 in milliseconds since the epoch; None: not a time.

    >>> milliseconds("2017-12-16T05:12:47Z")
    1513401167000
    """
    try:
        time = datetime.fromisoformat(time_text)
    except ValueError:
        return None
    return None if time.tzinfo is None else round(time.timestamp() * 1000)


def performance(items: Iterable[Entry]) -> list[Entry]:
    """Performance items."""
    return [
        {_REST2_NAMES.get(key, key): value for key, value in item.items()}
        | {"time": milliseconds(text(item, "time"))}
        for item in items
    ]


def array(general: Entry, space: Iterable[Entry]) -> Entry:
    """The array: its name and its space."""
    space_entry = next(iter(space), {})
    return {
        **general,
        "name": text(general, "array_name"),
        "os": "Purity",
        "space": {"data_reduction": space_entry.get("data_reduction"), "total_physical": space_entry.get("total")},
    }


def volumes(items: Iterable[Entry]) -> list[Entry]:
    """Volumes, with their QoS limits and space if these were requested."""
    return [
        {
            "name": name(item),
            "serial": item.get("serial"),
            "provisioned": item.get("size"),
            "qos": {key: item.get(key) for key in ("bandwidth_limit", "iops_limit")},
            "space": {
                "data_reduction": item.get("data_reduction"),
                "total_physical": item.get("total"),
                "virtual": _written_bytes(item),
            },
        }
        for item in items
    ]


def _written_bytes(volume: Entry) -> int | None:
    """REST 1 has the share of a volume that was never written."""
    size, never_written_ratio = number(volume.get("size")), number(volume.get("thin_provisioning"))
    return None if size is None or never_written_ratio is None else round(size * (1 - never_written_ratio))


def hosts(items: Iterable[Entry]) -> list[Entry]:
    """Hosts with their initiators."""
    return [{**item, "wwns": item.get("wwn"), "iqns": item.get("iqn"), "nqns": item.get("nqn")} for item in items]


def connections(items: Iterable[Entry]) -> list[Entry]:
    """Volumes with the hosts that they are presented to, directly or through a host group."""
    return [
        {"volume": {"name": name(item)}, "host": {"name": item.get("host")}, "lun": item.get("lun")} for item in items
    ]


def interfaces(network: Iterable[Entry], hardware: Iterable[Entry]) -> list[Entry]:
    """Ethernet interfaces, and Fibre Channel ports, whose speed is only in the hardware list."""
    ethernet = [
        {
            "name": name(item),
            "interface_type": "eth",
            "eth": {"address": item.get("address"), "mac_address": item.get("hwaddr"), "mtu": item.get("mtu")},
            **{key: item.get(key) for key in ("enabled", "services", "speed")},
        }
        for item in network
    ]
    fibre_channel = [
        {"name": name(item), "interface_type": "fc", "speed": item.get("speed")}
        for item in hardware
        if ".FC" in name(item).upper()
    ]
    return [*ethernet, *fibre_channel]


def interface_traffic(items: Iterable[Entry]) -> list[Entry]:
    """Traffic of Ethernet interfaces; REST 1 has none for Fibre Channel ports."""
    return [
        {"name": name(item), "interface_type": "eth", "eth": item, "time": milliseconds(text(item, "time"))}
        for item in items
    ]


def alerts(items: Iterable[Entry]) -> list[Entry]:
    """Open messages."""
    return [
        {
            **item,
            "id": "" if item.get("id") is None else str(item["id"]),
            "state": "open",
            "severity": text(item, "current_severity"),
            "summary": ": ".join(filter(None, (text(item, "event"), text(item, "details")))),
            "created": milliseconds(text(item, "opened")),
        }
        for item in items
    ]
