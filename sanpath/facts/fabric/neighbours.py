"""Facts of a link and its neighbours: what stalls it, what it stalls, and the links that share its load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sanpath.facts.fabric.link_measures import FULL_RATIO, filled_ratio
from sanpath.facts.table import FactRow, number

_STALLED_RATIO = 0.3
"""A port that spends this share of a second without transmit credit is congested (port monitor policies of switches);
the limit of the rule slow-drain-device."""
_STALLED_IDLE_RATIO, _IDLE_UTILISATION = 0.1, 0.5
"""The same share for a port whose utilisation is below the second value: lack of credit keeps a port from being
full."""

_COUNTED_BEHIND = 0.8
"""Share of a link's bytes that the counted ports behind it must forward for none of its frames to be waiting
there."""

WAITED_FOR = 0.9
"""Share of that time in which a link must be busy or waiting itself if it makes another link wait, because frames
wait only for frames ahead of them. The remainder allows for counter errors."""

_FEEDING_RATIO = 0.05
"""Share of a port's bytes that a link has to bring for frames of that link to wait at the port."""
_COUNTING_ERROR = 0.02
"""Share of a link's bytes that its own and the test's counters may differ by (windows that do not begin together)."""

Key = tuple[str, str, str]
"""(step, direction, and a switch, device, trunk or link)."""


@dataclass(frozen=True)
class Leaving:
    """What leaves a switch in one direction. `has_waiting_frames`: None where not all links report it.

    `busiest_ratio`: the largest share of the time for which one of these links sends or waits for credit.
    """

    has_waiting_frames: bool | None
    busiest_ratio: float
    bytes_per_second: float


NONE_LEAVING = Leaving(has_waiting_frames=False, busiest_ratio=0.0, bytes_per_second=0.0)


def with_neighbour_facts(rows: Iterable[FactRow]) -> Iterator[FactRow]:
    """Yield the rows of the table `link`, with facts of the links upstream, downstream and parallel to each."""
    links = list(rows)
    by_sender, by_receiver, by_trunk = (_by_end(links, name) for name in ("sender", "receiver", "trunk"))
    # Computed once per switch, not once per link: at a large switch, every link has all others as neighbours.
    downstream = {key: _total_leaving(leaving) for key, leaving in by_sender.items()}
    stalled = {key: _most_stalled(arriving) for key, arriving in by_receiver.items()}
    trunks = {key: _mean_utilisation(trunk_links) for key, trunk_links in by_trunk.items()}
    fastest, stalls_test = _fastest(links), _stalls_test(links, by_sender)
    for row in links:
        key = _key(row, "receiver")
        onward_links = [onward for onward in by_sender.get(key, ()) if may_feed(row, onward)]
        leaving = (
            _total_leaving(onward_links)
            if len(onward_links) < len(by_sender.get(key, ()))
            else downstream.get(key, NONE_LEAVING)
        )
        trunk, carried, foreign = _key(row, "trunk"), row["bytes_per_second"], row["foreign_bytes_per_second"]
        yield {
            **row,
            "foreign_ratio": float(foreign) / float(carried) if foreign is not None and carried else None,
            "trunk_links": float(len(by_trunk[trunk])) if trunk in by_trunk else None,
            "trunk_utilisation": trunks.get(trunk),
            "upstream_stall_ratio": stalled.get(_key(row, "sender")),
            "held_up_behind": None if row["receiver"] is None else leaving.has_waiting_frames,
            "forwarded_at_once": _is_forwarded_at_once(row, leaving),
            "holds_up_test": stalls_test.get(_key(row, "entity")),
            "fastest_array_bits_per_second": fastest.get((str(row["step"]), str(row["direction"]))),
        }


def may_feed(link: FactRow, onward: FactRow) -> bool:
    """Return whether frames of a link may leave by another link of the switch behind it. A port that carries nothing
    of the test gets its bytes over this link only as far as the link carries other hosts' bytes (conservation of
    flow)."""
    foreign, carried, leaving = (
        link["foreign_bytes_per_second"],
        link["bytes_per_second"],
        onward["bytes_per_second"],
    )
    if onward["on_loaded_path"] is not False or foreign is None or carried is None or leaving is None:
        return True
    return float(foreign) + _COUNTING_ERROR * float(carried) >= _FEEDING_RATIO * float(leaving)


def _by_end(links: Sequence[FactRow], end: Literal["sender", "receiver", "trunk"]) -> dict[Key, list[FactRow]]:
    by_key: dict[Key, list[FactRow]] = defaultdict(list)
    for link in links:
        if link[end] is not None:
            by_key[_key(link, end)].append(link)
    return by_key


