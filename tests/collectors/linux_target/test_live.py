"""nbdkit on this machine, with a block device of its own behind it, while fio reads through it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sanpath.plugin import Check, Cost, Item, Rows, SourceEntity, SourceLink
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.linux_target.collector import LinuxTarget
from sanpath_collectors.linux_target.config import LinuxTargetConfig

PROGRAMS = ("nbdkit", "fio", "losetup", "readlink", "ip")
SIZE = 32 << 20

pytestmark = [
    pytest.mark.skipif(
        bool(missing := [name for name in PROGRAMS if shutil.which(name) is None]),
        reason=f"needs the programs {', '.join(missing)}",
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="a loop device needs root"),
]


@contextmanager
def loop_device(folder: Path) -> Iterator[str]:
    """A block device over a file, past the file cache. Skips where there can be none."""
    file = folder / "disk.img"
    file.write_bytes(os.urandom(SIZE))
    made = subprocess.run(
        ["losetup", "--direct-io=on", "--find", "--show", str(file)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no loop device with direct I/O: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@contextmanager
def exported(device: str) -> Iterator[int]:
    """The device by nbdkit on 127.0.0.1. Yields the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    process = subprocess.Popen(["nbdkit", "--foreground", "-i", "127.0.0.1", "-p", str(port), "file", device])
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        else:
            pytest.fail("nbdkit does not listen")
        yield port
    finally:
        process.terminate()
        process.wait(10)


def look(load: list[str]) -> tuple[Check, list[SourceEntity | SourceLink], list[Item], list[Item]]:
    """Check, inventory, and a poll before and after a load."""

    async def run() -> tuple[Check, list[SourceEntity | SourceLink], list[Item], list[Item]]:
        collector = LinuxTarget(LinuxTargetConfig(name="stor1", collector="linux_target"))
        context = LiveContext(RecorderClock(), Cost())
        await collector.open(context)
        check = await collector.check(context)
        found = [item async for item in collector.inventory(context)]
        before = [item async for item in collector.poll(context)]
        subprocess.run(load, capture_output=True, check=True)
        after = [item async for item in collector.poll(context)]
        await collector.close()
        return check, found, before, after

    return asyncio.run(run())


def value(items: list[Item], kind: str, entity: str, metric: str) -> Any:
    rows = next(item for item in items if isinstance(item, Rows) and item.table.kind == kind)
    return rows.values[metric][rows.entity.index(entity)]


def test_what_is_read_through_nbdkit_is_counted_of_its_volume_and_its_port(tmp_path: Path) -> None:
    with loop_device(tmp_path) as device, exported(device) as port:
        # Every block once: none of it is in the file cache yet.
        load = ["fio", "--name=load", "--ioengine=nbd", f"--uri=nbd://127.0.0.1:{port}", "--rw=read", "--bs=64k"]
        check, found, before, after = look([*load, f"--size={SIZE}", "--rate=16m"])
    name, volume = Path(device).name, f"nbd:{port}"
    assert "nbd" in check.identity
    entities = {(node.kind, node.local_id): node for node in found if isinstance(node, SourceEntity)}
    assert entities["volume", volume].attributes["device"] == name
    assert entities["volume", volume].attributes["size_bytes"] == SIZE
    assert SourceLink("presents", ("array_port", "lo"), ("volume", volume), f"nbd {name}") in found

    def grew(kind: str, entity: str, metric: str) -> float:
        return float(value(after, kind, entity, metric) - value(before, kind, entity, metric))

    sectors = grew("volume", volume, "bytes_read_total")
    assert sectors * 512 == pytest.approx(SIZE, rel=0.05)
    assert grew("volume", volume, "ops_read_total") > 0
    assert grew("volume", volume, "latency_seconds_read_total") > 0
    assert grew("volume", volume, "ops_write_total") == 0
    assert grew("array_port", "lo", "bytes_tx_total") >= SIZE


def test_over_ssh_keys_need_an_address() -> None:
    with pytest.raises(ValueError, match="give address as well"):
        LinuxTargetConfig(name="stor1", collector="linux_target", user="monitor")
