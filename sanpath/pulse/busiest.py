"""The busiest links in their newest windows.

In a large fabric, most links need no exact figure: all are compared by whole columns of the newest polls, and only
those that may be among the busiest are computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from sanpath.catalogue.link_capacity import Technology, link_capacity
from sanpath.facts.fabric.links import ABOVE_LINE_RATE_RATIO
from sanpath.facts.samples.counters import PORT_SPEED
from sanpath.model import DIRECTIONS
from sanpath.pulse.link_counters import WiredLink
from sanpath.pulse.model import LinkNow
from sanpath.pulse.poll_rounds import Batch, Rounds

MAX_LINKS = 8
"""Most links that are shown: sanpath's own choice."""
_MAX_DIFFERENCES = 3
"""Maximum differences that are combined if the newest one exceeds the capacity of the link."""
_Floats = npt.NDArray[np.float64]
_capacity = lru_cache(link_capacity)


def busiest_links(wiring: Sequence[WiredLink], rounds: Mapping[str, Rounds]) -> list[LinkNow]:
    """Return the busiest links, the busiest first. `rounds`: source → the rounds of its switch ports."""
    uses = [use for link in _find_candidates(wiring, rounds) for use in _link_uses(link, rounds)]
    return sorted(uses, key=attrgetter("utilisation"), reverse=True)[:MAX_LINKS]


def _link_uses(link: WiredLink, rounds: Mapping[str, Rounds]) -> Iterator[LinkNow]:
    for port in link.ports:
        source_rounds = rounds.get(port.source)
        window = source_rounds.window(port.entity) if source_rounds is not None else None
        if source_rounds is None or window is None:
            continue
        capacity = _capacity(link.technology, window.gauge(PORT_SPEED) or 0.0)
        if capacity is None:
            continue
        limit = ABOVE_LINE_RATE_RATIO * capacity.data_bytes_per_second
        read, write = window.rate(port.read), window.rate(port.write)
        for back in range(2, _MAX_DIFFERENCES + 1):
            # With a caching agent a short window may exceed the capacity of a link; a longer window does not.
            if max(read or 0.0, write or 0.0) <= limit:
                break
            window = source_rounds.window(port.entity, differences=back) or window
            read, write = window.rate(port.read), window.rate(port.write)
        plausible = [
            (direction, rate)
            for direction, rate in zip(DIRECTIONS, (read, write), strict=True)
            if rate is not None and rate <= limit
        ]
        for direction, rate in plausible:
            yield LinkNow(link.entity, direction, rate / capacity.data_bytes_per_second, *window.limits)
        if plausible:
            return


def _find_candidates(wiring: Sequence[WiredLink], rounds: Mapping[str, Rounds]) -> Iterator[WiredLink]:
    """Yield the links that may be among the busiest, in the order of `wiring`."""
    by_columns: defaultdict[tuple[str, str, str, Technology], list[int]] = defaultdict(list)
    numbers = list[int]()
    for number, link in enumerate(wiring):
        port = link.ports[0] if link.ports else None
        if port is None or any((p.source, p.entity) != (port.source, port.entity) for p in link.ports):
            numbers.append(number)  # Which of its ports is sampled is only known after the computation.
        elif port.source in rounds:
            by_columns[port.source, port.read, port.write, link.technology].append(number)
    for (source, read, write, technology), links in by_columns.items():
        columns = _Columns(rounds[source], (read, write), technology)
        utilisation = columns.utilisation([wiring[number].ports[0].entity for number in links])
        order = np.argsort(-utilisation, kind="stable")
        numbers += [links[index] for index in order[: MAX_LINKS + np.count_nonzero(np.isinf(utilisation))].tolist()]
    return (wiring[number] for number in sorted(numbers))


class _Columns:
    """The utilisation of all ports of a source in the busier direction; infinite where only `_link_uses` can tell."""

    def __init__(self, rounds: Rounds, counters: Sequence[str], technology: Technology) -> None:
        self._rows: dict[str, int] = {}
        parts, length = list[_Floats](), 0
        for batch, before in rounds.newest():
            for entity, row in batch.row_by_entity.items():
                self._rows.setdefault(entity, length + row)
            parts.append(_utilisation(batch, before, counters, technology))
            length += len(parts[-1])
        self._utilisation = np.concatenate([*parts, [0.0]])

    def utilisation(self, entities: Sequence[str]) -> _Floats:
        """Return one value for each entity; 0.0: it was not sampled."""
        last = len(self._utilisation) - 1
        return self._utilisation[[self._rows.get(entity, last) for entity in entities]]


def _utilisation(batch: Batch, before: Batch | None, counters: Sequence[str], technology: Technology) -> _Floats:
    count = len(batch.rows.entity)
    if before is None:
        return np.full(count, np.inf)
    seconds = (batch.times_us() - before.times_us()) / 1e6
    speeds, speed_index = np.unique(batch.numbers(PORT_SPEED), return_inverse=True)
    scale = batch.columns[PORT_SPEED].scale if PORT_SPEED in batch.columns else 0.0
    capacities = [_capacity(technology, speed * scale) if speed > 0 else None for speed in speeds.tolist()]
    # Without a known speed there is no utilisation.
    full = np.array([np.inf if c is None else c.data_bytes_per_second for c in capacities])[speed_index]
    busier, unsure = np.zeros(count), seconds <= 0
    for counter in counters:
        growth = batch.numbers(counter) - before.numbers(counter)
        unsure |= growth < 0
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = growth * (batch.columns[counter].scale if counter in batch.columns else 0.0) / seconds
        busier = np.fmax(busier, rate)
    unsure |= busier > ABOVE_LINE_RATE_RATIO * full
    return np.where(unsure, np.inf, busier / full)
