"""Events of a switch during the run: links that go up or down, speeds that change, restarts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanpath.plugin import Event, Item, Rows
from sanpath_collectors.snmp_switch.ports import Port
from sanpath_collectors.snmp_switch.tables import SWITCH

_MILLION = 1_000_000
_HUNDREDTHS = 100


class Changes:
    """The last link state and speed of each port."""

    def __init__(self) -> None:
        self._last_up: dict[str, int] = {}
        self._last_speed: dict[str, int] = {}

    def events(self, rows: Rows, ports: Mapping[str, Port]) -> Iterator[Event]:
        """Yield the differences from the previous poll; a missing value is not a change."""
        columns = (rows.values.get(name) for name in ("link_up", "link_speed_bits_per_second"))
        up, speed = (values if values is not None else [None] * len(rows.entity) for values in columns)
        for number, port in enumerate(rows.entity):
            name = {"switch_port": port, "label": ports[port].label if port in ports else port}
            up_now, speed_now = up[number], speed[number]
            if isinstance(up_now, int):
                up_before = self._last_up.setdefault(port, up_now)
                if up_before != up_now:
                    self._last_up[port] = up_now
                    yield Event(
                        rows.seen[number],
                        "port-state",
                        {**name, "up_before": bool(up_before), "up": bool(up_now)},
                    )
            if isinstance(speed_now, int):
                speed_before = self._last_speed.setdefault(port, speed_now)
                if speed_before != speed_now:
                    self._last_speed[port] = speed_now
                    detail = {
                        "bits_per_second_before": speed_before * _MILLION,
                        "bits_per_second": speed_now * _MILLION,
                    }
                    yield Event(rows.seen[number], "port-speed", {**name, **detail})


class Uptime:
    """The uptime of a switch that reports it in whole seconds, at the previous poll."""

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
