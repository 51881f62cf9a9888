"""Monitors that are in use, and the forms in which command lines name them."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from sanpath.plugin import Rows, SourceEntity
from sanpath_collectors.qemu.collector import Qemu
from sanpath_collectors.qemu.config import QemuConfig
from sanpath_collectors.qemu.processes import process
from tests.support.replay import ReplayContext

PROXMOX = Path(__file__).parent / "proxmox-8" / "replies"


class Clock:
    """Stands still."""

    def now_us(self) -> int:
        return 1_700_000_000_000_000


def test_a_machine_whose_monitor_is_in_use_at_an_inventory_is_read_by_the_next_poll(tmp_path: Path) -> None:
    shutil.copytree(PROXMOX, tmp_path / "replies")
    (tmp_path / "replies/2.files/var/run/qemu-server/100.qmp").write_bytes(b"")

    async def read() -> tuple[list[str], list[str]]:
        collector, context = (
            Qemu(QemuConfig(name="pve1", collector="qemu")),
            ReplayContext(Clock(), tmp_path / "replies"),
        )
        await collector.open(context)
        async for _ in collector.inventory(context):
            pass
        context.advance()
        again = [item.label async for item in collector.inventory(context) if isinstance(item, SourceEntity)]
        context.advance()
        polled = [name async for item in collector.poll(context) if isinstance(item, Rows) for name in item.entity]
        await collector.close()
        return again, polled

    machines, disks = asyncio.run(read())
    assert "web1" in machines
    assert disks == ["web1/scsi0"]


@pytest.mark.parametrize(
    ("words", "sockets"),
    [
        ("-qmp unix:/run/db1.qmp,server=on,wait=off", ("/run/db1.qmp",)),
        ("-qmp unix:/run/db1.qmp,server,nowait", ("/run/db1.qmp",)),
        ("-qmp unix:/run/other.sock", ()),
        ("-chardev socket,id=m,path=/run/db1.qmp,server=yes -mon chardev=m,mode=control", ("/run/db1.qmp",)),
        ("-chardev socket,id=m,path=/run/db1.qmp,server=off -mon chardev=m,mode=control", ()),
        ("-chardev socket,id=m,path=/run/db1.qmp,server -mon chardev=m,mode=readline", ()),
    ],
)
def test_a_monitor_is_a_socket_that_qemu_listens_at(words: str, sockets: tuple[str, ...]) -> None:
    assert process(7, "\0".join(["kvm", *words.split()]).encode()).sockets == sockets
