"""What happens to ports during the run: links that come and go, speeds that change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sanpath.plugin import Event, Rows
from sanpath_collectors.snmp_switch.ports import Port

_MILLION = 1_000_000


class Changes:
    """The state of each port as it was last seen."""

    def __init__(self) -> None:
        self._up: dict[str, int] = {}
        self._speed: dict[str, int] = {}

    def events(self, rows: Rows, ports: Mapping[str, Port]) -> Iterator[Event]:
        """What is different from the poll before; what was not told is no change."""
        told = (rows.values.get(name) for name in ("link_up", "link_speed_bits_per_second"))
        up, speed = (values if values is not None else [None] * len(rows.entity) for values in told)
        for number, port in enumerate(rows.entity):
            name = {"switch_port": port, "label": ports[port].label if port in ports else port}
            now, rate = up[number], speed[number]
            if isinstance(now, int):
                before = self._up.setdefault(port, now)
                if before != now:
                    self._up[port] = now
                    yield Event(rows.seen[number], "port-state", {**name, "up_before": bool(before), "up": bool(now)})
            if isinstance(rate, int):
                was = self._speed.setdefault(port, rate)
                if was != rate:
                    self._speed[port] = rate
                    detail = {"bits_per_second_before": was * _MILLION, "bits_per_second": rate * _MILLION}
                    yield Event(rows.seen[number], "port-speed", {**name, **detail})
