"""What the user says about a switch."""

from __future__ import annotations

from pydantic import Field

from sanpath.plugin import SecretStr, SourceConfig


class SnmpIfConfig(SourceConfig):
    """A switch that is read over SNMP v2c."""

    host: str = Field(min_length=1, description="IPv4 address or name of the SNMP agent")
    port: int = Field(default=161, ge=1, le=65535, description="UDP port of the SNMP agent")
    community: SecretStr = Field(description="SNMP v2c read community")
    every_seconds: float = Field(
        default=5.0,
        gt=0,
        description="seconds between polls; agents refresh their counters every few seconds",
    )
