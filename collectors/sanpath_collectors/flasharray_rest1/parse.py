"""REST 1 answers → entries in the words of REST 2, so that both are read by the same code. No I/O.

A monitor entry (virtual array, Purity 5.0.0, REST 1.15; `input` is what hosts write, `output` what they read):

    {"input_per_sec": 0, "output_per_sec": 0, "queue_depth": 0, "reads_per_sec": 0, "san_usec_per_read_op": 0,
     "san_usec_per_write_op": 0, "time": "2017-12-16T05:12:47Z", "usec_per_read_op": 0, "usec_per_write_op": 0,
     "writes_per_sec": 0}
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sanpath.plugin import CollectorError, Failure, read_json
from sanpath_collectors.flasharray.parse import Entry, excerpt, name, text

_MONITOR_WORDS = {
    "output_per_sec": "read_bytes_per_sec",
    "input_per_sec": "write_bytes_per_sec",
    "mirrored_input_per_sec": "mirrored_write_bytes_per_sec",
}


def answer(body: bytes, what: str) -> Any:
    """A JSON object or list. Raises UNREADABLE with an excerpt."""
    try:
        told = read_json(body)
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, f"{what}: not JSON", excerpt(body)) from error
    if not isinstance(told, dict | list):
        raise CollectorError(Failure.UNREADABLE, f"{what}: neither object nor list", excerpt(body))
    return told


def entries(told: object) -> list[Entry]:
    """The objects of a list; an object alone is a list of one."""
    listed = told if isinstance(told, list) else [told]
    return [entry for entry in listed if isinstance(entry, dict)]


def by_name(*answers: object) -> list[Entry]:
    """Answers on the same things, such as size and space, as one entry a thing; the first says which there are."""
    first, *others = ([(name(entry), entry) for entry in entries(told)] for told in answers)
    merged = {known_as: dict(entry) for known_as, entry in first}
    for other in others:
        for known_as, entry in other:
            if known_as in merged:
                merged[known_as] |= entry
    return list(merged.values())


def milliseconds(written: str) -> int | None:
    """A time of REST 1; None when it is none.

    >>> milliseconds("2017-12-16T05:12:47Z")
    1513401167000
    """
    try:
        time = datetime.fromisoformat(written)
    except ValueError:
        return None
    return None if time.tzinfo is None else round(time.timestamp() * 1000)


def monitored(items: Iterable[Entry]) -> list[Entry]:
    """Performance items."""
    return [
        {_MONITOR_WORDS.get(key, key): value for key, value in item.items()}
        | {"time": milliseconds(text(item, "time"))}
        for item in items
    ]


def array(about: Entry, space: Iterable[Entry]) -> Entry:
    """The array itself: its name, and what it tells of its space."""
    told = next(iter(space), {})
    return {
        **about,
        "name": text(about, "array_name"),
        "os": "Purity",
        "space": {"data_reduction": told.get("data_reduction"), "total_physical": told.get("total")},
    }


def volumes(items: Iterable[Entry]) -> list[Entry]:
    """Volumes, with their QoS limits and their space where these were asked for."""
    return [
        {
            "name": name(item),
            "serial": item.get("serial"),
            "provisioned": item.get("size"),
            "qos": {key: item.get(key) for key in ("bandwidth_limit", "iops_limit")},
            "space": {"data_reduction": item.get("data_reduction"), "total_physical": item.get("total")},
        }
        for item in items
    ]


def hosts(items: Iterable[Entry]) -> list[Entry]:
    """Hosts with their initiators."""
    return [{**item, "wwns": item.get("wwn"), "iqns": item.get("iqn"), "nqns": item.get("nqn")} for item in items]


def connections(items: Iterable[Entry]) -> list[Entry]:
    """Volumes with the hosts that they are presented to, alone or by their group."""
    return [
        {"volume": {"name": name(item)}, "host": {"name": item.get("host")}, "lun": item.get("lun")} for item in items
    ]


def interfaces(network: Iterable[Entry], hardware: Iterable[Entry]) -> list[Entry]:
    """Ethernet interfaces, and Fibre Channel ports, whose speed only the hardware tells."""
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
    """Traffic of Ethernet interfaces; there is none of Fibre Channel ports."""
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
