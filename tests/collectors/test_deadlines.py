"""The deadline of a request follows the configuration: `timeout_seconds` gives a slow device more time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sanpath import registry
from sanpath.plugin import Cost, Http
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.live_context import LiveContext

DEVICES: dict[str, dict[str, str]] = {
    "brocade_rest": {"user": "sanpath", "password": "x"},
    "cisco_nxapi": {"user": "sanpath", "password": "x"},
    "flasharray": {"api_token": "x"},
    "flasharray_rest1": {"api_token": "x"},
    "vsphere": {"user": "sanpath", "password": "x"},
}


class AskedError(Exception):
    """The collector has asked for its connection."""


class Noting(LiveContext):
    """Notes the deadline of the connection that a collector asks for, and refuses it."""

    deadline = 0.0

    def http(self, *options: Any, **_: Any) -> Http:
        self.deadline = options[3] if len(options) > 3 else 5.0
        raise AskedError


def deadline(collector: str, **options: float) -> float:
    spec = registry.spec(collector)
    assert spec.config is not None
    document = {"name": "d1", "collector": collector, "host": "192.0.2.1", **DEVICES[collector], **options}
    context = Noting(RecorderClock(), Cost())
    with pytest.raises(AskedError):
        asyncio.run(registry.collector_class(spec)(spec.config.model_validate(document)).open(context))
    return context.deadline


@pytest.mark.parametrize("collector", DEVICES)
def test_a_slow_device_is_waited_for_as_long_as_a_poll_may_take(collector: str) -> None:
    assert deadline(collector, every_seconds=60, timeout_seconds=30) >= 0.9 * 30
    assert deadline(collector, every_seconds=60) >= 0.9 * 0.8 * 60


@pytest.mark.parametrize("collector", ["brocade_rest", "cisco_nxapi", "flasharray", "flasharray_rest1"])
def test_polls_in_quick_succession_leave_time_to_log_in(collector: str) -> None:
    assert deadline(collector, every_seconds=1) >= 5
