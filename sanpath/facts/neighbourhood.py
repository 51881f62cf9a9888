"""Facts of a link among its neighbours: what holds it up, what it holds up, and the links that share its load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from sanpath.facts.links import FULL
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
    fastest, holding = _fastest(links), _holding(links, by_sender)
    for row in links:
        here = by_trunk.get(_key(row, "trunk"), ())
        used = [number(link, "utilisation") for link in here if link["utilisation"] is not None]
        carried, foreign = row["bytes_per_second"], row["foreign_bytes_per_second"]
        yield {
            **row,
            "foreign_ratio": float(foreign) / float(carried) if foreign is not None and carried else None,
            "trunk_links": float(len(here)) if here else None,
            "trunk_utilisation": sum(used) / len(used) if here and len(used) == len(here) else None,
            "upstream_stall_ratio": _most_stalled(by_receiver.get(_key(row, "sender"), ())),
            "held_up_behind": _held_up(row, by_sender.get(_key(row, "receiver"), ())),
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
    waiting = [link for link in links if link["on_loaded_path"] and _stalled(link)]
    while waiting:
        link = waiting.pop()
        if not found.get(_key(link, "entity")):
            found[_key(link, "entity")] = True
            waiting += [onward for onward in by_sender.get(_key(link, "receiver"), ()) if _slow(onward)]
    for link in links:
        if (str(link["step"]), str(link["direction"])) in told:
            found.setdefault(_key(link, "entity"), False)
    return found


def _most_stalled(links: Sequence[FactRow]) -> float | None:
    """The longest wait for credit among links. None: none of them tells."""
    told = [number(link, "credit_stall_ratio") for link in links if link["credit_stall_ratio"] is not None]
    return max(told, default=None)


def _held_up(row: FactRow, onward: Sequence[FactRow]) -> bool | None:
    """Whether a link that leads on from the receiver of `row` is full or waits for credit itself. None: not known."""
    told = [_slow(link) for link in onward if link["entity"] != row["entity"]]
    if any(told):
        return True
    return None if row["receiver"] is None or None in told else False


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
