"""The configuration of a source: the keys that every source in sanpath.yaml has."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sanpath.extras import Extra

_REQUEST_SECONDS = 5.0
"""Long enough for a login: a source polled every second would have only 0.8 s for it."""
_LATE_SECONDS = 3.0
"""Long enough for a busy device, or for an answer that was lost and requested again: sanpath's own choice."""


class SourceConfig(BaseModel):
    """Base of every collector's configuration: frozen, unknown keys refused, secrets are `SecretStr`.

    `sanpath init` writes required keys into its example, and optional ones commented out. An optional key with
    `examples` is written with the first example: use this where one of several keys has to be given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, description="name of the source; used in every name and report")
    collector: str = Field(description="which collector reads it")
    every_seconds: float = Field(default=10.0, gt=0, description="seconds between polls")
    timeout_seconds: float | None = Field(
        default=None, gt=0, description="most that one poll may take; default: 0.8 of every_seconds, at least 3"
    )

    @property
    def extras(self) -> tuple[Extra, ...]:
        """The extras that this source needs besides its collector's own, such as SSH."""
        return ()

    @property
    def budget_seconds(self) -> float:
        """How long a poll may take without delaying the next one."""
        return self.timeout_seconds or 0.8 * self.every_seconds

    @property
    def deadline_seconds(self) -> float:
        """The time after which the recorder ends a poll. A late answer makes one long window, a missing one a gap."""
        return self.timeout_seconds or max(_LATE_SECONDS, self.budget_seconds)

    @property
    def request_seconds(self) -> float:
        """The deadline of one request: as long as a poll may take, and at least long enough for a login."""
        return max(_REQUEST_SECONDS, self.budget_seconds)


def ca_file_field(owner: str) -> Any:
    """The field `ca_file: Path | None`. `owner`: whose certificate it verifies, as in "the switch's"."""
    return Field(
        default=None, description=f"PEM of the authority that signed {owner} certificate; default: the system's"
    )


def verify_tls_field(secret: str) -> Any:
    """The field `verify_tls: bool`. `secret`: what the source sends, as in "password"."""
    return Field(
        default=True,
        description=f"false: accept any certificate; anybody in between can then read the {secret}",
    )
