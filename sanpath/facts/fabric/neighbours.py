"""Facts of a link among its neighbours: what holds it up, what it holds up, and the links that share its load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from sanpath.facts.fabric.links import FULL
from sanpath.facts.table import FactRow, number

_STALLED = 0.3
"""A port that spends this share of a second without transmit credit is congested (port monitor policies of switches);
the limit of the rule slow-drain-device."""
_STALLED_IDLE, _IDLE = 0.1, 0.5
"""The same for a port that carries little: a port without credit cannot be full."""

Key = tuple[str, str, str]
"""Step, direction, and a switch, a device or a trunk."""


def among_neighbours(rows: Iterable[FactRow]) -> Iterator[FactRow]:
    """The rows of the table `link`, with what the links beside, before and behind each of them tell."""
    links = list(rows)
    by_sender, by_receiver, by_trunk = (_by(links, name) for name in ("sender", "receiver", "trunk"))
    # Once a switch, not once a link: every link into a large switch has all of the others before it.
    held_up = {key: _held_up(onward) for key, onward in by_sender.items()}
    stalled = {key: _most_stalled(before) for key, before in by_receiver.items()}
    trunks = {key: _mean_utilisation(together) for key, together in by_trunk.items()}
    fastest, holding = _fastest(links), _holding(links, by_sender)
    for row in links:
        trunk, carried, foreign = _key(row, "trunk"), row["bytes_per_second"], row["foreign_bytes_per_second"]
        yield {
            **row,
            "foreign_ratio": float(foreign) / float(carried) if foreign is not None and carried else None,
            "trunk_links": float(len(by_trunk[trunk])) if trunk in by_trunk else None,
            "trunk_utilisation": trunks.get(trunk),
            "upstream_stall_ratio": stalled.get(_key(row, "sender")),
            "held_up_behind": None if row["receiver"] is None else held_up.get(_key(row, "receiver"), False),
            "holds_up_test": holding.get(_key(row, "entity")),
            "fastest_bits_per_second": fastest.get((str(row["step"]), str(row["direction"]))),
        }


def _by(links: Sequence[FactRow], end: Literal["sender", "receiver", "trunk"]) -> dict[Key, list[FactRow]]:
    found: dict[Key, list[FactRow]] = defaultdict(list)
    for link in links:
        if link[end] is not None:
            found[_key(link, end)].append(link)
    return found


def _key(row: FactRow, end: str) -> Key:
    return str(row["step"]), str(row["direction"]), str(row[end])


def _fastest(links: Sequence[FactRow]) -> dict[tuple[str, str], float]:
    """Step and direction → speed of the fastest link that carries the test."""
    found: dict[tuple[str, str], float] = {}
    for link in links:
        if link["on_loaded_path"] and link["negotiated_bits_per_second"] is not None:
            key = (str(link["step"]), str(link["direction"]))
            found[key] = max(found.get(key, 0.0), number(link, "negotiated_bits_per_second"))
    return found


def _holding(links: Sequence[FactRow], by_sender: Mapping[Key, Sequence[FactRow]]) -> dict[Key, bool]:
    """Link → whether a link of the loaded path waits for credit because of it, itself included. Left out where no
    link of the loaded path tells whether it waits."""
    found: dict[Key, bool] = {}
    told = {
        (str(link["step"]), str(link["direction"]))
        for link in links
        if link["on_loaded_path"] and link["credit_stall_ratio"] is not None
    }
    slow = {key: [link for link in onward if _slow(link)] for key, onward in by_sender.items()}
    waiting = [link for link in links if link["on_loaded_path"] and _stalled(link)]
    while waiting:
        link = waiting.pop()
        if not found.get(_key(link, "entity")):
            found[_key(link, "entity")] = True
            waiting += slow.get(_key(link, "receiver"), ())
    for link in links:
        if (str(link["step"]), str(link["direction"])) in told:
            found.setdefault(_key(link, "entity"), False)
    return found


def _most_stalled(links: Sequence[FactRow]) -> float | None:
    """The longest wait for credit among links. None: none of them tells."""
    told = [number(link, "credit_stall_ratio") for link in links if link["credit_stall_ratio"] is not None]
    return max(told, default=None)


def _held_up(onward: Sequence[FactRow]) -> bool | None:
    """Whether one of the links that lead on from a switch is full or waits for credit itself. None: not known."""
    told = [_slow(link) for link in onward]
    return True if any(told) else None if None in told else False


def _mean_utilisation(links: Sequence[FactRow]) -> float | None:
    """None: not all of them tell."""
    told = [number(link, "utilisation") for link in links if link["utilisation"] is not None]
    return sum(told) / len(told) if len(told) == len(links) else None


def _slow(link: FactRow) -> bool | None:
    """Whether frames wait at a link, because it is full or for credit. None: not known."""
    full, stalled = _full(link), _stalled(link)
    return True if full or stalled else None if full is None or stalled is None else False


def _full(link: FactRow) -> bool | None:
    if link["utilisation"] is None:
        return None
    return number(link, "utilisation") >= FULL * number(link, "full_ratio")


def _stalled(link: FactRow) -> bool | None:
    if link["credit_stall_ratio"] is None:
        return None
    stall = number(link, "credit_stall_ratio")
    if stall < _STALLED_IDLE or _full(link):
        return False
    return stall >= _STALLED or (None if link["utilisation"] is None else number(link, "utilisation") < _IDLE)
