"""Checks what this machine needs to build a lab."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec

PACKAGES = {
    "fio": "fio",
    "nbdkit": "nbdkit",
    "snmpd": "snmpd",
    "snmpset": "snmp",
    "ip": "iproute2",
    "tc": "iproute2",
    "setsid": "util-linux",
}
"""Program → Debian package that contains it."""


def missing() -> list[str]:
    """Return messages on what is missing; empty if a lab can be built."""
    if not sys.platform.startswith("linux"):
        return ["the real lab needs Linux"]
    lacking = missing_programs("the real lab", PACKAGES)
    if find_spec("sanpath_lab") is None:
        lacking.append("sanpath is not installed for this Python")
    if not lacking and not _namespaces_work():
        lacking.append("network namespaces cannot be made here")
    return lacking


def missing_programs(lab: str, packages: Mapping[str, str]) -> list[str]:
    """Return messages on missing root rights and programs. `packages`: program → its Debian package."""
    rights = [] if os.geteuid() == 0 else [f"{lab} needs root"]
    return rights + [
        f"{program} is missing: install the package {package}"
        for program, package in packages.items()
        if shutil.which(program) is None
    ]


def _namespaces_work() -> bool:
    attempt = ["unshare", "--net", "true"]
    return subprocess.run(attempt, capture_output=True, check=False).returncode == 0  # noqa: S603 - fixed command
