"""The configuration of a vCenter or an ESXi host."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from sanpath.plugin import SecretStr, SourceConfig, ca_file_field, verify_tls_field


class VsphereConfig(SourceConfig):
    """A vCenter, or one ESXi host."""

    host: str = Field(
        pattern=r"^[^/\s]+$",
        description="name or address of the vCenter or ESXi host, with :port where it is not 443; no https://",
    )
    user: str = Field(min_length=1, description="account with the role Read-only, as sanpath@vsphere.local")
    password: SecretStr = Field(description="its password")
    ca_file: Path | None = ca_file_field("the")
    pinned_certificate: Path | None = Field(
        default=None,
        description="PEM of the server's own certificate: that one alone is accepted, whatever name is in it",
    )
    verify_tls: bool = verify_tls_field("password")
    hosts: list[str] | None = Field(
        default=None, min_length=1, description="ESXi hosts to read, as the vCenter calls them; default: all"
    )
    machines: list[str] | None = Field(
        default=None, min_length=1, description="virtual machines to read; default: all that run on these hosts"
    )
    esxcli: bool = Field(
        default=True,
        description="false: do not ask for what only esxcli knows, as the I/Os after which Round Robin takes turns",
    )
    vsan: bool = Field(default=True, description="false: do not read vSAN's own statistics")
    states_every_seconds: float = Field(
        default=60.0, gt=0, description="seconds between reads of path states, host states and where machines run"
    )
    every_seconds: float = Field(default=20.0, gt=0, description="seconds between polls; a host samples every 20")

    @model_validator(mode="after")
    def _one_source_of_trust(self) -> VsphereConfig:
        if self.pinned_certificate is not None and (self.ca_file is not None or not self.verify_tls):
            raise PydanticCustomError("trust", "pinned_certificate needs neither ca_file nor verify_tls: false")
        return self
