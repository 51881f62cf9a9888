"""HttpSession against a TLS server on this machine whose authority is made here."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import re
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sanpath.plugin import CollectorError, Cost, Failure, HttpReply
from sanpath.transport.http import HttpSession

T = TypeVar("T")
Session = Callable[..., HttpSession]


class Authority:
    """A certificate authority with one server certificate for 127.0.0.1."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file, self.server_file = folder / f"{name}.pem", folder / f"{name}-server.pem"
        own, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        loopback = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        root = _certificate(subject, subject, own.public_key(), x509.BasicConstraints(True, None)).sign(
            own, hashes.SHA256()
        )
        leaf = _certificate(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "array")]),
            subject,
            server.public_key(),
            loopback,
        ).sign(own, hashes.SHA256())
        pem = serialization.Encoding.PEM
        key = server.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self.file.write_bytes(root.public_bytes(pem))
        self.server_file.write_bytes(key + leaf.public_bytes(pem))


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, extension: x509.ExtensionType
) -> x509.CertificateBuilder:
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    )


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "our-ca")


async def _echo(request: web.Request) -> web.Response:
    reported = {
        "method": request.method,
        "query": dict(request.query),
        "token": request.headers.get("x-auth-token"),
    }
    return web.json_response(reported, headers={"X-Seen": "yes", "Set-Cookie": "a=b"})


async def _redirect(_: web.Request) -> web.Response:
    raise web.HTTPFound("/echo")


async def _large(_: web.Request) -> web.Response:
    return web.Response(body=b"x" * 100_000)


async def _long(request: web.Request) -> web.StreamResponse:
    """Ends with the connection: its length is not announced."""
    response = web.StreamResponse()
    response.force_close()
    await response.prepare(request)
    for number in range(80):
        await response.write(bytes([number]) * 100_000)
    return response


async def _hang(_: web.Request) -> web.Response:
    await asyncio.sleep(3600)
    return web.Response()


def with_server(authority: Authority, question: Callable[[str], Awaitable[T]]) -> T:
    """Run a server for the time of one question, which gets its base URL."""

    async def run() -> T:
        application = web.Application()
        for path, handler in {
            "/echo": _echo,
            "/redirect": _redirect,
            "/large": _large,
            "/long": _long,
            "/hang": _hang,
        }.items():
            application.router.add_route("*", path, handler)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(authority.server_file)
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        try:
            return await question(f"https://127.0.0.1:{runner.addresses[0][1]}")
        finally:
            await runner.cleanup()

    return asyncio.run(run())


def ask(authority: Authority, path: str = "/echo", **settings: object) -> tuple[HttpReply, Cost]:
    """GET one path from the server of `authority` with a session of these settings."""

    async def question(base_url: str) -> tuple[HttpReply, Cost]:
        cost = Cost()
        session = HttpSession(base_url, cost, **settings)  # type: ignore[arg-type]
        try:
            return await session.request("GET", path, {"limit": "1"}, {"x-auth-token": "t"}), cost
        finally:
            await session.close()

    return with_server(authority, question)


def failure(authority: Authority, path: str = "/echo", **settings: object) -> CollectorError:
    with pytest.raises(CollectorError) as caught:
        ask(authority, path, **settings)
    return caught.value


def test_a_server_of_the_given_authority_answers(authority: Authority) -> None:
    reply, cost = ask(authority, ca_file=authority.file)
    assert reply.status == 200
    assert reply.body == b'{"method": "GET", "query": {"limit": "1"}, "token": "t"}'
    assert reply.headers["x-seen"] == "yes"
    assert (cost.requests, cost.bytes_in) == (1, len(reply.body))


def test_another_authority_is_a_mistake_that_names_ca_file(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other-ca")
    error = failure(authority, ca_file=other.file)
    assert error.failure is Failure.MISCONFIGURED
    assert "ca_file" in str(error)
    assert str(other.file) in str(error)
    assert "\n" not in str(error)


def test_the_system_does_not_vouch_for_a_self_made_authority(authority: Authority) -> None:
    error = failure(authority)
    assert error.failure is Failure.MISCONFIGURED
    assert "ca_file" in str(error)


def test_verification_is_off_only_when_asked(authority: Authority) -> None:
    assert ask(authority, verify_tls=False)[0].status == 200


def test_a_ca_file_that_is_none_is_a_mistake(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "text.pem").write_text("no certificate")
    for name in ("missing.pem", "text.pem"):
        error = failure(authority, ca_file=tmp_path / name)
        assert error.failure is Failure.MISCONFIGURED
        assert name in str(error)


def test_a_pinned_certificate_is_the_only_one_accepted(authority: Authority, tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    own.write_text(re.sub(r"(?s).*?(?=-----BEGIN CERTIFICATE)", "", authority.server_file.read_text(), count=1))
    assert ask(authority, pinned_certificate=own)[0].status == 200
    # The authority that signed it is another certificate: it could sign more of them.
    for file in (authority.file, Authority(tmp_path, "other-ca").file):
        error = failure(authority, pinned_certificate=file)
        assert error.failure is Failure.MISCONFIGURED
        assert "pinned_certificate" in str(error)
    assert failure(authority, pinned_certificate=tmp_path / "missing.pem").failure is Failure.MISCONFIGURED


def test_redirects_are_not_followed(authority: Authority) -> None:
    assert ask(authority, "/redirect", ca_file=authority.file)[0].status == 302


def test_a_body_beyond_the_limit_is_unreadable(authority: Authority) -> None:
    assert len(ask(authority, "/large", ca_file=authority.file, max_body_bytes=100_000)[0].body) == 100_000
    error = failure(authority, "/large", ca_file=authority.file, max_body_bytes=99_999)
    assert error.failure is Failure.UNREADABLE


def test_a_long_body_arrives_whole(authority: Authority) -> None:
    body = ask(authority, "/long", ca_file=authority.file)[0].body
    assert body == b"".join(bytes([number]) * 100_000 for number in range(80))


def test_a_server_that_does_not_answer_is_unreachable(authority: Authority) -> None:
    error = failure(authority, "/hang", ca_file=authority.file, timeout_seconds=0.3)
    assert error.failure is Failure.UNREACHABLE
    assert "0.3 s" in str(error)


def test_a_port_without_tls_and_other_failures_of_tls_are_told_apart() -> None:
    async def answer(answered: bytes) -> str:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(answered)
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            session = HttpSession(f"https://127.0.0.1:{port}", Cost())
            with pytest.raises(CollectorError) as caught:
                await session.request("GET", "/")
            return str(caught.value).replace(f":{port}", "")

    plain = asyncio.run(answer(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    assert plain == "127.0.0.1 does not speak TLS on this port: look for another port"
    alert = asyncio.run(answer(b"\x15\x03\x03\x00\x02\x02\x28"))  # fatal, handshake_failure
    assert re.fullmatch(r"127\.0\.0\.1 refused the TLS connection: .*handshake failure", alert)


def test_a_port_where_nobody_listens_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def run() -> None:
        session = HttpSession(f"https://127.0.0.1:{port}", Cost())
        try:
            await session.request("GET", "/")
        finally:
            await session.close()

    with pytest.raises(CollectorError, match=rf"^127\.0\.0\.1:{port}: Connection refused$") as caught:
        asyncio.run(run())
    assert caught.value.failure is Failure.UNREACHABLE
