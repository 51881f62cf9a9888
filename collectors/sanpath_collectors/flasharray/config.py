"""The configuration of a FlashArray."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from sanpath.plugin import SecretStr, SourceConfig, ca_file_field, verify_tls_field


class FlashArrayConfig(SourceConfig):
    """A FlashArray that is read over its REST interface."""

    host: str = Field(
        pattern=r"^[^/\s]+$",
        description="management name or address, with :port where it is not 443; no https://",
    )
    api_token: SecretStr = Field(description="API token of a readonly user")
    ca_file: Path | None = ca_file_field("the array's")
    verify_tls: bool = verify_tls_field("token")
    detail_every_seconds: float | None = Field(
        default=None,
        gt=0,
        description="seconds between reads of volumes, hosts, ports and path balance; default: three polls",
    )

    @property
    def detail_seconds(self) -> float:
        """Seconds between reads of volumes, hosts, ports and paths."""
        return self.detail_every_seconds or 3 * self.every_seconds
