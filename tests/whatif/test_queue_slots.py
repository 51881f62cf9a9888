"""What another queue depth would bring, where the queue was read and where it was not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from sanpath.whatif import queue_slots
from sanpath.whatif.change import Change
from sanpath.whatif.queue_slots import unread_queue_reason

DEEPER = Change(slots={"lun:h1/dm-0": 64.0})


@pytest.mark.parametrize(
    ("read_in", "throttling", "known"),
    [("q64", None, True), ("q2", None, False), ("q2", "lun:h1/dm-0", True)],
    ids=["read in this step", "read in another one", "its clock shows how many it lets through"],
)
def test_a_depth_is_judged_where_the_queue_was_read(
    monkeypatch: pytest.MonkeyPatch, read_in: str, throttling: str | None, known: bool
) -> None:
    queue = SimpleNamespace(entity=throttling) if throttling is not None else None
    monkeypatch.setattr(queue_slots, "throttle", lambda *_: queue)
    rows = {
        step: [{"entity": "lun:h1/dm-0", "in_flight": 8.0 if step == read_in else None}] for step in ("q2", "q64")
    }
    devices = SimpleNamespace(select=lambda step: rows.get(step, []))
    facts = SimpleNamespace(tables={"device": devices, "virtual_disk": SimpleNamespace(select=lambda **_: [])})
    reason = unread_queue_reason(cast(Any, facts), cast(Any, SimpleNamespace(step="q64")), DEEPER)
    assert (reason is None) == known
