"""IF-MIB answers → things, ties and samples. No I/O.

A row as `plugin.Snmp.columns` gives it, an 8 Gb Fibre Channel port of a Brocade DS-5100B:

    {"1.3.6.1.2.1.2.2.1.3": 56, "1.3.6.1.2.1.2.2.1.8": 1, "1.3.6.1.2.1.31.1.1.1.1": b"0/17",
     "1.3.6.1.2.1.31.1.1.1.15": 8000, "1.3.6.1.2.1.2.2.1.10": 2154461320, ..., "seen": 1700000000000000}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from sanpath.plugin import Rows, SnmpValue, Table, Thing, Tie
from sanpath_collectors.snmp_if.tables import SWITCH, SWITCH_PORT, SWITCH_PORT_32

Row = Mapping[str, SnmpValue]

SYS_DESCR = "1.3.6.1.2.1.1.1.0"
SYS_UPTIME = "1.3.6.1.2.1.1.3.0"
SYS_NAME = "1.3.6.1.2.1.1.5.0"

IF_DESCR = "1.3.6.1.2.1.2.2.1.2"
IF_TYPE = "1.3.6.1.2.1.2.2.1.3"
IF_PHYS_ADDRESS = "1.3.6.1.2.1.2.2.1.6"
IF_OPER_STATUS = "1.3.6.1.2.1.2.2.1.8"
IF_IN_OCTETS = "1.3.6.1.2.1.2.2.1.10"
IF_IN_DISCARDS = "1.3.6.1.2.1.2.2.1.13"
IF_IN_ERRORS = "1.3.6.1.2.1.2.2.1.14"
IF_OUT_OCTETS = "1.3.6.1.2.1.2.2.1.16"
IF_OUT_DISCARDS = "1.3.6.1.2.1.2.2.1.19"
IF_OUT_ERRORS = "1.3.6.1.2.1.2.2.1.20"
IF_NAME = "1.3.6.1.2.1.31.1.1.1.1"
IF_HC_IN_OCTETS = "1.3.6.1.2.1.31.1.1.1.6"
IF_HC_OUT_OCTETS = "1.3.6.1.2.1.31.1.1.1.10"
IF_HIGH_SPEED = "1.3.6.1.2.1.31.1.1.1.15"
IF_CONNECTOR_PRESENT = "1.3.6.1.2.1.31.1.1.1.17"
IF_ALIAS = "1.3.6.1.2.1.31.1.1.1.18"

INVENTORY_COLUMNS = (
    *(IF_DESCR, IF_TYPE, IF_PHYS_ADDRESS, IF_OPER_STATUS, IF_IN_OCTETS),
    *(IF_NAME, IF_HC_IN_OCTETS, IF_HIGH_SPEED, IF_CONNECTOR_PRESENT, IF_ALIAS),
)
_STATE_COLUMNS = (IF_OPER_STATUS, IF_HIGH_SPEED, IF_IN_ERRORS, IF_OUT_ERRORS, IF_IN_DISCARDS, IF_OUT_DISCARDS)

# IANAifType-MIB
_LOOPBACK, _FIBRE_CHANNEL = 24, 56
_VIRTUAL = frozenset({53, 131, 135, 136, 161, 209})  # propVirtual, tunnel, two VLANs, LAG, bridge: counted twice
_UP, _TRUE = 1, 1  # ifOperStatus, TruthValue

_WWPN = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{2}(?:[:.-]?[0-9a-fA-F]{2}){7}(?![0-9a-fA-F])")
TICK_US = 10_000
"""TimeTicks are hundredths of a second."""
_TICKS_WRAP = 2**32
_TICKS_SLACK = 100 * 60  # a minute: clocks and answers are not exact


def octet_columns(with_64: Collection[str], ports: Collection[str]) -> tuple[str, ...]:
    """Columns of a poll: 64-bit octets where any port has them, 32-bit ones where any port has not."""
    wide = (IF_HC_IN_OCTETS, IF_HC_OUT_OCTETS) if with_64 or not ports else ()
    narrow = () if ports and set(ports) <= set(with_64) else (IF_IN_OCTETS, IF_OUT_OCTETS)
    return (*wide, *narrow, *_STATE_COLUMNS)


def has_64_bits(row: Row) -> bool:
    """Whether the port has the high-capacity counters."""
    return isinstance(row.get(IF_HC_IN_OCTETS), int)


def is_virtual(row: Row) -> bool:
    """Whether the interface is made of others, or leads nowhere: its bytes are counted at a port already."""
    return row.get(IF_TYPE) in _VIRTUAL or row.get(IF_TYPE) == _LOOPBACK


def things(switch: str, rows: Mapping[str, Row]) -> Iterator[Thing | Tie]:
    """The ports of a switch by ifIndex, loopbacks left out, and who is known to hang on them.

    An address that several interfaces share, as of a chassis, tells no port from another and is left out.
    """
    used = Counter(row.get(IF_PHYS_ADDRESS) for row in rows.values())
    for index, row in rows.items():
        if row.get(IF_TYPE) == _LOOPBACK:
            continue
        yield _port(index, row, _address(row) if used[row.get(IF_PHYS_ADDRESS)] == 1 else {})
        yield Tie("member_of", ("switch_port", index), ("switch", switch), "ifTable")
        alias = text(row.get(IF_ALIAS))
        for wwpn in wwpns_in(alias):
            yield Tie("logged_in", ("wwpn", wwpn), ("switch_port", index), f'ifAlias "{alias}"')


def _port(index: str, row: Row, address: Mapping[str, tuple[str, ...]]) -> Thing:
    name, description, speed = text(row.get(IF_NAME)), text(row.get(IF_DESCR)), _speed(row)
    return Thing(
        "switch_port",
        index,
        label=name or description,
        ids={"name": (name,), **address} if name else address,
        attributes={
            "if_type": _integer(row.get(IF_TYPE)),
            "alias": text(row.get(IF_ALIAS)),
            "description": description,
            "technology": "fibre_channel" if row.get(IF_TYPE) == _FIBRE_CHANNEL else "ethernet",
            "connector_present": _truth(row.get(IF_CONNECTOR_PRESENT)),
            "speed_bits_per_second": None if speed is None else speed * 1_000_000,
        },
    )


def _address(row: Row) -> dict[str, tuple[str, ...]]:
    """ifPhysAddress as a join key. Fabric OS has the port's address there, in digits: "327680" is no MAC."""
    address = row.get(IF_PHYS_ADDRESS)
    if not isinstance(address, bytes) or not any(address):
        return {}
    if len(address) == 8:
        return {"wwpn": (address.hex(),)}
    if len(address) == 6 and row.get(IF_TYPE) != _FIBRE_CHANNEL:
        return {"mac": (address.hex(":"),)}
    return {}


