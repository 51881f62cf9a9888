"""The disks of a guest as arguments of QEMU: backing, throttle group, iothread and virtio queue."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from kernel_lab.cases import Disk
from real_lab.files import write_private
from real_lab.state import State
from real_lab.system import run, start, wait_until

GROUP = "tier1"
SIZE_BYTES = 256 << 20
CIPHER = "serpent-256"
"""Processors have no instructions for it: a thread of QEMU can be full while the emulated processor is not."""
HASH = "sha512"
"""Slow enough: of the default, 32,768 rounds may take less than a tick, and QEMU cannot tell how long one takes."""
_PCI_SLOTS = {"data": 0x10, "other": 0x11}
"""Disk → its slot. The kernel names disks in the order of slots: these are vdc and vdd."""


def monitor(folder: Path) -> Path:
    """Return the socket of the guest's QMP monitor."""
    return folder / "vm1.qmp"


def arguments(disk: Disk, backing: str, folder: Path) -> list[str]:
    """Return QEMU's arguments: a name, a QMP monitor, and the disks. `backing`: the node of their data."""
    words = ["-name", "vm1,debug-threads=on", "-qmp", f"unix:{monitor(folder)},server=on,wait=off"]
    if disk.limits:
        words += ["-object", f"throttle-group,id={GROUP},{disk.limits}"]
    if disk.iothread:
        words += ["-object", "iothread,id=iothread1,poll-max-ns=0"]
    if disk.backing == "luks":
        words += ["-object", f"secret,id=key,file={_key(folder)}"]
    for name in ("data", "other") if disk.shared else ("data",):
        node = f"{name}-backing"
        words += ["-blockdev", f"node-name={node},{backing}"]
        if disk.limits:
            words += ["-blockdev", f"throttle,node-name={name}-limit,throttle-group={GROUP},file={node}"]
            node = f"{name}-limit"
        device = [f"virtio-blk-pci,id={name},drive={node},serial={name.upper()},addr={_PCI_SLOTS[name]:#x}"]
        device += ["iothread=iothread1"] if disk.iothread else []
        words += ["-device", ",".join([*device, *filter(None, [disk.device])])]
    return words


def make_backing(disk: Disk, state: State, folder: Path) -> str:
    """Make where the data of a disk are; return it as a node of QEMU, without a name. Raises LabError."""
    null = f"driver=null-co,cache.direct=on,size={SIZE_BYTES},latency-ns={disk.latency_ms * 1_000_000}"
    file = folder / "vm1.disk"
    match disk.backing:
        case "nbd":
            socket = _exported(null, state, folder)
            return f"driver=nbd,cache.direct=on,server.type=unix,server.path={socket},export=data"
        case "luks":
            write_private(_key(folder), secrets.token_urlsafe())
            options = f"key-secret=key,cipher-alg={CIPHER},hash-alg={HASH},iter-time=10"
            run("qemu-img", "create", "-q", "-f", "luks", "--object", f"secret,id=key,file={_key(folder)}",
                "-o", options, str(file), str(SIZE_BYTES))  # fmt: skip
            return f"driver=luks,key-secret=key,file.driver=file,file.filename={file}"
        case "file":
            with file.open("wb") as out:  # What was never written is read without I/O.
                for _ in range(SIZE_BYTES >> 20):
                    out.write(bytes(1 << 20))
                os.fsync(out.fileno())
            return f"driver=file,cache.direct=on,aio=native,filename={file}"
        case _:
            return null


def _exported(node: str, state: State, folder: Path) -> Path:
    """Start a storage daemon that exports a node over NBD; return its socket."""
    socket = folder / "nbd.sock"
    command = [
        "qemu-storage-daemon", "--blockdev", f"node-name=media,{node}",
        "--nbd-server", f"addr.type=unix,addr.path={socket}",
        "--export", "type=nbd,id=data,name=data,node-name=media,writable=on",
    ]  # fmt: skip
    start(command, lab=state.lab, log_file=folder / "logs/qemu-storage-daemon.log")
    wait_until(socket.exists, "the storage daemon")
    return socket


def _key(folder: Path) -> Path:
    return folder / "secrets/disk_key"
