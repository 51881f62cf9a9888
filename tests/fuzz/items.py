"""What the FlashArray collectors make of the items of one answer, without asking an array."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath_collectors.flasharray import inventory, parse
from sanpath_collectors.flasharray.tables import HOST, VOLUME
from sanpath_collectors.flasharray_rest1 import parse as parse_rest1


def rest2(body: bytes) -> None:
    """An answer of REST 2."""
    parse.error_messages(body)
    _read(parse.page(body, "items").items)


def rest1(body: bytes) -> None:
    """An answer of REST 1, in whatever it may be an answer to."""
    result = parse_rest1.answer(body, "items")
    items = parse_rest1.entries(result)
    _read(parse_rest1.performance(items))
    _read(parse_rest1.volumes(parse_rest1.merge_by_name(result, items)))
    for found in (
        [parse_rest1.array(item, items) for item in items[:2]],
        parse_rest1.hosts(items),
        parse_rest1.connections(items),
        parse_rest1.interfaces(items, items),
        parse_rest1.interface_traffic(items),
        parse_rest1.alerts(items),
    ):
        _read(found)


def _read(items: Sequence[parse.Entry]) -> None:
    names = {parse.name(item) for item in items[:3]}
    parse.array_series(items, "fa1", None, 1)
    for table in (VOLUME, HOST):
        rows = parse.performance(table, items, names, 1, True)
        if rows is not None:
            parse.add_space(rows, parse.space(items))
    parse.port_performance(items, names, 1)
    parse.balance(items, 1)
    for item in items[:3]:
        inventory.array(item, "FA-X70R3")
        parse.reports_service_time(item)
    for found in (
        inventory.controllers(items, "fa1"),
        inventory.ports(items, items, "fa1"),
        inventory.hosts(items),
        inventory.volumes(items, "fa1", items),
        inventory.connections(items, names),
    ):
        for _ in found:
            pass
    inventory.use_volume_groups(items)
