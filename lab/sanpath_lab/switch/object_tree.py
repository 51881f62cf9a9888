"""The objects of an SNMP agent, ordered by identifier. Values are computed on request."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping

Oid = tuple[int, ...]
Getter = Callable[[], object]


class ObjectTree:
    """Instances by full object identifier; a getter returns the SNMP value of now."""

    def __init__(self, getters: Mapping[Oid, Getter]) -> None:
        self._getters = dict(getters)
        self._order = sorted(self._getters)

    def get(self, oid: Oid) -> object | None:
        """Return the value of an instance. None: no such instance."""
        getter = self._getters.get(oid)
        return getter() if getter else None

    def column(self, entry: Oid) -> list[tuple[Oid, Getter]]:
        """(index, getter) of every instance below `entry`, in order."""
        first = bisect_right(self._order, entry)
        length = len(entry)
        instances = []
        for oid in self._order[first:]:
            if oid[:length] != entry:
                break
            instances.append((oid[length:], self._getters[oid]))
        return instances

    def next(self, oid: Oid) -> tuple[Oid, object] | None:
        """The first instance behind `oid`, None at the end."""
        position = bisect_right(self._order, oid)
        if position == len(self._order):
            return None
        following = self._order[position]
        return following, self._getters[following]()
