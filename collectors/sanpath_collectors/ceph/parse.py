"""Replies of OSDs, and the output of ceph and rbd, as values. No I/O.

A counter of `perf dump` is a number, or a sum of times with the number of those times:

    {"osd": {"op_r": 8, "op_r_out_bytes": 195, "op_r_latency": {"avgcount": 8, "sum": 0.000656117}}}

`op_*_latency` is from the arrival of the message to the reply, `op_*_process_latency` from the moment at which a
thread takes the operation from the OSD's queue (src/osd/PrimaryLogPG.cc, log_op_stats).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sanpath.plugin import json_object, json_objects
from sanpath_collectors.ceph.tables import BYTES, DIRECTIONS, OWN_WORK_TIMES
from sanpath_collectors.qemu.qmp import integer

_NANOSECONDS = 1_000_000_000
_PROGRAM = "ceph-osd"
_NUMBER_IN = dict.fromkeys(("-i", "--id", "--osd-id"), r"([0-9]{1,9})")
_NUMBER_IN |= dict.fromkeys(("-n", "--name"), r"osd\.([0-9]{1,9})")
"""Option of an OSD → what its value looks like."""
Row = dict[str, int | None]


def counter(section: Mapping[str, Any], name: str) -> int | None:
    """Return a counter; None: missing in this release, or malformed.

    >>> counter({"op_r": 8}, "op_r"), counter({"op_r": {}}, "op_r")
    (8, None)
    """
    return integer(section.get(name))


def times(section: Mapping[str, Any], name: str) -> tuple[int, int] | None:
    """Return the number of times in a counter, and their sum in nanoseconds. None: not reported.

    >>> times({"op_r_latency": {"avgcount": 8, "sum": 0.000656117}}, "op_r_latency")
    (8, 656117)
    """
    pair = json_object(section.get(name))
    count, total = pair.get("avgcount"), pair.get("sum")
    if not isinstance(count, int) or not isinstance(total, int | float) or count < 0 or not 0 <= total < 1e15:
        return None
    return count, round(total * _NANOSECONDS)


def client_operations(section: Mapping[str, Any]) -> Row:
    """Return the columns of tables.ARRAY of one OSD: the operations of clients for which it is the primary."""
    row: Row = {}
    for direction, prefix in DIRECTIONS.items():
        all_times, processing = times(section, f"{prefix}_latency"), times(section, f"{prefix}_process_latency")
        row[f"ops_{direction}_total"] = counter(section, prefix)
        row[f"bytes_{direction}_total"] = counter(section, BYTES[direction])
        row[f"latency_seconds_{direction}_total"] = None if processing is None else processing[1]
        row[f"queue_seconds_{direction}_total"] = (
            None if all_times is None or processing is None else max(0, all_times[1] - processing[1])
        )
    return row


def own_operations(section: Mapping[str, Any]) -> Row:
    """Return the columns of tables.OSD that come from counters: times without those of its peers."""
    row: Row = {}
    for direction, name in OWN_WORK_TIMES.items():
        pair = times(section, name)
        row[f"ops_{direction}_total"], row[f"latency_seconds_{direction}_total"] = pair or (None, None)
    return row


def osd_number(command_line: bytes) -> int | None:
    r"""Return the number of an OSD from /proc/*/cmdline; None: another process. cephadm gives the name, osd.7.

    >>> osd_number(b"/usr/bin/ceph-osd\0-f\0--cluster\0ceph\0--id\0007\0"), osd_number(b"ceph-osd\0--mkfs\0")
    (7, None)
    >>> osd_number(b"/usr/bin/ceph-osd\0-n\0osd.7\0-f\0"), osd_number(b"ceph-osd\0--name=osd.7\0")
    (7, 7)
    """
    words = command_line.decode("utf-8", "replace").rstrip("\0").split("\0")
    if words[0].rpartition("/")[2] != _PROGRAM:
        return None
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, _, value = word.partition("=")
        if option in _NUMBER_IN and (match := re.fullmatch(_NUMBER_IN[option], value or following)):
            return int(match[1])
    return None


def folders(pattern: str) -> list[str]:
    """Return the patterns of the folders that must be listed to find the matches of a pattern.

    >>> folders("/var/run/ceph/*/*osd.*.asok"), folders("/run/osd.asok")
    (['/var/run/ceph', '/var/run/ceph/*'], ['/run'])
    """
    parts = pattern.split("/")[:-1]
    first = next((n for n, part in enumerate(parts) if re.search(r"[*?[]", part)), len(parts))
    return ["/".join(parts[:end]) for end in range(first, len(parts) + 1)]


def osd_states(tree: Any) -> dict[int, tuple[str, str]]:
    """Return number of an OSD → (state, host), from `ceph osd tree`. The state is up or down, the host may be ""."""
    listed = json_objects(json_object(tree).get("nodes"))
    nodes = {node["id"]: node for node in listed if isinstance(node.get("id"), int)}
    hosts = {
        child: str(node.get("name", ""))
        for node in nodes.values()
        if node.get("type") == "host" and isinstance(node.get("children"), list)
        for child in node["children"]
        if isinstance(child, int)
    }
    return {
        number: (str(node.get("status", "")), hosts.get(number, ""))
        for number, node in nodes.items()
        if node.get("type") == "osd"
    }


def rbd_pools(pools: Any) -> list[str]:
    """Return the pools that hold images, from `ceph osd pool ls detail`.

    A name that begins with a hyphen is left out: rbd would take it for an option.
    """
    names = [
        str(pool.get("pool_name") or "")
        for pool in json_objects(pools)
        if "rbd" in json_object(pool.get("application_metadata"))
    ]
    return [name for name in names if name and not name.startswith("-")]


def image_counters(reply: Any) -> dict[str, Row]:
    """Return pool/image → columns of tables.VOLUME, from `ceph rbd perf image counters`. Latencies are nanoseconds.

    >>> image_counters({"counter_descriptors": ["read_ops", "read_latency"], "pool_descriptors": {"0": "rbd"},
    ...                 "counters": [{"0/vol1": [7, 5000]}]})["rbd/vol1"]["latency_seconds_read_total"]
    5000
    """
    answer = json_object(reply)
    names, pools = answer.get("counter_descriptors"), json_object(answer.get("pool_descriptors"))
    rows: dict[str, Row] = {}
    for counters in json_objects(answer.get("counters")):
        for key, values in counters.items():
            pool, _, image = key.partition("/")
            if pool in pools and isinstance(values, list) and isinstance(names, list) and len(values) == len(names):
                section = dict(zip(map(str, names), values, strict=True))
                rows[f"{pools[pool]}/{image}"] = {
                    f"{quantity}_{direction}_total": counter(section, f"{direction}_{name}")
                    for direction in DIRECTIONS
                    for quantity, name in (("ops", "ops"), ("bytes", "bytes"), ("latency_seconds", "latency"))
                }
    return rows


def limits(settings: Any) -> dict[str, float]:
    """Return the limits of an image from `rbd config image list`, such as rbd_qos_iops_limit; 0 means none.

    >>> limits([{"name": "rbd_qos_iops_limit", "value": "500"}, {"name": "rbd_qos_bps_limit", "value": "0"}])
    {'rbd_qos_iops_limit': 500.0}
    """
    return {
        str(setting["name"]): float(setting["value"])
        for setting in json_objects(settings)
        if re.fullmatch(r"rbd_qos_(read_|write_)?(iops|bps)_limit", str(setting.get("name")))
        and re.fullmatch(r"[1-9][0-9]{0,17}", str(setting.get("value")))
    }


def health(status: Any) -> Iterator[tuple[str, str, str]]:
    """Yield (code, severity, summary) for each health check of `ceph status` that is not muted."""
    checks = json_object(json_object(json_object(status).get("health")).get("checks"))
    for code, check in checks.items():
        summary = json_object(json_object(check).get("summary")).get("message")
        if isinstance(summary, str) and not json_object(check).get("muted"):
            yield str(code), "critical" if json_object(check).get("severity") == "HEALTH_ERR" else "warning", summary
