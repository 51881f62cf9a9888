"""The configuration of a Linux storage server."""

from __future__ import annotations

from sanpath_collectors.linux_host.config import MachineConfig


class LinuxTargetConfig(MachineConfig):
    """A storage server: the machine that sanpath runs on, or one over SSH when it has an address."""
