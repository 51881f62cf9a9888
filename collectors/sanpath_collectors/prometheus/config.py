"""The configuration of a Prometheus-compatible server in sanpath.yaml."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from sanpath.plugin import ClientCertificate, SecretStr, SourceConfig, ca_file_field, verify_tls_field


class PrometheusConfig(SourceConfig):
    """A server that answers the HTTP API of Prometheus."""

    url: str = Field(
        description="address of the server, with the path before /api/v1 where there is one",
        examples=["https://prometheus.example.com"],
    )
    profiles: list[str] | None = Field(
        default=None,
        min_length=1,
        description="which exporters to read, as node_exporter; default: all that the server has and sanpath knows",
    )
    match: str | None = Field(
        default=None,
        min_length=1,
        description="label matchers that narrow down what is read",
        examples=['instance=~"db7:.*"'],
    )
    bearer_token: SecretStr | None = Field(default=None, description="token of an account that may query")
    user: str | None = Field(default=None, min_length=1, description="account for basic authentication")
    password: SecretStr | None = Field(default=None, description="its password")
    tenant: str | None = Field(
        default=None, min_length=1, description="tenant of a shared server, sent as X-Scope-OrgID (Mimir)"
    )
    ca_file: Path | None = ca_file_field("the server's")
    client_certificate: Path | None = Field(
        default=None, description="PEM of the certificate to show to a server that asks for one"
    )
    client_key: Path | None = Field(
        default=None, description="PEM of its key, without a passphrase; default: in client_certificate"
    )
    verify_tls: bool = verify_tls_field("credentials")
    step_seconds: float = Field(
        default=60.0,
        gt=0,
        description="length of the shortest load step; what is scraped too rarely for it is reported",
    )
    every_seconds: float = Field(default=15.0, gt=0, description="seconds between polls")

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        try:
            address = urlsplit(url)
            is_complete = address.scheme in ("http", "https") and address.hostname and address.port != 0
        except ValueError:
            is_complete = False
        if not is_complete or address.query or address.fragment:
            raise PydanticCustomError("url", "write an address as https://prometheus.example.com:9090")
        if address.username is not None or address.password is not None:
            raise PydanticCustomError("url_secret", "no account in the address: give user and password")
        return url.rstrip("/").removesuffix("/api/v1")

    @model_validator(mode="after")
    def _check_access(self) -> PrometheusConfig:
        if (self.user is None) != (self.password is None):
            raise PydanticCustomError("basic", "user and password go together")
        if self.bearer_token is not None and self.user is not None:
            raise PydanticCustomError("two_ways", "give either bearer_token or user and password")
        if self.client_key is not None and self.client_certificate is None:
            raise PydanticCustomError("client_key", "client_key is for a client_certificate: give it as well")
        return self

    @property
    def client(self) -> ClientCertificate | None:
        """The client certificate to present; None: none is configured."""
        return (
            None if self.client_certificate is None else ClientCertificate(self.client_certificate, self.client_key)
        )

    @property
    def sends_secrets_unencrypted(self) -> bool:
        """Whether credentials are sent unencrypted over the network."""
        secret = self.bearer_token is not None or self.password is not None
        address = urlsplit(self.url)
        return secret and address.scheme == "http" and address.hostname not in ("127.0.0.1", "::1", "localhost")
