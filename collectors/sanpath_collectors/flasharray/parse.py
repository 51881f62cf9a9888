"""FlashArray REST 2 bodies → items, and items → samples. No I/O.

A performance item (FA-X70R3, Purity 6.3.3; times in milliseconds of the array's clock, latencies in microseconds):

    {"name": "z-x70-a", "time": 1664312775929, "reads_per_sec": 96, "read_bytes_per_sec": 2914975,
     "service_usec_per_read_op": 78, "queue_usec_per_read_op": 1, "san_usec_per_read_op": 35, ...}

Every field may be absent or null in some release: it is then None here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sanpath.plugin import CollectorError, Failure, Rows, Table, read_json
from sanpath_collectors.flasharray.release import service_time
from sanpath_collectors.flasharray.tables import (
    ARRAY,
    ARRAY_PORT,
    BALANCE_FIELDS,
    ETH_FIELDS,
    FC_FIELDS,
    PATH,
    PERFORMANCE_FIELDS,
    SPACE_METRICS,
)

Entry = Mapping[str, Any]
Values = dict[str, Sequence[int | float | None]]

OLDEST, NEWEST = (2, 2), (2, 56)
"""REST versions this collector knows: 2.2 brought the array's performance, 2.4 that of its ports and the balance."""

_EXCERPT_CHARACTERS = 200
_ENDLESS = 2**63  # what a recording's integers hold
_LATEST_MILLISECONDS = 2**53  # microseconds of later times do not fit in them
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
        problem = complaint(body) or "no list of items"
        raise CollectorError(Failure.UNREADABLE, f"{what}: {problem}", excerpt(body))
    token = answer.get("continuation_token")
    return Page(
        [item for item in items if isinstance(item, dict)],
        more=answer.get("more_items_remaining") is True,
        continuation_token=token if isinstance(token, str) else None,
    )


def document(body: bytes, what: str) -> Mapping[str, Any]:
    """A JSON object. Raises UNREADABLE with an excerpt."""
    try:
        answer = read_json(body)
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
    numbers = [(int(m[1]), int(m[2])) for m in map(re.compile(r"(\d{1,9})\.(\d{1,9})").fullmatch, texts) if m]
    known = [number for number in numbers if OLDEST <= number <= NEWEST]
    if not known:
        newest = ".".join(map(str, max(numbers, default=()))) or "nothing readable"
        raise CollectorError(
            Failure.MISCONFIGURED,
            f"the array offers REST {newest} at most, and this collector needs 2.2 or newer: "
            "use the collector flasharray_rest1",
        )
    return ".".join(map(str, max(known)))


