"""Parses FlashArray REST 2 bodies into items, and items into samples. No I/O.

A performance item (FA-X70R3, Purity 6.3.3; times in milliseconds of the array's clock, latencies in microseconds):

    {"name": "z-x70-a", "time": 1664312775929, "reads_per_sec": 96, "read_bytes_per_sec": 2914975,
     "service_usec_per_read_op": 78, "queue_usec_per_read_op": 1, "san_usec_per_read_op": 35, ...}

Every field may be missing or null in some release; its value is then None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sanpath.plugin import (
    INTEGER_LIMIT,
    CollectorError,
    Failure,
    Rows,
    Table,
    excerpt,
    json_answer,
    json_object,
    json_objects,
    json_texts,
    read_json,
    wwn,
)
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

OLDEST_VERSION, NEWEST_VERSION = (2, 2), (2, 56)
"""Supported REST versions: 2.2 introduced the array's performance, 2.4 that of its ports, and the path balance."""

_EXCERPT_CHARACTERS = 200
_MAX_TIME_MILLISECONDS = 2**53  # microseconds of later times would exceed that limit
_VLAN = re.compile(r"(?<=\d)\.\d{1,4}$")
_IO_FIELDS = ("reads_per_sec", "writes_per_sec", "mirrored_writes_per_sec")


@dataclass(frozen=True, slots=True)
class Page:
    """Items of one answer. `has_more`: there is another page; `continuation_token`: parameter that requests it."""

    items: list[Entry]
    has_more: bool = False
    continuation_token: str | None = None


def page(body: bytes, endpoint: str) -> Page:
    """Parse an answer of a list endpoint. Raises UNREADABLE with an excerpt of the body.

    >>> page(b'{"items": [{"name": "CT0.FC0"}], "more_items_remaining": false}', "ports").items
    [{'name': 'CT0.FC0'}]
    """
    answer = document(body, endpoint)
    items = answer.get("items")
    if not isinstance(items, list):
        problem = error_messages(body) or "no list of items"
        raise CollectorError(Failure.UNREADABLE, f"{endpoint}: {problem}", excerpt(body))
    token = answer.get("continuation_token")
    return Page(
        json_objects(items),
        has_more=answer.get("more_items_remaining") is True,
        continuation_token=token if isinstance(token, str) else None,
    )


def document(body: bytes, endpoint: str) -> Mapping[str, Any]:
    """Parse a JSON object. Raises UNREADABLE with an excerpt of the body."""
    answer = json_answer(body, endpoint)
    if not isinstance(answer, dict):
        raise CollectorError(Failure.UNREADABLE, f"{endpoint}: not a JSON object", excerpt(body))
    return answer


def rest_version(body: bytes) -> str:
    """The newest REST version that both array and collector support. Raises MISCONFIGURED if there is none.

    >>> rest_version(b'{"version": ["1.19", "2.9", "2.15", "2.99"]}')
    '2.15'
    """
    texts = json_texts(document(body, "api_version").get("version"))
    numbers = [(int(m[1]), int(m[2])) for m in map(re.compile(r"(\d{1,9})\.(\d{1,9})").fullmatch, texts) if m]
    supported = [number for number in numbers if OLDEST_VERSION <= number <= NEWEST_VERSION]
    if not supported:
        newest = ".".join(map(str, max(numbers, default=()))) or "nothing readable"
        raise CollectorError(
            Failure.MISCONFIGURED,
            f"the array offers REST {newest} at most, and this collector needs 2.2 or newer: "
            "use the collector flasharray_rest1",
        )
    return ".".join(map(str, max(supported)))


def error_messages(body: bytes) -> str:
    """The messages of an error answer of REST 2 or REST 1; "" if it has none.

    >>> error_messages(b'{"errors": [{"message": "Unauthorized.", "context": null}]}')
    'Unauthorized.'
    >>> error_messages(b'[{"code": 0, "ctx": "vol9", "msg": "Volume does not exist.", "pure_err_code": 1}]')
    'Volume does not exist.'
    """
    try:
        answer = read_json(body)
    except ValueError:
        return ""
    errors = answer.get("errors", [answer]) if isinstance(answer, dict) else answer
    messages = (text(error, "message") or text(error, "msg") for error in json_objects(errors))
    return "; ".join(filter(None, messages))[:_EXCERPT_CHARACTERS]


