"""What the user says about the host."""

from __future__ import annotations

from pydantic import Field

from sanpath.plugin import SourceConfig


class LinuxBlockConfig(SourceConfig):
    """The Linux host that sanpath runs on."""

    host: str | None = Field(
        default=None,
        min_length=1,
        description="what people call this host, as in the topology; default: its host name",
    )
    devices: list[str] | None = Field(
        default=None,
        min_length=1,
        description="devices to read, as sda, dm-3 or mpatha; default: all but partitions, loop, RAM and CD devices",
    )
    every_seconds: float = Field(default=1.0, gt=0, description="seconds between polls")