def complaint(body: bytes) -> str:
    """The messages of an error answer of REST 2 or REST 1, "" where it has none.

    >>> complaint(b'{"errors": [{"message": "Unauthorized.", "context": null}]}')
    'Unauthorized.'
    >>> complaint(b'[{"code": 0, "ctx": "vol9", "msg": "Volume does not exist.", "pure_err_code": 1}]')
    'Volume does not exist.'
    """
    try:
        answer = read_json(body)
    except ValueError:
        return ""
    errors = answer.get("errors", [answer]) if isinstance(answer, dict) else answer
    told = [e for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
    messages = (text(error, "message") or text(error, "msg") for error in told)
    return "; ".join(filter(None, messages))[:_EXCERPT_CHARACTERS]


def milliseconds(item: Entry) -> int | None:
    """The sample's time on the array's clock."""
    time = number(item.get("time"))
    return None if time is None or time >= _LATEST_MILLISECONDS else int(time)


def array_series(
    items: Sequence[Entry],
    array: str,
    after: int | None,
    seen: int,
    holds_queue: bool | None = None,
) -> Rows | None:
    """One-second samples newer than `after` (milliseconds), oldest first, each once. None: nothing new.

    `start_time` is rounded down by some releases: what was recorded already can come again. `holds_queue`: see
    `performance`.
    """
    new = {time: item for item in items if (time := milliseconds(item)) is not None and time > (after or 0)}
    if not new:
        return None
    ordered = sorted(new)
    return Rows(
        ARRAY,
        entity=[array] * len(new),
        seen=[seen] * len(new),
        values=_performance_values([new[time] for time in ordered], PERFORMANCE_FIELDS, holds_queue),
        device_time=[time * 1000 for time in ordered],
        covers_seconds=[1.0] * len(new),
    )


def performance(
    table: Table,
    items: Iterable[Entry],
    connected: Collection[str],
    seen: int,
    holds_queue: bool | None = None,
    fields: Mapping[str, str] = PERFORMANCE_FIELDS,
) -> Rows | None:
    """Volumes or hosts that have I/O, or that are connected to each other. None: there are none.

    `holds_queue`: whether the array's total holds the queue time; needed where it does not tell the service time.
    """
    kept = [i for i in items if name(i) in connected or any(number(i.get(field)) for field in _IO_FIELDS)]
    return _rows(table, kept, name, lambda items: _performance_values(items, fields, holds_queue), seen)


def port_performance(
    items: Iterable[Entry], ports: Collection[str], seen: int, table: Table = ARRAY_PORT
) -> Rows | None:
    """Target ports by their name in /ports; other interfaces (management, replication) left out."""

    def values(items: Sequence[Entry]) -> Values:
        told = [_counters(item) for item in items]
        return {column.metric: [counters.get(column.metric) for counters in told] for column in table.columns}

    kept = [item for item in items if name(item).upper() in ports]
    return _rows(table, kept, lambda item: name(item).upper(), values, seen)


def _counters(item: Entry) -> dict[str, int | float | None]:
    """The block of the port's own kind; the one of the other kind is all null."""
    kind, fields = ("fc", FC_FIELDS) if item.get("interface_type") == "fc" else ("eth", ETH_FIELDS)
    block = sub(item, kind)
    return {metric: number(block.get(field)) for metric, field in fields.items()}


def balance(items: Iterable[Entry], seen: int) -> Rows | None:
    """I/Os by initiator and target port; an entity is "INITIATOR>TARGET PORT". Hosts without I/O have none."""
    pairs = [item for item in items if _pair(item)]
    return _rows(PATH, pairs, _pair, lambda items: _values(items, BALANCE_FIELDS), seen)


def _pair(item: Entry) -> str:
    initiator, target = sub(item, "initiator"), name(sub(item, "target")).upper()
    keys = (wwpn(text(initiator, "wwn")), *(text(initiator, key) for key in ("iqn", "nqn", "portal")))
    known_as = next(filter(None, keys), "")
    return f"{known_as}>{target}" if known_as and target else ""


def service_is_told(item: Entry) -> bool:
    """Whether a performance item has the service time apart from the array's total."""
    return number(item.get(PERFORMANCE_FIELDS["service_seconds_read"])) is not None


def space(items: Iterable[Entry]) -> dict[str, tuple[int | float | None, ...]]:
    """Name → values of SPACE_METRICS, of what tells its space.

    >>> space([{"name": "v", "space": {"data_reduction": 3.1, "total_physical": 4096}}, {"name": "w"}])
    {'v': (3.1, 4096)}
    """
    told = {name(item): sub(item, "space") for item in items if sub(item, "space")}
    return {known_as: (number(each.get("data_reduction")), _used(each)) for known_as, each in told.items()}


def _used(told: Entry) -> int | float | None:
    """total_physical is the older name of total_used."""
    used = number(told.get("total_used"))
    return number(told.get("total_physical")) if used is None else used


def add_space(rows: Rows, told: Mapping[str, tuple[int | float | None, ...]]) -> None:
    """Give the last row of each entity what was told of its space."""
    last = {entity: place for place, entity in enumerate(rows.entity) if entity in told}
    for place, metric in enumerate(SPACE_METRICS):
        values: list[int | float | None] = [None] * len(rows.entity)
        for entity, row in last.items():
            values[row] = told[entity][place]
        rows.values[metric] = values


def _rows(
    table: Table,
    items: Iterable[Entry],
    entity: Callable[[Entry], str],
    values: Callable[[Sequence[Entry]], Values],
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
        values=values(list(by_entity.values())),
        device_time=None if None in times else [time * 1000 for time in times if time is not None],
    )


def _performance_values(items: Sequence[Entry], fields: Mapping[str, str], holds_queue: bool | None) -> Values:
    values = _values(items, fields)
    for one in ("read", "write"):
        service = values.get(f"service_seconds_{one}", ())
        if None in service:
            totals = _column(items, f"usec_per_{one}_op")
            queues = _column(items, f"queue_usec_per_{one}_op")
            values[f"service_seconds_{one}"] = [
                service_time(total, queue, holds_queue) if told is None else told
                for told, total, queue in zip(service, totals, queues, strict=True)
            ]
    return values


def _values(items: Sequence[Entry], fields: Mapping[str, str]) -> Values:
    return {metric: _column(items, field) for metric, field in fields.items()}


def _column(items: Sequence[Entry], field: str) -> list[int | float | None]:
    return [number(item.get(field)) for item in items]


def number(value: object) -> int | float | None:
    """A JSON number that is not negative and not endless; None for everything else: arrays count and measure."""
    if type(value) is int or type(value) is float:
        return value if 0 <= value < _ENDLESS else None
    return None


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
