"""The configuration of a FlashArray."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from sanpath.plugin import SecretStr, SourceConfig


class FlashArrayConfig(SourceConfig):
    """A FlashArray that is read over its REST interface."""

    host: str = Field(
        pattern=r"^[^/\s]+$",
        description="management name or address, with :port where it is not 443; no https://",
    )
    api_token: SecretStr = Field(description="API token of a readonly user")
    ca_file: Path | None = Field(
        default=None,
        description="PEM of the authority that signed the array's certificate; default: the system's",
    )
    verify_tls: bool = Field(
        default=True,
        description="false: accept any certificate; anybody in between can then read the token",
    )
    detail_every_seconds: float | None = Field(
        default=None,
        gt=0,
        description="seconds between reads of volumes, hosts, ports and path balance; default: three polls",
    )

    @property
    def detail_seconds(self) -> float:
        """Seconds between reads of volumes, hosts, ports and paths."""
        return self.detail_every_seconds or 3 * self.every_seconds
