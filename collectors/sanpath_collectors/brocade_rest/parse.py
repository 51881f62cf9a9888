"""Parses answers of Fabric OS' REST interface. No I/O.

    {"Response": {"fibrechannel-statistics": [{"name": "0/7", "in-octets": 19618484108, "out-octets": 1623987402064,
     "bb-credit-zero": 224939, "class3-out-discards": 0, "sampling-interval": 2, "time-generated": 1710423073, ...}]}}

Releases differ: counters come as numbers or as text, a list of one as its only object, and every leaf may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sanpath.plugin import (
    CollectorError,
    Failure,
    Rows,
    excerpt,
    json_answer,
    json_object,
    json_objects,
    read_json,
    rows_of,
)
from sanpath_collectors.brocade_rest.tables import STATISTICS, SWITCH_PORT
from sanpath_collectors.snmp_switch.parse import decimal_counter, leading_number
from sanpath_collectors.snmp_switch.tables import OPTICS

Entry = Mapping[str, Any]

_MESSAGE_CHARACTERS = 200
"""Characters of an answer's messages that are shown."""
_ONLINE = 2
"""operational-status of a port that is online."""
_MICROWATTS_OF_0_DBM = 1000.0
_MILLION = 1_000_000


def entries(body: bytes, name: str) -> list[Entry]:
    """Return the objects of a container. Raises UNREADABLE for anything but an answer.

    >>> entries(b'{"Response": {"fibrechannel": {"name": "0/7"}}}', "fibrechannel")
    [{'name': '0/7'}]
    """
    response = json_object(json_answer(body, name)).get("Response")
    if not isinstance(response, dict):
        problem = error_messages(body) or "no Response"
        raise CollectorError(Failure.UNREADABLE, f"{name}: {problem}", excerpt(body))
    return json_objects(response.get(name), or_one=True)


def error_messages(body: bytes) -> str:
    """Return the messages of an error answer; "" if it has none.

    >>> error_messages(b'{"errors": {"error": [{"error-message": "VF feature is not enabled"}]}}')
    'VF feature is not enabled'
    """
    try:
        answer = read_json(body)
    except ValueError:
        return ""
    errors = json_objects(json_object(json_object(answer).get("errors")).get("error"), or_one=True)
    return "; ".join(filter(None, (text(error, "error-message") for error in errors)))[:_MESSAGE_CHARACTERS]


def text(entry: Entry, leaf: str) -> str:
    """Return a string without padding and control characters; "" for everything else."""
    value = entry.get(leaf)
    return "".join(c for c in value if c.isprintable()).strip() if isinstance(value, str) else ""


def counter(entry: Entry, leaf: str) -> int | None:
    """Return a counter. None: missing, or not a 64-bit counter."""
    return decimal_counter(entry.get(leaf))


def number(entry: Entry, leaf: str) -> float | None:
    """Return a finite number, also from text with a unit after it. None: there is none.

    >>> number({"temperature": "39 Centigrade"}, "temperature"), number({"rx-power": "-inf"}, "rx-power")
    (39.0, None)
    """
    return leading_number(entry.get(leaf))


def is_up(entry: Entry) -> bool | None:
    """Return whether a port is online. None: missing in the answer."""
    status = counter(entry, "operational-status")
    if status is not None:
        return status == _ONLINE
    state = text(entry, "physical-state")
    return state == "online" if state else None


def speed(entry: Entry, leaf: str = "speed") -> int | None:
    """Return a nominal speed in bits per second. None: unknown, which some releases write as 0."""
    return counter(entry, leaf) or None


def statistics(
    ports: Iterable[Entry], counted: Iterable[Entry], known: Mapping[str, str], seen_us: int
) -> Rows | None:
    """Return the samples of the ports. `known`: name of a port → its local id. None: no port has any.

    The speed of a port that is down is null: Fabric OS reports the highest possible one.
    """
    states = {text(port, "name"): port for port in ports}
    by_port = {known[name]: entry for entry in counted if (name := text(entry, "name")) in known}
    if not by_port:
        return None
    rows = {port: _row(states.get(text(entry, "name"), {}), entry) for port, entry in by_port.items()}
    return rows_of(SWITCH_PORT, rows, seen_us)


def _row(port: Entry, counted: Entry) -> dict[str, int | None]:
    up = is_up(port)
    bits_per_second = speed(port) if up else None
    return {
        **{metric: counter(counted, leaf) for metric, leaf in STATISTICS.items()},
        "link_up": None if up is None else int(up),
        "link_speed_bits_per_second": None if bits_per_second is None else bits_per_second // _MILLION,
    }


def optics(media: Iterable[Entry], known: Mapping[str, str], seen_us: int) -> Rows | None:
    """Return the samples of the transceivers. None: none reports any. Their names are "fc/" and the port's name."""
    by_port = {
        known[name]: {
            "optics_rx_power_dbm": dbm(number(entry, "rx-power")),
            "optics_tx_power_dbm": dbm(number(entry, "tx-power")),
            "optics_temperature_celsius": temperature,
        }
        for entry in media
        if (name := text(entry, "name").removeprefix("fc/")) in known
        and (temperature := number(entry, "temperature")) is not None
    }
    return rows_of(OPTICS, by_port, seen_us) if by_port else None


def dbm(microwatts: float | None) -> float | None:
    """Return an optical power in dBm, two decimals. None: unknown, or no light.

    >>> dbm(441.4), dbm(0.0)
    (-3.55, None)
    """
    if microwatts is None or microwatts <= 0:
        return None
    return round(10 * math.log10(microwatts / _MICROWATTS_OF_0_DBM), 2)
