"""The ways into a server: bearer token, basic authentication, tenant, and a client certificate (mutual TLS)."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import ValidationError

from sanpath.plugin import Check, CollectorError, Cost, Failure, Rows
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.prometheus.collector import Prometheus
from sanpath_collectors.prometheus.config import PrometheusConfig
from tests.collectors.prometheus.stand_in import StandIn, disks


def config(**keys: Any) -> PrometheusConfig:
    return PrometheusConfig.model_validate({"name": "prom", "collector": "prometheus", **keys})


def check(**keys: Any) -> Check:
    async def run() -> Check:
        collector = Prometheus(config(**keys))
        context = LiveContext(RecorderClock(), Cost())
        try:
            await collector.open(context)
            return await collector.check(context)
        finally:
            await collector.close()

    return asyncio.run(run())


@dataclass
class Certificates:
    authority: Path
    server: Path
    client: Path
    key: Path
    locked: Path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority, and a server and a client that it vouches for."""
    folder = tmp_path_factory.mktemp("tls")
    own = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    pem = serialization.Encoding.PEM

    def certificate(name: str, key: ec.EllipticCurvePublicKey, *more: x509.ExtensionType) -> bytes:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - day).not_valid_after(now + day)
        for extension in more:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(own, hashes.SHA256()).public_bytes(pem)

    def private(key: ec.EllipticCurvePrivateKey, secret: bytes | None = None) -> bytes:
        lock = serialization.BestAvailableEncryption(secret) if secret else serialization.NoEncryption()
        return key.private_bytes(pem, serialization.PrivateFormat.PKCS8, lock)

    server, client = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    loopback = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    files = Certificates(*(folder / f"{name}.pem" for name in ("authority", "server", "client", "key", "locked")))
    files.authority.write_bytes(certificate("authority", own.public_key(), x509.BasicConstraints(True, None)))
    files.server.write_bytes(private(server) + certificate("server", server.public_key(), loopback))
    files.client.write_bytes(certificate("monitor", client.public_key()))
    files.key.write_bytes(private(client))
    files.locked.write_bytes(private(client, b"secret"))
    return files


@pytest.fixture
def guarded(certificates: Certificates) -> ssl.SSLContext:
    """TLS of a server that asks for a client certificate."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates.authority)
    tls.load_cert_chain(certificates.server)
    tls.verify_mode = ssl.CERT_REQUIRED
    return tls


def test_a_client_certificate_opens_a_server_that_asks_for_one(
    certificates: Certificates, guarded: ssl.SSLContext
) -> None:
    files = {"ca_file": certificates.authority, "client_certificate": certificates.client}
    with StandIn(disks("db7:9100", 1), tls=guarded) as server:
        found = check(url=server.url, client_key=certificates.key, **files)
        assert found.identity.endswith("node_exporter")
        with pytest.raises(CollectorError):
            check(url=server.url, ca_file=certificates.authority)


@pytest.mark.parametrize(
    ("certificate", "key", "reports"),
    [
        ("client", "locked", "has a passphrase"),
        ("client", None, "no certificate with its key"),
        ("key", "key", "PEM"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_told(
    certificates: Certificates, guarded: ssl.SSLContext, certificate: str, key: str | None, reports: str
) -> None:
    files: dict[str, Path] = {"ca_file": certificates.authority}
    files["client_certificate"] = getattr(certificates, certificate)
    files |= {"client_key": getattr(certificates, key)} if key else {}
    with StandIn(disks("db7:9100", 1), tls=guarded) as server, pytest.raises(CollectorError, match=reports) as caught:
        check(url=server.url, **files)
    assert caught.value.failure is Failure.MISCONFIGURED


@pytest.mark.parametrize(
    ("keys", "headers"),
    [
        ({"bearer_token": "T-9"}, {"Authorization": "Bearer T-9"}),
        ({"user": "reader", "password": "p:w"}, {"Authorization": "Basic cmVhZGVyOnA6dw=="}),
        ({"tenant": "storage"}, {"X-Scope-OrgID": "storage"}),
    ],
)
def test_credentials_go_where_the_server_looks_for_them(keys: dict[str, str], headers: dict[str, str]) -> None:
    with StandIn(disks("db7:9100", 1), headers=headers) as server:
        assert check(url=server.url, **keys).unreadable == ()
        with pytest.raises(CollectorError) as caught:
            check(url=server.url)
    assert caught.value.failure is Failure.REFUSED


def test_credentials_in_the_clear_are_told() -> None:
    assert config(url="http://prometheus.example.com", bearer_token="T-9").sends_secrets_unencrypted
    assert not config(url="https://prometheus.example.com", bearer_token="T-9").sends_secrets_unencrypted
    assert not config(url="http://127.0.0.1:9090", bearer_token="T-9").sends_secrets_unencrypted


@pytest.mark.parametrize(
    ("keys", "reports"),
    [
        ({"url": "prometheus:9090"}, "write an address as"),
        ({"url": "https://me:secret@prometheus"}, "no account in the address"),
        ({"url": "https://prometheus", "user": "me"}, "go together"),
        ({"url": "https://prometheus", "user": "me", "password": "x", "bearer_token": "y"}, "either"),
        ({"url": "https://prometheus", "client_key": "key.pem"}, "client_certificate"),
    ],
)
def test_a_mistake_in_the_configuration_is_told(keys: dict[str, str], reports: str) -> None:
    with pytest.raises(ValidationError, match=reports) as caught:
        config(**keys)
    assert "secret@" not in caught.value.errors(include_input=False)[0]["msg"]


def test_an_address_may_have_a_path_and_the_api_in_it() -> None:
    assert config(url="https://mimir.example.com/prometheus/api/v1/").url == "https://mimir.example.com/prometheus"


def test_samples_have_the_time_of_the_recorder_though_the_clock_of_the_server_is_off() -> None:
    async def run(url: str) -> list[Rows]:
        collector = Prometheus(config(url=url))
        context = LiveContext(RecorderClock(), Cost())
        await collector.open(context)
        _ = [item async for item in collector.inventory(context)]
        items = [item async for item in collector.poll(context)]
        await collector.close()
        return [item for item in items if isinstance(item, Rows)]

    before = RecorderClock().now_us()
    with StandIn(disks("db7:9100", 1)) as server:  # its clock stands still in 2023
        rows = asyncio.run(run(server.url))
    assert rows
    for one in rows:
        assert one.device_time is not None
        assert max(one.device_time) <= 1_700_000_000_000_000
        assert all(before - 61_000_000 <= seen <= RecorderClock().now_us() for seen in one.seen)
