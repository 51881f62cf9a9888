"""The guests' kernel and root image, made of Debian's packages once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from real_lab.system import run

KERNEL_PACKAGE = "linux-image-6.12-amd64"
"""Debian's cloud kernel lacks Fibre Channel, its 6.1 lacks fcloop."""

GUEST_PACKAGES = (
    "e2fsprogs", "fio", "iproute2", "kmod", "multipath-tools", "nvme-cli", "open-iscsi", "openssh-server",
    "procps", "python3-minimal", "udev",
)  # fmt: skip

BOOT_MODULES = ("virtio_pci", "virtio_blk", "ext4")
"""What a guest needs before it reaches its root image, which has all other modules."""

ROOT_BYTES = 2 << 30

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
for module in $(cat /modules); do insmod $module; done
while ! [ -b /dev/vda ]; do sleep 0.1; done
mount -t ext4 /dev/vda /root
umount /proc /sys /dev
exec switch_root /root /sbin/lab-init
"""

ROOT_INIT = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /lab; mount -t devpts devpts /dev/pts; mount -t tmpfs run /run
mkdir -p /run/lock /run/sshd
tar --extract --file /dev/vdb --directory /lab
exec /bin/bash /lab/start
"""


@dataclass(frozen=True, slots=True)
class Images:
    """The files that a guest boots from. `first_files`: its initramfs."""

    kernel: Path
    first_files: Path
    root: Path


def images() -> Images:
    """Return the images; build them if they are not cached, which takes a minute and 1 GB. Raises LabError."""
    folder = cached()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            _build(Path(work))
            (Path(work) / "images").rename(folder)
    return Images(folder / "kernel", folder / "first-files", folder / "root")


def cached() -> Path:
    """The folder of the images, which exists once they have been built; another one if what is in them changes."""
    contents = "\n".join((KERNEL_PACKAGE, *GUEST_PACKAGES, *BOOT_MODULES, INIT, ROOT_INIT, str(ROOT_BYTES)))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sanpath-kernel-lab"
    return cache / hashlib.sha256(contents.encode()).hexdigest()[:12]


def _build(work: Path) -> None:
    images_folder, root, packages = work / "images", work / "root", work / "packages"
    for folder in (images_folder, root, packages):
        folder.mkdir()
    depends = run("apt-cache", "depends", KERNEL_PACKAGE)
    package = next(line.split()[1] for line in depends.splitlines() if "Depends: linux-image-" in line)
    run("sh", "-c", f"cd {packages} && apt-get download --quiet {package}")
    run("dpkg-deb", "--extract", str(next(packages.glob("*.deb"))), str(work / "kernel"))
    shutil.copy(next((work / "kernel" / "boot").glob("vmlinuz-*")), images_folder / "kernel")
    modules = next((work / "kernel").glob("**/lib/modules/*"))
    tar = work / "root.tar"
    run("mmdebstrap", "--variant=minbase", f"--include={','.join(GUEST_PACKAGES)}", "bookworm", str(tar))
    run("tar", "--extract", "--file", str(tar), "--directory", str(root))
    shutil.copytree(modules, root / "usr/lib/modules" / modules.name, symlinks=True)
    run("depmod", "--basedir", str(root), modules.name)
    _executable(root / "sbin/lab-init", ROOT_INIT)
    run("mke2fs", "-q", "-t", "ext4", "-d", str(root), str(images_folder / "root"), str(ROOT_BYTES >> 10))
    _first_files(work / "first", root, modules.name, images_folder / "first-files")


def _first_files(folder: Path, root: Path, version: str, archive: Path) -> None:
    for name in ("bin", "modules.d", "root", "proc", "sys", "dev"):
        (folder / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "busybox", folder / "bin/busybox")
    order: list[str] = []
    for module in BOOT_MODULES:
        needed = run("modprobe", "--dirname", str(root), "--set-version", version, "--show-depends", module)
        order += [line.split()[1] for line in needed.splitlines() if line.startswith("insmod ")]
    copied = []
    for file in dict.fromkeys(order):
        to = folder / "modules.d" / Path(file).name.removesuffix(".xz")
        run("sh", "-c", f"{'xz -dc' if file.endswith('.xz') else 'cat'} {file} > {to}")
        copied.append(f"/modules.d/{to.name}")
    (folder / "modules").write_text("\n".join(copied) + "\n")
    _executable(folder / "init", INIT)
    run("sh", "-c", f"cd {folder} && find . | cpio --quiet -o -H newc | gzip -1 > {archive}")


def _executable(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)