def _key(row: FactRow, end: str) -> Key:
    return str(row["step"]), str(row["direction"]), str(row[end])


def _fastest(links: Sequence[FactRow]) -> dict[tuple[str, str], float]:
    """Return (step, direction) → speed of the fastest link of an array that carries the test."""
    speeds: dict[tuple[str, str], float] = {}
    for link in links:
        if link["side"] == "array" and link["on_loaded_path"] and link["negotiated_bits_per_second"] is not None:
            key = (str(link["step"]), str(link["direction"]))
            speeds[key] = max(speeds.get(key, 0.0), number(link, "negotiated_bits_per_second"))
    return speeds


def _stalls_test(links: Sequence[FactRow], by_sender: Mapping[Key, Sequence[FactRow]]) -> dict[Key, bool]:
    """Return link → whether it makes a link of the loaded path, or itself, wait for credit.

    Left out where no link of the loaded path reports whether it waits."""
    result: dict[Key, bool] = {}
    reported = {
        (str(link["step"]), str(link["direction"]))
        for link in links
        if link["on_loaded_path"] and link["credit_stall_ratio"] is not None
    }
    slow = {key: [link for link in leaving if _has_waiting_frames(link)] for key, leaving in by_sender.items()}
    waiting = [link for link in links if link["on_loaded_path"] and is_stalled(link)]
    while waiting:
        link = waiting.pop()
        if not result.get(_key(link, "entity")):
            result[_key(link, "entity")] = True
            waiting += slow.get(_key(link, "receiver"), ())
    for link in links:
        if (str(link["step"]), str(link["direction"])) in reported:
            result.setdefault(_key(link, "entity"), False)
    return result


def _most_stalled(links: Sequence[FactRow]) -> float | None:
    """Return the longest wait for credit among links, as a ratio of time. None: no link reports it."""
    ratios = [number(link, "credit_stall_ratio") for link in links if link["credit_stall_ratio"] is not None]
    return max(ratios, default=None)


def _is_stalled_downstream(leaving: Sequence[FactRow]) -> bool | None:
    """Return whether a link that leaves a switch is full or waits for credit. None: not known."""
    wait_states = [_has_waiting_frames(link) for link in leaving]
    return True if any(wait_states) else None if None in wait_states else False


def _total_leaving(leaving: Sequence[FactRow]) -> Leaving:
    busy = [number(link, "utilisation") + number(link, "credit_stall_ratio") for link in leaving]
    carried = sum(number(link, "bytes_per_second") for link in leaving)
    return Leaving(_is_stalled_downstream(leaving), max(busy, default=0.0), carried)


def _is_forwarded_at_once(link: FactRow, leaving: Leaving) -> bool | None:
    """Return whether no frame that a link brings waits behind it. None: not known."""
    if link["receiver"] is None or link["credit_stall_ratio"] is None or link["bytes_per_second"] is None:
        return None
    if leaving.has_waiting_frames or leaving.busiest_ratio >= WAITED_FOR * number(link, "credit_stall_ratio"):
        return False
    is_counted = leaving.bytes_per_second >= _COUNTED_BEHIND * number(link, "bytes_per_second") > 0
    return True if is_counted and leaving.has_waiting_frames is False else None


def _mean_utilisation(links: Sequence[FactRow]) -> float | None:
    """Return the mean utilisation of links. None: not all of them report it."""
    utilisations = [number(link, "utilisation") for link in links if link["utilisation"] is not None]
    return sum(utilisations) / len(utilisations) if len(utilisations) == len(links) else None


def _has_waiting_frames(link: FactRow) -> bool | None:
    """Return whether frames wait at a link, because it is full or lacks credit. None: not known."""
    full, stalled = _is_full(link), is_stalled(link)
    return True if full or stalled else None if full is None or stalled is None else False


def _is_full(link: FactRow) -> bool | None:
    """Return whether a link is full on average. None: not known."""
    filled = filled_ratio(link)
    return None if filled is None else filled >= FULL_RATIO


def is_stalled(link: FactRow) -> bool | None:
    """Return whether frames wait for credit and not for the link itself. None: not known."""
    if link["credit_stall_ratio"] is None:
        return None
    stall = number(link, "credit_stall_ratio")
    if stall < _STALLED_IDLE_RATIO or _is_full(link):
        return False
    return stall >= _STALLED_RATIO or (
        None if link["utilisation"] is None else number(link, "utilisation") < _IDLE_UTILISATION
    )
