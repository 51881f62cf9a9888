"""Parsing of the system group and of port descriptions. No I/O.

`Snmp.get` of the system group of a Brocade DS-5100B:

    {"1.3.6.1.2.1.1.1.0": b"DS-5100B", "1.3.6.1.2.1.1.2.0": "1.3.6.1.4.1.1588.2.1.1.1",
     "1.3.6.1.2.1.1.3.0": 1706568608, "1.3.6.1.2.1.1.5.0": b"DUMSYS-63"}
"""

from __future__ import annotations

import re

from sanpath.plugin import Rows
from sanpath_collectors.snmp_switch.tables import SWITCH

TICK_US = 10_000
"""TimeTicks are hundredths of a second."""
_TICKS_WRAP = 2**32
_TICKS_SLACK = 100 * 60  # a minute: clocks and answers are not exact

_WWPN = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{2}(?:[:.-]?[0-9a-fA-F]{2}){7}(?![0-9a-fA-F])")


def wwpns_in(alias: str) -> list[str]:
    """Find world wide port names in a port's description, as 16 lower-case hexadecimal digits.

    >>> wwpns_in("esx7 vmhba2 21:00:00:24:FF:00:00:01")
    ['21000024ff000001']
    """
    return [re.sub(r"[:.-]", "", match.group()).lower() for match in _WWPN.finditer(alias)]


def uptime(switch: str, uptime_ticks: int, seen_us: int) -> Rows:
    """Return the row of the switch itself; `uptime_ticks` is sysUpTime in hundredths of a second."""
    return Rows(SWITCH, [switch], [seen_us], {"uptime_seconds": [uptime_ticks]})


def restarted(ticks_before: int, ticks_now: int, elapsed_seconds: float) -> bool:
    """Whether sysUpTime fell because the agent restarted, and not because it wrapped after 497 days."""
    wrapped = ticks_before + elapsed_seconds * 100 >= _TICKS_WRAP - _TICKS_SLACK
    return ticks_now < ticks_before and not wrapped
