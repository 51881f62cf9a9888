"""What this machine must have before a kernel lab can be built."""

from __future__ import annotations

import platform

from real_lab.requirements import lacking_here

PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
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
"""Program to the Debian package that has it."""


def missing() -> list[str]:
    """What is missing, in words a person can act on; empty when a lab can be built here."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return ["the kernel lab needs Linux on x86-64"]
    return lacking_here("the kernel lab", PACKAGES)
