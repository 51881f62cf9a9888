"""The uptime of a switch that reports it in whole seconds, and its restarts."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import Event, Item, Rows
from sanpath_collectors.snmp_switch.tables import SWITCH

_HUNDREDTHS = 100


class Uptime:
    """The uptime at the previous poll."""

    def __init__(self) -> None:
        self._before_seconds: int | None = None

    def items(self, switch: str, uptime_seconds: int | None, seen_us: int) -> Iterator[Item]:
        """Yield the sample, and a restart since the previous poll. `uptime_seconds` None: the switch reports none."""
        if uptime_seconds is None:
            return
        before, self._before_seconds = self._before_seconds, uptime_seconds
        if before is not None and uptime_seconds < before:
            detail = {"uptime_seconds_before": before, "uptime_seconds": uptime_seconds}
            yield Event(seen_us, "device-restarted", detail)
        yield Rows(SWITCH, [switch], [seen_us], {"uptime_seconds": [uptime_seconds * _HUNDREDTHS]})
