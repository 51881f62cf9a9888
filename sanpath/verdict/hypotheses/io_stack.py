"""I/Os wait in their machine, between the load and the first block device below it, where no source looks.

A file system, a volume manager or a limit of the load's control group (Linux: io.max) holds them there.
"""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.verdict.hypotheses.claim import Claim, limited_by
from sanpath.verdict.places.table import PlaceTable

_PRIOR = -2.0
"""Log-odds against a place whose own counter could have shown the limit: a test mostly uses the device itself."""


def claims(table: PlaceTable) -> Iterator[Claim]:
    """One claim where the load and a block device below it have clocks of their own."""
    first, machine = table.segments[0] if table.segments else None, next(iter(table.machines), None)
    if first is None or first.kind != "host_queue" or machine is None:
        return
    because = (f"{table.wait_words({0})} pass above its block device {first.entity}",)
    overturn_if = ("the same wait with the load on the block device itself, outside of any control group",)
    layer = "guest" if machine.startswith("vm:") else "host"
    conclude = limited_by(table, layer, because, overturn_if, waits_inside=True)
    yield Claim("io_stack", machine, frozenset({0}), (), conclude, _PRIOR)