def milliseconds(item: Entry) -> int | None:
    """The sample's time on the array's clock, in milliseconds. None: missing or implausible."""
    time = number(item.get("time"))
    return None if time is None or time >= _MAX_TIME_MILLISECONDS else int(time)


def array_series(
    items: Sequence[Entry],
    array: str,
    after: int | None,
    seen_us: int,
    total_includes_queue: bool | None = None,
) -> Rows | None:
    """One-second samples newer than `after` (milliseconds), oldest first, each once. None: nothing new.

    Some releases round `start_time` down, so that recorded samples may come again. `total_includes_queue`: see
    `performance`.
    """
    new_items = {time: item for item in items if (time := milliseconds(item)) is not None and time > (after or 0)}
    if not new_items:
        return None
    ordered = sorted(new_items)
    return Rows(
        ARRAY,
        entity=[array] * len(new_items),
        seen=[seen_us] * len(new_items),
        values=_performance_values([new_items[time] for time in ordered], PERFORMANCE_FIELDS, total_includes_queue),
        device_time=[time * 1000 for time in ordered],
        covers_seconds=[1.0] * len(new_items),
    )


def performance(
    table: Table,
    items: Iterable[Entry],
    connected: Collection[str],
    seen_us: int,
    total_includes_queue: bool | None = None,
    fields: Mapping[str, str] = PERFORMANCE_FIELDS,
) -> Rows | None:
    """Samples of volumes or hosts that have I/O, or that are connected to each other. None: there are none.

    `total_includes_queue`: whether the array's total latency includes the queue time. It is needed if the array does
    not report the service time.
    """
    active = [i for i in items if name(i) in connected or any(number(i.get(field)) for field in _IO_FIELDS)]
    return _rows(table, active, name, lambda items: _performance_values(items, fields, total_includes_queue), seen_us)


def port_performance(
    items: Iterable[Entry], ports: Collection[str], seen_us: int, table: Table = ARRAY_PORT
) -> Rows | None:
    """Samples of target ports by their name in /ports, without other interfaces (management, replication)."""

    def values(items: Sequence[Entry]) -> Values:
        counters_by_port = [_counters(item) for item in items]
        return {
            column.metric: [counters.get(column.metric) for counters in counters_by_port] for column in table.columns
        }

    target_ports = [item for item in items if name(item).upper() in ports]
    return _rows(table, target_ports, lambda item: name(item).upper(), values, seen_us)


def _counters(item: Entry) -> dict[str, int | float | None]:
    """The counters of a port, from the block of its interface type; the other block is all null."""
    kind, fields = ("fc", FC_FIELDS) if item.get("interface_type") == "fc" else ("eth", ETH_FIELDS)
    block = json_object(item.get(kind))
    return {metric: number(block.get(field)) for metric, field in fields.items()}


def balance(items: Iterable[Entry], seen_us: int) -> Rows | None:
    """I/Os by initiator and target port, named "INITIATOR>TARGET PORT". Hosts without I/O have none."""
    pairs: dict[str, Entry] = {}
    for item in items:
        if (pair := _pair(item)) in pairs:  # of another VLAN of the port
            both = sorted((pairs[pair], item), key=_operations)
            pairs[pair] = {**both[1], BALANCE_FIELDS["ops_count"]: sum(map(_operations, both))}
        elif pair:
            pairs[pair] = item
    return _rows(PATH, pairs.values(), _pair, lambda items: _values(items, BALANCE_FIELDS), seen_us)


def _operations(item: Entry) -> int | float:
    return number(item.get(BALANCE_FIELDS["ops_count"])) or 0


def _pair(item: Entry) -> str:
    initiator, target = json_object(item.get("initiator")), physical_port(json_object(item.get("target")))
    keys = (wwn(initiator.get("wwn")), *(text(initiator, key) for key in ("iqn", "nqn", "portal")))
    initiator_id = next(filter(None, keys), "")
    return f"{initiator_id}>{target}" if initiator_id and target else ""


