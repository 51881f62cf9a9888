"""The configuration of a switch with Fabric OS that is read over REST."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from sanpath.plugin import SecretStr, SourceConfig, ca_file_field, verify_tls_field


class BrocadeRestConfig(SourceConfig):
    """A switch, or one virtual fabric of it."""

    every_seconds: float = Field(
        default=10.0,
        gt=0,
        description="seconds between polls; Fabric OS renews its counters every two seconds",
    )
    host: str = Field(
        pattern=r"^[^/\s]+$",
        description="management name or address, with :port where it is not 443; no https://",
    )
    user: str = Field(min_length=1, pattern=r"^[^:]+$", description="login name; the role user is enough")
    password: SecretStr = Field(description="its password")
    ca_file: Path | None = ca_file_field("the switch's")
    verify_tls: bool = verify_tls_field("password")
    virtual_fabric: int | None = Field(
        default=None,
        ge=1,
        le=128,
        description="number of the virtual fabric (FID); default: that of the login",
    )
    optics_every_seconds: float = Field(
        default=60.0, gt=0, description="seconds between reads of the optics and of the uptime"
    )
