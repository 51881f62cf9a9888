"""Polls of a cloud instance over time: page and kernel do not begin to count at the same moment."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from sanpath.plugin import Rows
from sanpath_collectors.cloud_volume.collector import CloudVolume
from sanpath_collectors.cloud_volume.config import CloudVolumeConfig
from tests.support.cloud import EBS_MODEL, Instance, page

DEVICE, VOLUME = "nvme1n1", "vol-0abc1234def567890"
BY_KERNEL = f"259 0 {DEVICE} 7 0 56 9 0 0 0 0 0 0 0"


def reads(*pages: bytes | None) -> list[Any]:
    """What the polls say of the reads, one after the other. None: nvme fails; no row is None as well."""
    instance = Instance("Amazon EC2", "m5.large", {DEVICE: (EBS_MODEL, "vol0abc1234def567890")}, diskstats=BY_KERNEL)
    return asyncio.run(_reads(instance, pages))


async def _reads(instance: Instance, pages: tuple[bytes | None, ...]) -> list[Any]:
    ctx: Any = SimpleNamespace(machine=lambda _: instance, clock=SimpleNamespace(now_us=lambda: 0))
    collector = CloudVolume(CloudVolumeConfig.model_validate({"name": "c1", "collector": "cloud_volume"}))
    await collector.open(ctx)
    assert [item async for item in collector.inventory(ctx)]
    seen: list[Any] = []
    for content in pages:
        instance.pages = {} if content is None else {DEVICE: content}
        items = [item async for item in collector.poll(ctx)]
        assert all(isinstance(item, Rows) and item.entity == [VOLUME] for item in items)
        seen.append(items[0].values["ops_read_total"][0] if items and isinstance(items[0], Rows) else None)
    await collector.close()
    return seen


def test_a_volume_whose_page_fails_once_has_no_row_then() -> None:
    assert reads(page([1000] * 10), None, page([1200] * 10)) == [1000, None, 1200]


def test_a_volume_that_began_with_the_kernels_counters_stays_with_them() -> None:
    assert reads(None, page([1000] * 10)) == [7, 7]