def reports_service_time(item: Entry) -> bool:
    """Whether a performance item has the service time separate from the array's total."""
    return number(item.get(PERFORMANCE_FIELDS["service_seconds_read"])) is not None


def space(items: Iterable[Entry]) -> dict[str, tuple[int | float | None, ...]]:
    """Name → values of SPACE_METRICS, of items that report their space.

    >>> of_volume = {"data_reduction": 3.1, "total_physical": 4096, "virtual": 12697}
    >>> space([{"name": "v", "space": of_volume}, {"name": "w"}])
    {'v': (3.1, 4096, 12697)}
    """
    space_by_name = {name(item): values for item in items if (values := json_object(item.get("space")))}
    return {
        entity: (number(values.get("data_reduction")), _used_bytes(values), number(values.get("virtual")))
        for entity, values in space_by_name.items()
    }


def _used_bytes(space: Entry) -> int | float | None:
    """total_physical is the older name of total_used."""
    used = number(space.get("total_used"))
    return number(space.get("total_physical")) if used is None else used


def add_space(rows: Rows, space_by_entity: Mapping[str, tuple[int | float | None, ...]]) -> None:
    """Add space values to the last row of each entity. `space_by_entity`: entity → values of SPACE_METRICS."""
    last = {entity: index for index, entity in enumerate(rows.entity) if entity in space_by_entity}
    metrics = {column.metric for column in rows.table.columns}
    for index, metric in enumerate(name for name in SPACE_METRICS if name in metrics):
        values: list[int | float | None] = [None] * len(rows.entity)
        for entity, row in last.items():
            values[row] = space_by_entity[entity][index]
        rows.values[metric] = values


def _rows(
    table: Table,
    items: Iterable[Entry],
    entity: Callable[[Entry], str],
    values: Callable[[Sequence[Entry]], Values],
    seen_us: int,
) -> Rows | None:
    by_entity = {entity(item): item for item in items if entity(item)}
    if not by_entity:
        return None
    times = [milliseconds(item) for item in by_entity.values()]
    return Rows(
        table,
        entity=list(by_entity),
        seen=[seen_us] * len(by_entity),
        values=values(list(by_entity.values())),
        device_time=None if None in times else [time * 1000 for time in times if time is not None],
    )


def _performance_values(
    items: Sequence[Entry], fields: Mapping[str, str], total_includes_queue: bool | None
) -> Values:
    values = _values(items, fields)
    for direction in ("read", "write"):
        service = values.get(f"service_seconds_{direction}", ())
        if None in service:
            totals = _column(items, f"usec_per_{direction}_op")
            queues = _column(items, f"queue_usec_per_{direction}_op")
            values[f"service_seconds_{direction}"] = [
                service_time(total, queue, total_includes_queue) if reported is None else reported
                for reported, total, queue in zip(service, totals, queues, strict=True)
            ]
    return values


def _values(items: Sequence[Entry], fields: Mapping[str, str]) -> Values:
    return {metric: _column(items, field) for metric, field in fields.items()}


def _column(items: Sequence[Entry], field: str) -> list[int | float | None]:
    return [number(item.get(field)) for item in items]


def number(value: object) -> int | float | None:
    """A JSON number that is not negative and fits a recording; None for everything else."""
    if type(value) is int or type(value) is float:
        return value if 0 <= value < INTEGER_LIMIT else None
    return None


def text(item: Entry, key: str) -> str:
    """A JSON string; "" for everything else."""
    value = item.get(key)
    return value if isinstance(value, str) else ""


def physical_port(item: Entry) -> str:
    """The name of a port as in /ports. The bytes of a VLAN's interface are counted at its port.

    >>> [physical_port({"name": name}) for name in ("CT0.ETH4.202", "ct1.eth5", "CT0.FC0")]
    ['CT0.ETH4', 'CT1.ETH5', 'CT0.FC0']
    """
    return _VLAN.sub("", name(item).upper())


def name(item: Entry) -> str:
    """The item's name."""
    return text(item, "name")
