"""The configuration of a Kubernetes cluster in sanpath.yaml."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from sanpath.plugin import SecretStr, SourceConfig, verify_tls_field

_POD = re.compile(r"[a-z0-9-]+/[a-z0-9.*-]+(/[a-z0-9.-]+)?")


class KubernetesConfig(SourceConfig):
    """A cluster that is read over the API of its control plane."""

    loads: dict[str, str] = Field(
        min_length=1,
        description=(
            "load → its pod, as NAMESPACE/POD, or NAMESPACE/POD/CLAIM if it uses one claim of several; "
            "* stands for what a Job or Deployment appends"
        ),
        examples=[{"fio": "perf/fio-*"}],
    )
    address: str = Field(
        default="kubernetes.default.svc",
        pattern=r"^[^/\s]+$",
        description="name or address of the API server, with :port where it is not 443; no https://",
        examples=["k8s.example.com:6443"],
    )
    token: SecretStr | None = Field(default=None, description="token of a service account with the rights below")
    token_file: Path | None = Field(
        default=None,
        description="file with the token, read again when it has expired; default: that of sanpath's own pod",
    )
    ca_file: Path | None = Field(
        default=None,
        description="PEM of the cluster's authority; default: that of sanpath's own pod, else the system's",
    )
    client_certificate: Path | None = Field(
        default=None, description="PEM of a client certificate, in place of a token"
    )
    client_key: Path | None = Field(
        default=None, description="PEM of its key, without a passphrase; default: in client_certificate"
    )
    verify_tls: bool = verify_tls_field("token")
    arrays: dict[str, str] = Field(
        default={},
        description=(
            "CSI driver or storage class → name of the source that reads its array, for volumes that have only "
            "their name in common with it"
        ),
        examples=[{"pure-csi": "fa1"}],
    )
    every_seconds: float = Field(default=30.0, gt=0, description="seconds between reads of the pods")

    @field_validator("loads")
    @classmethod
    def _are_pods(cls, loads: dict[str, str]) -> dict[str, str]:
        for load, pod in loads.items():
            if not _POD.fullmatch(pod):
                raise PydanticCustomError("pod", f"write {load}: NAMESPACE/POD, such as perf/fio-0")
        return loads

    @model_validator(mode="after")
    def _check_access(self) -> KubernetesConfig:
        if sum(value is not None for value in (self.token, self.token_file, self.client_certificate)) > 1:
            raise PydanticCustomError("access", "give one of token, token_file and client_certificate")
        if self.client_key is not None and self.client_certificate is None:
            raise PydanticCustomError("client_key", "client_key is for a client_certificate: give it as well")
        return self
