"""What this machine must have before a lab can be built."""

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
"""Program to the Debian package that has it."""


def missing() -> list[str]:
    """What is missing, in words a person can act on; empty when a lab can be built here."""
    if not sys.platform.startswith("linux"):
        return ["the real lab needs Linux"]
    lacking = lacking_here("the real lab", PACKAGES)
    if find_spec("sanpath_lab") is None:
        lacking.append("sanpath is not installed for this Python")
    if not lacking and not _namespaces_work():
        lacking.append("network namespaces cannot be made here")
    return lacking


def lacking_here(lab: str, packages: Mapping[str, str]) -> list[str]:
    """Root and programs that a lab has not got here, in words. `packages`: program → its Debian package."""
    rights = [] if os.geteuid() == 0 else [f"{lab} needs root"]
    return rights + [
        f"{program} is missing: install the package {package}"
        for program, package in packages.items()
        if shutil.which(program) is None
    ]


def _namespaces_work() -> bool:
    attempt = ["unshare", "--net", "true"]
    return subprocess.run(attempt, capture_output=True, check=False).returncode == 0  # noqa: S603 - fixed command
