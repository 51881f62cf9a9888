"""The configuration of a switch with NX-OS that is read over NX-API."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from sanpath.plugin import SecretStr, SourceConfig, ca_file_field, verify_tls_field


class CiscoNxapiConfig(SourceConfig):
    """A switch with NX-OS."""

    every_seconds: float = Field(
        default=10.0,
        gt=0,
        description="seconds between polls; a poll is one `show interface`",
    )
    host: str = Field(
        pattern=r"^[^/\s]+$",
        description="management name or address, with the port of NX-API where it is not 443 (MDS: 8443); no https://",
    )
    user: str = Field(min_length=1, pattern=r"^[^:]+$", description="login name; the role network-operator is enough")
    password: SecretStr = Field(description="its password")
    ca_file: Path | None = ca_file_field("the switch's")
    verify_tls: bool = verify_tls_field("password")
    optics_every_seconds: float = Field(
        default=60.0, gt=0, description="seconds between reads of the optics and of the uptime"
    )
