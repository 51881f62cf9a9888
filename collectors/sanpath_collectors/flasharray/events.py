"""Turns the state that an array reports about itself into events, each change once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sanpath.plugin import WORKING_STATES, Event, warning
from sanpath_collectors.flasharray.parse import Entry, name, number, text

_IGNORED_STATES = frozenset({"", "unknown", "unused", "not_installed", "device_off"})
"""States that do not indicate a fault."""


class Watch:
    """The last states of controllers, components and alerts.

    It is used across sessions, because a failover ends the session in which it happens.
    """

    def __init__(self) -> None:
        self._primary = ""
        self._states: dict[tuple[str, str], str] = {}
        self._alerts: set[str] = set()

    def controllers(self, items: Iterable[Entry], seen_us: int) -> Iterator[Event]:
        """`controller-failover` if another controller is primary, `hardware-state` for one that is not ready."""
        for item in items:
            shelf = text(item, "type") == "shelf_controller"
            if not shelf and text(item, "mode") == "primary" and name(item):
                primary, previous, self._primary = name(item), self._primary, name(item)
                if previous and previous != primary:
                    yield Event(seen_us, "controller-failover", {"primary": primary, "before": previous})
                    message = f"controller failover: {primary} is primary now, {previous} was"
                    yield warning(seen_us, "controller-failover", message)
            yield from self._state("controllers", item, seen_us)

    def hardware(self, items: Iterable[Entry], seen_us: int) -> Iterator[Event]:
        """`hardware-state` for a component that fails, or works again."""
        for item in items:
            yield from self._state("hardware", item, seen_us)

    def _state(self, endpoint: str, item: Entry, seen_us: int) -> Iterator[Event]:
        component, state = name(item), text(item, "status").lower()
        if not component or state in _IGNORED_STATES:
            return
        previous = self._states.get((endpoint, component), "ok")
        self._states[endpoint, component] = state
        if state != previous and {state, previous} - WORKING_STATES:
            detail = {"component": component, "state": state, "details": text(item, "details") or None}
            yield Event(seen_us, "hardware-state", detail)

    def alerts(self, items: Iterable[Entry], seen_us: int) -> Iterator[Event]:
        """`alert` for every open alert, once. `device_time`: its creation, microseconds on the array's clock."""
        for item in items:
            alert_id = text(item, "id") or name(item)
            severity = text(item, "severity")
            if text(item, "state") != "open" or severity == "hidden" or alert_id in self._alerts:
                continue
            self._alerts.add(alert_id)
            created = number(item.get("created"))
            detail = {
                "severity": severity,
                "summary": text(item, "summary") or text(item, "issue") or text(item, "description"),
                "component": text(item, "component_name") or None,
                "code": number(item.get("code")),
                "device_time": None if created is None else int(created) * 1000,
                "reference": text(item, "knowledge_base_url") or None,
            }
            yield Event(seen_us, "alert", detail)
