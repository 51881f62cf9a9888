"""Certificates that are expired, of another host, self-signed or of a foreign authority.

Every client of HTTPS refuses them in one line that says why, before it has said anything.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typer.testing import CliRunner

from sanpath.cli import app
from tests.faults.proxies import LOOPBACK

CLIENTS = {
    "flasharray": {"host": "{address}", "api_token": "env:A_SECRET"},
    "flasharray_rest1": {"host": "{address}", "api_token": "env:A_SECRET"},
    "vsphere": {"host": "{address}", "user": "reader", "password": "env:A_SECRET"},
    "prometheus": {"url": "https://{address}", "bearer_token": "env:A_SECRET"},
}
WHY = {
    "expired": "certificate has expired",
    "another host": "IP address mismatch",
    "self-signed": "self-signed certificate",
    "foreign authority": "unable to get local issuer certificate",
}


def _certificate(
    name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: float
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    begin, end = now - datetime.timedelta(days=9), now + datetime.timedelta(days=days)
    return builder.not_valid_before(begin).not_valid_after(end)


class Authority:
    """Signs certificates. `file`: its own, PEM."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.file = folder / f"{name}.pem"
        own = _certificate(self._name, self._name, self._key.public_key(), 1)
        own = own.add_extension(x509.BasicConstraints(True, None), critical=True)
        self.file.write_bytes(own.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def signed(self, address: str = LOOPBACK, days: float = 1, by_itself: bool = False) -> Path:
        """A certificate for an address, and its key, in one file."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        called = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
        issuer, signing = (name, key) if by_itself else (self._name, self._key)
        builder = _certificate(name, issuer, key.public_key(), days).add_extension(called, critical=False)
        certificate = builder.sign(signing, hashes.SHA256())
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        file = self._folder / "server.pem"
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        file.write_bytes(secret + certificate.public_bytes(pem))
        return file


class Server:
    """Answers nothing over TLS. `heard`: what it was told behind the handshake."""

    def __init__(self, certificate: Path) -> None:
        self.heard = b""
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(certificate)
        self._socket = socket.create_server((LOOPBACK, 0))
        self.address = f"{LOOPBACK}:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with suppress(OSError), client, self._tls.wrap_socket(client, server_side=True) as secured:
                secured.settimeout(2)
                self.heard += secured.recv(65_536)

    def close(self) -> None:
        # A close alone would not wake who waits for a client.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "ours")


def checked(folder: Path, client: str, server: Server, authority: Authority) -> tuple[int, str]:
    """The exit code of `sanpath check`, and what it says of the one source."""
    keys = {key: value.format(address=server.address) for key, value in CLIENTS[client].items()}
    config = folder / "sanpath.yaml"
    config.write_text(
        yaml.safe_dump({"sources": [{"name": "it", "collector": client, "ca_file": str(authority.file), **keys}]})
    )
    result = CliRunner().invoke(app, ["check", "--config", str(config), "--format", "json"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    (reported,) = json.loads(result.stdout)["sources"]
    assert reported["answers"] is False
    return result.exit_code, reported["message"]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("kind", WHY)
def test_it_is_refused_in_one_line_before_anything_is_said(
    tmp_path: Path, ours: Authority, kind: str, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "a-secret-that-nobody-hears")
    (tmp_path / "foreign").mkdir()
    foreign = Authority(tmp_path / "foreign", "foreign")
    certificate = {
        "expired": lambda: ours.signed(days=-1),
        "another host": lambda: ours.signed("192.0.2.1"),
        "self-signed": lambda: ours.signed(by_itself=True),
        "foreign authority": lambda: foreign.signed(),
    }[kind]()
    server = Server(certificate)
    try:
        code, reported = checked(tmp_path, client, server, ours)
    finally:
        server.close()
    assert code != 0
    assert "\n" not in reported
    assert "certificate" in reported
    assert WHY[kind] in reported
    assert server.heard == b""


@pytest.mark.parametrize("client", CLIENTS)
def test_the_right_one_is_talked_to(
    tmp_path: Path, ours: Authority, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "a-secret")
    server = Server(ours.signed())
    try:
        checked(tmp_path, client, server, ours)
    finally:
        server.close()
    assert b"HTTP/1.1" in server.heard