def wwpns_in(alias: str) -> list[str]:
    """World wide port names in a port's description, as 16 lower-case hexadecimal digits.

    >>> wwpns_in("esx7 vmhba2 21:00:00:24:FF:00:00:01")
    ['21000024ff000001']
    """
    return [re.sub(r"[:.-]", "", match.group()).lower() for match in _WWPN.finditer(alias)]


def samples(
    rows: Mapping[str, Row], skip: Collection[str], with_64: Collection[str], started_us: int | None = None
) -> Iterator[Rows]:
    """Rows of the ports, those with 64-bit and those with 32-bit counters apart; ports without counters left out.

    `started_us`: when the agent started, by our clock. With sysUpTime beside each row it gives the time at which the
    agent read its counters, whatever the answer met on its way; None: only the time of arrival is known.
    A port of `with_64` stays with the 64-bit counter even where this answer lacks it: a change of counter would
    look like a reset.
    """
    watched = {index: row for index, row in rows.items() if index not in skip}
    wide = {index: row for index, row in watched.items() if index in with_64}
    narrow = {i: row for i, row in watched.items() if i not in wide and isinstance(row.get(IF_IN_OCTETS), int)}
    for table, part, octets in (
        (SWITCH_PORT, wide, (IF_HC_IN_OCTETS, IF_HC_OUT_OCTETS)),
        (SWITCH_PORT_32, narrow, (IF_IN_OCTETS, IF_OUT_OCTETS)),
    ):
        if part:
            yield _rows(table, part, octets, started_us)


def _rows(table: Table, rows: Mapping[str, Row], octets: tuple[str, str], started_us: int | None) -> Rows:
    values: dict[str, Sequence[int | float | None]] = {
        "bytes_rx_total": _counter(rows, octets[0]),
        "bytes_tx_total": _counter(rows, octets[1]),
        "link_speed_bits_per_second": [_speed(row) for row in rows.values()],
        "link_up": [_up(row) for row in rows.values()],
        "errors_rx_total": _counter(rows, IF_IN_ERRORS),
        "errors_tx_total": _counter(rows, IF_OUT_ERRORS),
        "discards_rx_total": _counter(rows, IF_IN_DISCARDS),
        "discards_tx_total": _counter(rows, IF_OUT_DISCARDS),
    }
    ticks = [row.get("beside") for row in rows.values()]
    device_time = None
    if started_us is not None and all(isinstance(tick, int) for tick in ticks):
        device_time = [started_us + tick * TICK_US for tick in ticks if isinstance(tick, int)]
    return Rows(table, list(rows), [_integer(row["seen"]) or 0 for row in rows.values()], values, device_time)


def _counter(rows: Mapping[str, Row], oid: str) -> list[int | None]:
    return [_integer(row.get(oid)) for row in rows.values()]


def uptime(switch: str, ticks: int | None, seen: int) -> Rows:
    """The switch's own row: sysUpTime in hundredths of a second."""
    return Rows(SWITCH, [switch], [seen], {"uptime_seconds": [ticks]})


def restarted(before: int, now: int, elapsed_seconds: float) -> bool:
    """Whether sysUpTime fell because the agent started again, and not because it wrapped after 497 days."""
    wrapped = before + elapsed_seconds * 100 >= _TICKS_WRAP - _TICKS_SLACK
    return now < before and not wrapped


def text(value: SnmpValue) -> str:
    """A DisplayString without padding; "" where there is none."""
    return value.decode("utf-8", "replace").strip(" \0\r\n") if isinstance(value, bytes) else ""


def _up(row: Row) -> int | None:
    status = _integer(row.get(IF_OPER_STATUS))
    return None if status is None else int(status == _UP)


def _speed(row: Row) -> int | None:
    """ifHighSpeed of a port that is up, in 10⁶ bit/s. A port that is down names its last or highest speed (Fabric
    OS), and 0 stands for no notion of a speed (RFC 2863): None."""
    return _integer(row.get(IF_HIGH_SPEED)) or None if _up(row) else None


def _truth(value: SnmpValue) -> bool | None:
    """TruthValue; NX-OS answers 0 where 2 is meant."""
    return None if value is None else value == _TRUE


def _integer(value: SnmpValue) -> int | None:
    return value if isinstance(value, int) else None
