"""Sessions of the two protocols against devices that answer nonsense, too late, not at all, or not as themselves."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import socket
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import SecretStr
from pysnmp.proto.rfc1902 import OctetString, TimeTicks

from sanpath.plugin import CollectorError, Cost, Failure, SnmpCredentials
from sanpath.recording.writing.clock import RecorderClock
from sanpath.transport.http import HttpSession
from sanpath.transport.snmp.session import PysnmpSession
from sanpath_lab.switch.object_tree import ObjectTree
from sanpath_lab.switch.snmp_agent import SnmpAgent
from tests.faults.proxies import LOOPBACK, Address, Fault, TcpProxy, UdpProxy, standing_for, unused_port

SYS_NAME, SYS_UPTIME = "1.3.6.1.2.1.1.5.0", "1.3.6.1.2.1.1.3.0"


def snmp(address: Address, timeout_seconds: float = 0.3) -> PysnmpSession:
    who = SnmpCredentials(*address, SecretStr("public"), timeout_seconds, retries=0)
    return PysnmpSession(who, RecorderClock(), Cost())


def asked(scene: Callable[[UdpProxy], Coroutine[Any, Any, None]]) -> None:
    """Ask an agent behind a proxy; both are gone afterwards."""

    async def play() -> None:
        tree = ObjectTree({oid(SYS_NAME): lambda: OctetString("sw1"), oid(SYS_UPTIME): lambda: TimeTicks(100)})
        agent = SnmpAgent(tree, "public", lambda: None)
        try:
            with standing_for(UdpProxy, agent.address) as proxy:
                await scene(proxy)
        finally:
            agent.close()

    asyncio.run(play())


def oid(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


async def failure_of(session: PysnmpSession) -> Failure:
    with pytest.raises(CollectorError) as caught:
        await session.get([SYS_NAME])
    return caught.value.failure


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.GARBAGE, Fault.REFUSED])
def test_an_agent_that_fails_is_unreachable_and_answers_the_same_session_when_it_is_back(fault: Fault) -> None:
    async def scene(proxy: UdpProxy) -> None:
        session = snmp(proxy.address)
        assert await session.get([SYS_NAME]) == {SYS_NAME: b"sw1"}
        proxy.fail(fault)
        assert await failure_of(session) is Failure.UNREACHABLE
        proxy.fail(Fault.NONE)
        assert await session.get([SYS_NAME]) == {SYS_NAME: b"sw1"}
        await session.close()

    asked(scene)


def test_an_answer_that_is_too_late_is_not_taken_for_that_to_another_question() -> None:
    async def scene(proxy: UdpProxy) -> None:
        session = snmp(proxy.address)
        proxy.late_seconds = 0.6
        proxy.fail(Fault.LATE)
        assert await failure_of(session) is Failure.UNREACHABLE
        proxy.fail(Fault.NONE)
        for _ in range(30):
            assert await session.get([SYS_UPTIME]) == {SYS_UPTIME: 100}
            await asyncio.sleep(0.03)
        await session.close()

    asked(scene)


def test_one_agents_silence_costs_another_nothing() -> None:
    async def scene(proxy: UdpProxy) -> None:
        good, silent = snmp(proxy.address), snmp((LOOPBACK, unused_port(socket.SOCK_DGRAM)), timeout_seconds=30)
        waiting = asyncio.create_task(silent.get([SYS_NAME]))
        for _ in range(20):
            assert await good.get([SYS_NAME]) == {SYS_NAME: b"sw1"}
        waiting.cancel()
        await asyncio.wait([waiting])
        await silent.close()
        assert await good.get([SYS_NAME]) == {SYS_NAME: b"sw1"}
        await good.close()

    asked(scene)


class Server:
    """An HTTPS server on 127.0.0.1; its certificate is for `name` and ends `days` from now."""

    def __init__(self, folder: Path, name: x509.GeneralName, days: float = 1.0) -> None:
        self.ca_file, self._key_file = folder / "ca.pem", folder / "server.pem"
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "array")])
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=9))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([name]), critical=False)
            .add_extension(x509.BasicConstraints(True, None), critical=True)
            .sign(key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        own = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self.ca_file.write_bytes(certificate.public_bytes(pem))
        self._key_file.write_bytes(own + certificate.public_bytes(pem))

    async def start(self) -> Address:
        application = web.Application()
        application.router.add_get("/", self._hello)
        application.router.add_get("/half", self._half)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(self._key_file)
        await web.TCPSite(self._runner, LOOPBACK, 0, ssl_context=tls).start()
        host, port = self._runner.addresses[0]
        return host, port

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _hello(self, _: web.Request) -> web.Response:
        return web.Response(body=b"hello")

    async def _half(self, request: web.Request) -> web.StreamResponse:
        """Announces more than it sends, and waits."""
        answer = web.StreamResponse(headers={"Content-Length": "1000"})
        await answer.prepare(request)
        await answer.write(b"x" * 500)
        await asyncio.sleep(3600)
        return answer


LOOPBACK_NAME = x509.IPAddress(ipaddress.ip_address(LOOPBACK))


def https(server: Server, scene: Callable[[Address], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        address = await server.start()
        try:
            await scene(address)
        finally:
            await server.stop()

    asyncio.run(play())


def session(server: Server, address: Address, timeout_seconds: float = 2.0) -> HttpSession:
    return HttpSession(f"https://{address[0]}:{address[1]}", Cost(), server.ca_file, timeout_seconds=timeout_seconds)


@pytest.mark.parametrize(
    ("name", "days", "words"),
    [
        (x509.DNSName("another-array.example"), 1.0, "IP address mismatch"),
        (LOOPBACK_NAME, -1.0, "expired"),
    ],
)
def test_a_certificate_of_another_or_of_yesterday_is_a_mistake_and_says_why(
    tmp_path: Path, name: x509.GeneralName, days: float, words: str
) -> None:
    server = Server(tmp_path, name, days)

    async def scene(address: Address) -> None:
        asking = session(server, address)
        with pytest.raises(CollectorError) as caught:
            await asking.request("GET", "/")
        assert caught.value.failure is Failure.MISCONFIGURED
        assert words in str(caught.value)
        await asking.close()

    https(server, scene)


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (Fault.SILENT, Failure.UNREACHABLE),
        (Fault.REFUSED, Failure.UNREACHABLE),
        (Fault.GARBAGE, Failure.MISCONFIGURED),  # no TLS at all; the recorder asks again what has answered before
    ],
)
def test_a_server_that_fails_between_requests_answers_the_same_session_when_it_is_back(
    tmp_path: Path, fault: Fault, failure: Failure
) -> None:
    server = Server(tmp_path, LOOPBACK_NAME)

    async def scene(address: Address) -> None:
        with standing_for(TcpProxy, address) as proxy:
            asking = session(server, proxy.address, timeout_seconds=1.0)
            assert (await asking.request("GET", "/")).body == b"hello"
            proxy.fail(fault)
            with pytest.raises(CollectorError) as caught:
                await asking.request("GET", "/")
            assert caught.value.failure is failure
            proxy.fail(Fault.NONE)
            assert (await asking.request("GET", "/")).body == b"hello"
            await asking.close()

    https(server, scene)


def test_a_reset_in_the_middle_of_an_answer_is_unreachable_and_half_an_answer_is_none(tmp_path: Path) -> None:
    server = Server(tmp_path, LOOPBACK_NAME)

    async def scene(address: Address) -> None:
        with standing_for(TcpProxy, address) as proxy:
            asking = session(server, proxy.address, timeout_seconds=20.0)
            half = asyncio.create_task(asking.request("GET", "/half"))
            await asyncio.sleep(0.5)
            assert not half.done()
            proxy.fail(Fault.REFUSED)
            with pytest.raises(CollectorError) as caught:
                await half
            assert caught.value.failure is Failure.UNREACHABLE
            await asking.close()

    https(server, scene)
