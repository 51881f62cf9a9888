"""The configuration of a Linux storage server."""

from __future__ import annotations

from sanpath_collectors.linux_host.config import MachineConfig


class LinuxTargetConfig(MachineConfig):
    """A storage server: this machine, or one over SSH if it has an address."""
