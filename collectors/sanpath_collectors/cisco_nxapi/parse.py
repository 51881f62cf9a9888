"""Parses answers of NX-API (JSON-RPC). No I/O.

    [{"jsonrpc": "2.0", "result": {"body": {"TABLE_interface": {"ROW_interface": [
      {"interface": "fc1/1", "oper_port_state": "up", "oper_speed": "32 Gbps", "port_wwn": "20:01:00:0d:ec:aa:00:00",
       "rx_bytes": "10002000000000", "txwait": "5000800000", ...}]}}}, "id": 1},
     {"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params", "data": {"msg": "% Invalid command"}},
      "id": 2}]

A table of one row holds the row itself in place of a list, at every depth; an empty table is missing or "". Numbers
are text in some releases. The names of the tables differ between commands that show the same: a row is recognised by
the fields that it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sanpath.plugin import (
    CollectorError,
    Failure,
    Rows,
    excerpt,
    json_answer,
    json_object,
    json_objects,
    rows_of,
    wwn,
)
from sanpath_collectors.cisco_nxapi.tables import COUNTERS, SWITCH_PORT
from sanpath_collectors.snmp_switch.parse import decimal_counter, leading_number
from sanpath_collectors.snmp_switch.tables import OPTICS

Entry = Mapping[str, Any]

_FASTEST_GIGABITS = 1_000
"""Speeds without a unit are Gb/s or Mb/s: no Fibre Channel port has 1,000 Gb/s or less than 1,000 Mb/s."""
_INTERFACE = re.compile(r"v?fc\d+(?:/\d+)*|(?:san-)?port-channel\s?\d+")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNIT_MBITS = {"g": 1_000, "m": 1}
_MAX_DEPTH = 24
"""Maximum depth of nested tables."""


@dataclass(frozen=True, slots=True)
class Output:
    """The answer to one command. `body`: {} if it is empty. `error`: why it was refused; "": it was not."""

    body: Entry
    error: str = ""


def answers(body: bytes, commands: Sequence[str]) -> list[Output]:
    """Return an answer for each command, in their order. Raises UNREADABLE if the body is not an answer of NX-API.

    >>> answers(b'{"jsonrpc": "2.0", "result": null, "id": 1}', ["show zoneset active"])
    [Output(body={}, error='')]
    """
    listed = json_objects(json_answer(body, commands[0]), or_one=True)
    by_number = {
        n: entry for entry in listed if ("result" in entry or "error" in entry) and (n := counter(entry, "id"))
    }
    if not by_number:
        raise CollectorError(Failure.UNREADABLE, f"{commands[0]}: is no answer of NX-API (JSON-RPC)", excerpt(body))
    return [_parse_output(by_number.get(number)) for number in range(1, len(commands) + 1)]


def _parse_output(entry: Entry | None) -> Output:
    if entry is None:
        return Output({}, "no answer")
    error = entry.get("error")
    if isinstance(error, dict):
        return Output({}, text(json_object(error.get("data")), "msg") or text(error, "message") or "refused")
    return Output(json_object(json_object(entry.get("result")).get("body")))


def rows(value: object, *fields: str) -> Iterator[Entry]:
    """Yield the outermost objects that have one of these fields.

    >>> list(rows({"TABLE_a": {"ROW_a": {"wwn": "1", "TABLE_b": {"ROW_b": [{"wwn": "2"}]}}}}, "wwn"))
    [{'wwn': '1', 'TABLE_b': {'ROW_b': [{'wwn': '2'}]}}]
    """
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, dict) and not item.keys().isdisjoint(fields):
            yield item
        elif isinstance(item, dict | list) and depth < _MAX_DEPTH:
            inner = item.values() if isinstance(item, dict) else item
            pending += [(part, depth + 1) for part in reversed(list(inner))]


def text(entry: Entry, *fields: str) -> str:
    """Return the first of these fields that is a string, without escape sequences and padding; "": none is."""
    for name in fields:
        value = entry.get(name)
        if isinstance(value, str):
            clean = "".join(c for c in _ESCAPE.sub("", value) if c.isprintable()).strip()
            if clean and clean != "--":
                return clean
    return ""


def counter(entry: Entry, *fields: str) -> int | None:
    """Return the first of these fields that is a counter. None: none is."""
    return next((value for name in fields if (value := decimal_counter(entry.get(name))) is not None), None)


def number(entry: Entry, *fields: str) -> float | None:
    """Return the number at the beginning of the first of these fields that has one, with any unit. None: no field
    has.

    >>> number({"rx_pwr": "-2.59 dBm"}, "rx_pwr"), number({"rx_pwr": "N/A"}, "rx_pwr")
    (-2.59, None)
    """
    return next((value for name in fields if (value := leading_number(entry.get(name))) is not None), None)


def interface(name: str) -> str:
    """Return the name of a Fibre Channel interface at the beginning of a text; "": another kind of interface.

    >>> interface("fc1/12 sfp is present"), interface("port-channel 5"), interface("mgmt0")
    ('fc1/12', 'port-channel5', '')
    """
    match = _INTERFACE.match(name.strip())
    return match[0].replace(" ", "") if match else ""


def is_up(entry: Entry) -> bool | None:
    """Return whether an interface is up. None: missing in the answer. "down" may be followed by a reason."""
    value = entry.get("oper_port_state", entry.get("state", entry.get("status")))
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, str) or not first.strip():
        return None
    return first.strip().lower() in ("up", "trunking")


def megabits(entry: Entry, *fields: str) -> int | None:
    """Return a nominal speed in Mb/s. None: unknown.

    >>> megabits({"s": "32 Gbps"}, "s"), megabits({"s": "16000"}, "s"), megabits({"s": 8}, "s"), megabits({}, "s")
    (32000, 16000, 8000, None)
    """
    for name in fields:
        value = entry.get(name)
        match = re.match(r"\s*([0-9]{1,6})\s*([GgMm]?)", str(value)) if isinstance(value, str | int) else None
        if match and int(match[1]):
            unit = match[2].lower() or ("g" if int(match[1]) < _FASTEST_GIGABITS else "m")
            return int(match[1]) * _UNIT_MBITS[unit]
    return None


def samples(body: Entry, known: Mapping[str, str], seen_us: int) -> Rows | None:
    """Return the samples of the ports in `show interface`. `known`: their local ids. None: no port has any."""
    by_port = {
        known[name]: _row(entry)
        for entry in rows(body, "interface")
        if (name := interface(text(entry, "interface"))) in known
        and counter(entry, "rx_bytes", "tx_bytes") is not None
    }
    return rows_of(SWITCH_PORT, by_port, seen_us) if by_port else None


def _row(entry: Entry) -> dict[str, int | None]:
    up = is_up(entry)
    return {
        **{metric: counter(entry, *fields) for metric, fields in COUNTERS.items()},
        "link_up": None if up is None else int(up),
        "link_speed_bits_per_second": megabits(entry, "oper_speed") if up else None,
    }


def optics(body: Entry, known: Mapping[str, str], seen_us: int) -> Rows | None:
    """Return the samples of `show interface transceiver details`. None: no transceiver reports any.

    Readings are followed by a unit, or are "N/A" or "--" without light.
    """
    by_port: dict[str, dict[str, float | None]] = {}
    for entry in rows(body, "interface_sfp", "interface"):
        name = interface(text(entry, "interface_sfp", "interface"))
        details = next(rows(entry, "temperature"), None)
        if name in known and details is not None and (temperature := number(details, "temperature")) is not None:
            by_port[known[name]] = {
                "optics_rx_power_dbm": number(details, "rx_pwr", "optical_rx_pwr"),
                "optics_tx_power_dbm": number(details, "tx_pwr", "optical_tx_pwr"),
                "optics_temperature_celsius": temperature,
            }
    return rows_of(OPTICS, by_port, seen_us) if by_port else None


def uptime_seconds(version: Entry) -> int | None:
    """Return the time since the kernel started, from `show version`. None: not shown."""
    parts = [counter(version, f"kern_uptm_{unit}") for unit in ("days", "hrs", "mins", "secs")]
    if None in parts:
        return None
    days, hours, minutes, seconds = (part or 0 for part in parts)
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def first_wwn(body: Entry) -> str | None:
    """Return the first world wide name in an answer, in any field. None: there is none."""
    for value in body.values():
        for word in re.findall(r"(?:[0-9A-Fa-f]{2}:){7}[0-9A-Fa-f]{2}", value) if isinstance(value, str) else ():
            if (found := wwn(word)) is not None:
                return found
    return None
