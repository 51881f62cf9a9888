"""FlashArray REST 2 bodies → items, and items → samples. No I/O.

A performance item (FA-X70R3, Purity 6.3.3; times in milliseconds of the array's clock, latencies in microseconds):

    {"name": "z-x70-a", "time": 1664312775929, "reads_per_sec": 96, "read_bytes_per_sec": 2914975,
     "service_usec_per_read_op": 78, "queue_usec_per_read_op": 1, "san_usec_per_read_op": 35, ...}

Every field may be absent or null in some release: it is then None here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sanpath.plugin import CollectorError, Failure, Rows, Table
from sanpath_collectors.flasharray.tables import (
    ARRAY,
    ARRAY_PORT,
    BALANCE_FIELDS,
    PATH,
    PERFORMANCE_FIELDS,
    PORT_FIELDS,
)

Entry = Mapping[str, Any]

OLDEST, NEWEST = (2, 4), (2, 56)
"""REST versions this collector knows: 2.4 brought port performance and path balance."""

_EXCERPT_CHARACTERS = 200
_IO_FIELDS = ("reads_per_sec", "writes_per_sec", "mirrored_writes_per_sec")


@dataclass(frozen=True, slots=True)
class Page:
    """Items of one answer. `continuation_token`: what to ask the next page with; `more`: there is one."""

    items: list[Entry]
    more: bool = False
    continuation_token: str | None = None


def page(body: bytes, what: str) -> Page:
    """One answer of a list endpoint. Raises UNREADABLE with an excerpt.

    >>> page(b'{"items": [{"name": "CT0.FC0"}], "more_items_remaining": false}', "ports").items
    [{'name': 'CT0.FC0'}]
    """
    answer = document(body, what)
    items = answer.get("items")
    if not isinstance(items, list):
        raise CollectorError(Failure.UNREADABLE, f"{what}: no list of items", excerpt(body))
    token = answer.get("continuation_token")
    return Page(
        [item for item in items if isinstance(item, dict)],
        more=answer.get("more_items_remaining") is True,
        continuation_token=token if isinstance(token, str) else None,
    )


def document(body: bytes, what: str) -> Mapping[str, Any]:
    """A JSON object. Raises UNREADABLE with an excerpt."""
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, f"{what}: not JSON", excerpt(body)) from error
    if not isinstance(answer, dict):
        raise CollectorError(Failure.UNREADABLE, f"{what}: not a JSON object", excerpt(body))
    return answer


def excerpt(body: bytes) -> str:
    """The beginning of a body, for a person."""
    return body[:_EXCERPT_CHARACTERS].decode("utf-8", "replace")


def rest_version(body: bytes) -> str:
    """The newest version that both sides know. Raises MISCONFIGURED when there is none.

    >>> rest_version(b'{"version": ["1.19", "2.9", "2.15", "2.99"]}')
    '2.15'
    """
    offered = document(body, "api_version").get("version")
    texts = [v for v in offered if isinstance(v, str)] if isinstance(offered, list) else []
    numbers = [(int(m[1]), int(m[2])) for m in map(re.compile(r"(\d+)\.(\d+)").fullmatch, texts) if m]
    known = [number for number in numbers if OLDEST <= number <= NEWEST]
    if not known:
        newest = ".".join(map(str, max(numbers, default=()))) or "nothing readable"
        raise CollectorError(
            Failure.MISCONFIGURED,
            f"the array offers REST {newest} at most; this collector needs 2.4 (Purity 6.1) or newer",
        )
    return ".".join(map(str, max(known)))


def complaint(body: bytes) -> str:
    """The messages of an error answer, "" where it has none."""
    try:
        errors = document(body, "").get("errors")
    except CollectorError:
        return ""
    messages = [str(e.get("message")) for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
    return "; ".join(messages)[:_EXCERPT_CHARACTERS]


def milliseconds(item: Entry) -> int | None:
    """The sample's time on the array's clock."""
    time = number(item.get("time"))
    return None if time is None else int(time)


def array_series(items: Sequence[Entry], array: str, after: int | None, seen: int) -> Rows | None:
    """One-second samples newer than `after` (milliseconds), oldest first, each once. None: nothing new.

    `start_time` is rounded down by some releases: what was recorded already can come again.
    """
    new = {time: item for item in items if (time := milliseconds(item)) is not None and time > (after or 0)}
    if not new:
        return None
    ordered = sorted(new)
    return Rows(
        ARRAY,
        entity=[array] * len(new),
        seen=[seen] * len(new),
        values=_values([new[time] for time in ordered], PERFORMANCE_FIELDS),
        device_time=[time * 1000 for time in ordered],
        covers_seconds=[1.0] * len(new),
    )


def performance(table: Table, items: Iterable[Entry], connected: Collection[str], seen: int) -> Rows | None:
    """Volumes or hosts that have I/O, or that are connected to each other. None: there are none."""
    kept = [i for i in items if name(i) in connected or any(number(i.get(field)) for field in _IO_FIELDS)]
    return _rows(table, kept, name, lambda item: item, PERFORMANCE_FIELDS, seen)


def port_performance(items: Iterable[Entry], ports: Collection[str], seen: int) -> Rows | None:
    """Target ports by their name in /ports; other interfaces (management, replication) left out."""
    kept = [item for item in items if name(item).upper() in ports]
    return _rows(ARRAY_PORT, kept, lambda item: name(item).upper(), _counters, PORT_FIELDS, seen)


def _counters(item: Entry) -> Entry:
    block = item.get("fc" if item.get("interface_type") == "fc" else "eth")
    return block if isinstance(block, dict) else {}


def balance(items: Iterable[Entry], seen: int) -> Rows | None:
    """I/Os by initiator and target port; an entity is "INITIATOR>TARGET PORT". Hosts without I/O have none."""
    return _rows(PATH, [item for item in items if _pair(item)], _pair, lambda item: item, BALANCE_FIELDS, seen)


def _pair(item: Entry) -> str:
    initiator, target = sub(item, "initiator"), name(sub(item, "target")).upper()
    keys = (wwpn(text(initiator, "wwn")), *(text(initiator, key) for key in ("iqn", "nqn", "portal")))
    known_as = next(filter(None, keys), "")
    return f"{known_as}>{target}" if known_as and target else ""


def _rows(
    table: Table,
    items: Iterable[Entry],
    entity: Callable[[Entry], str],
    fields_of: Callable[[Entry], Entry],
    fields: Mapping[str, str],
    seen: int,
) -> Rows | None:
    by_entity = {entity(item): item for item in items if entity(item)}
    if not by_entity:
        return None
    times = [milliseconds(item) for item in by_entity.values()]
    return Rows(
        table,
        entity=list(by_entity),
        seen=[seen] * len(by_entity),
        values=_values([fields_of(item) for item in by_entity.values()], fields),
        device_time=None if None in times else [time * 1000 for time in times if time is not None],
    )


def _values(items: Sequence[Entry], fields: Mapping[str, str]) -> dict[str, Sequence[int | float | None]]:
    return {metric: [number(item.get(field)) for item in items] for metric, field in fields.items()}


def number(value: object) -> int | float | None:
    """A JSON number; None for everything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def text(item: Entry, key: str) -> str:
    """A JSON string; "" for everything else."""
    value = item.get(key)
    return value if isinstance(value, str) else ""


def texts(item: Entry, key: str) -> list[str]:
    """The strings of a JSON list."""
    value = item.get(key)
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def sub(item: Entry, key: str) -> Entry:
    """A JSON object inside another; empty for everything else."""
    value = item.get(key)
    return value if isinstance(value, dict) else {}


def name(item: Entry) -> str:
    """The item's name."""
    return text(item, "name")


def wwpn(written: str) -> str:
    """16 lower-case hexadecimal digits, "" when it is no world wide name.

    >>> wwpn("52:4A:93:71:AF:4E:82:00")
    '524a9371af4e8200'
    """
    digits = written.replace(":", "").lower()
    return digits if re.fullmatch(r"[0-9a-f]{16}", digits) else ""
