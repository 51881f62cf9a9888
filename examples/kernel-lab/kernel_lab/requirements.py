"""Checks what this machine needs to build a kernel lab."""

from __future__ import annotations

import platform
from pathlib import Path

from real_lab.requirements import missing_programs

PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-storage-daemon": "qemu-system-common",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "modprobe": "kmod",
    "xz": "xz-utils",
    "mke2fs": "e2fsprogs",
    "ssh-keygen": "openssh-client",
    "snmpd": "snmpd",
    "snmpset": "snmp",
    "ip": "iproute2",
    "tc": "iproute2",
    "setsid": "util-linux",
}
"""Program → Debian package that contains it."""


def missing() -> list[str]:
    """Return messages on what is missing; empty if a lab can be built."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return ["the kernel lab needs Linux on x86-64"]
    cables = [] if Path("/dev/net/tun").exists() else ["the kernel lab needs /dev/net/tun: load the module tun"]
    return cables + missing_programs("the kernel lab", PACKAGES)
