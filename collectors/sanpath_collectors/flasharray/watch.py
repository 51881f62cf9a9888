"""What an array says of its own state → events, each change once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sanpath.plugin import Event, warning
from sanpath_collectors.flasharray.parse import Entry, name, number, text

_WORKING = frozenset({"ok", "healthy", "identifying", "ready"})
_UNTOLD = frozenset({"", "unknown", "unused", "not_installed", "device_off"})
"""States that say nothing of a fault."""


class Watch:
    """Remembers what was told before. It outlives sessions: a failover ends the one it happens in."""

    def __init__(self) -> None:
        self._primary = ""
        self._states: dict[tuple[str, str], str] = {}
        self._alerts: set[str] = set()

    def controllers(self, items: Iterable[Entry], seen: int) -> Iterator[Event]:
        """`controller-failover` when another controller is primary, `hardware-state` for one that is not ready."""
        for item in items:
            shelf = text(item, "type") == "shelf_controller"
            if not shelf and text(item, "mode") == "primary" and name(item):
                primary, before, self._primary = name(item), self._primary, name(item)
                if before and before != primary:
                    yield Event(seen, "controller-failover", {"primary": primary, "before": before})
                    said = f"controller failover: {primary} is primary now, {before} was"
                    yield warning(seen, "controller-failover", said)
            yield from self._state("controllers", item, seen)

    def hardware(self, items: Iterable[Entry], seen: int) -> Iterator[Event]:
        """`hardware-state` for what does not work, and for what works again."""
        for item in items:
            yield from self._state("hardware", item, seen)

    def _state(self, told_by: str, item: Entry, seen: int) -> Iterator[Event]:
        component, state = name(item), text(item, "status").lower()
        if not component or state in _UNTOLD:
            return
        before = self._states.get((told_by, component), "ok")
        self._states[told_by, component] = state
        if state != before and {state, before} - _WORKING:
            detail = {"component": component, "state": state, "details": text(item, "details") or None}
            yield Event(seen, "hardware-state", detail)

    def alerts(self, items: Iterable[Entry], seen: int) -> Iterator[Event]:
        """`alert` for every open one, once. `device_time`: when it was raised, microseconds on the array's clock."""
        for item in items:
            known_as = text(item, "id") or name(item)
            severity = text(item, "severity")
            if text(item, "state") != "open" or severity == "hidden" or known_as in self._alerts:
                continue
            self._alerts.add(known_as)
            created = number(item.get("created"))
            detail = {
                "severity": severity,
                "summary": text(item, "summary") or text(item, "issue") or text(item, "description"),
                "component": text(item, "component_name") or None,
                "code": number(item.get("code")),
                "device_time": None if created is None else int(created) * 1000,
                "reference": text(item, "knowledge_base_url") or None,
            }
            yield Event(seen, "alert", detail)
