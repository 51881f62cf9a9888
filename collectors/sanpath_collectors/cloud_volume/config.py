"""The configuration of the volumes of a cloud instance."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sanpath_collectors.linux_host.config import MachineConfig


class VolumeConfig(BaseModel):
    """Properties of a volume that the instance itself does not report."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = Field(default=None, min_length=1, description="name of the volume in reports")
    type: str | None = Field(
        default=None, min_length=1, description="its type, as the provider spells it", examples=["gp3", "P30"]
    )
    size_gib: float | None = Field(default=None, gt=0, description="its size; default: as the kernel sees it")
    ops_per_second: float | None = Field(default=None, gt=0, description="its IOPS, if provisioned separately")
    bytes_per_second: float | None = Field(
        default=None, gt=0, description="its throughput, if provisioned separately"
    )
    caching: Literal["none", "read_only", "read_write"] = Field(
        default="none", description="host caching of an Azure disk: it decides which cap of the instance size counts"
    )


class CloudVolumeConfig(MachineConfig):
    """A cloud instance: this machine, or one over SSH if it has an address."""

    sudo: bool = Field(default=False, description="put `sudo -n` before nvme, for an account that may run it so")
    host: str | None = Field(
        default=None, min_length=1, description="name of the instance in reports; default: its host name"
    )
    instance_type: str | None = Field(
        default=None,
        min_length=1,
        description="its type, as the provider spells it; default: what an Amazon instance says itself",
        examples=["Standard_D8s_v5"],
    )
    volumes: dict[str, VolumeConfig] = Field(
        default_factory=dict,
        description="device → what is known of its volume; on Azure and Google only these devices are read",
        examples=[{"nvme1n1": {"type": "gp3", "ops_per_second": 6000}}],
    )
