"""An HTTPS session: certificates verified, no redirects, cookies or proxies, answers of bounded size and time."""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from collections.abc import Mapping
from hmac import compare_digest
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode, urlsplit

from sanpath.plugin import ClientCertificate, CollectorError, Cost, Failure, HttpReply
from sanpath.transport.http_body import Body
from sanpath.transport.http_connection import HttpConnection, ProtocolError

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_CONNECTIONS = 4
_IDLE_SECONDS = 15.0
"""How long an unused connection is kept; most servers keep theirs longer."""
_REPEATABLE = ("GET", "DELETE")
"""Methods that are repeated if the server had just closed an idle connection; a POST could count twice."""
_PATH_SAFE, _QUERY_SAFE = "/?:@!$&'()*+,;=%", "/?:@!$'()*,"


class HttpSession:
    """`plugin.Http` for one server. `base_url` is scheme and authority; the first request connects.

    `ca_file`: the only authorities to trust, PEM; None: those of the system. `timeout_seconds` is for one request.
    `pinned_certificate`: the only certificate to accept, PEM; its host name is not checked. `client`: the certificate
    to present to a server that asks for one.
    """

    def __init__(
        self,
        base_url: str,
        cost: Cost,
        ca_file: Path | None = None,
        verify_tls: bool = True,
        timeout_seconds: float = 5.0,
        pinned_certificate: Path | None = None,
        client: ClientCertificate | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._base, self._cost = urlsplit(base_url.rstrip("/")), cost
        self._server = self._base.netloc
        self._ca_file, self._verify_tls, self._client = ca_file, verify_tls, client
        self._pinned_certificate = pinned_certificate
        self._timeout_seconds, self._max_body_bytes = timeout_seconds, max_body_bytes
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._connections: list[HttpConnection] = []
        self._tls: ssl.SSLContext | None = None
        self._connected = False
        self._pin: bytes | None = None

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        """Send a request. Raises CollectorError: UNREACHABLE, MISCONFIGURED (certificate), UNREADABLE (too large)."""
        self._cost.requests += 1
        connected_before = self._connected
        try:
            target = self._target(path, params)
            fields = self._fields(method, headers or {}, body)
            async with asyncio.timeout(self._timeout_seconds), self._slots:
                return await self._exchange(method, target, fields, body or b"")
        except ssl.SSLCertVerificationError as error:
            raise self._untrusted(error.verify_message) from error
        except ssl.SSLError as error:
            raise CollectorError(Failure.MISCONFIGURED, f"{self._server} {_tls_failure(error)}") from error
        except TimeoutError as error:
            wait = f"{self._timeout_seconds:g} s"
            if not connected_before and not self._connected:
                cause = ConnectionError("no connection")  # Nothing was requested.
                raise CollectorError(Failure.UNREACHABLE, f"{self._server} cannot be reached in {wait}") from cause
            raise CollectorError(Failure.UNREACHABLE, f"{self._server} gave no answer in {wait}") from error
        except ProtocolError as error:
            raise CollectorError(Failure.UNREACHABLE, f"{self._server} {error}") from error
        except OSError as error:
            raise CollectorError(Failure.UNREACHABLE, f"{self._server}: {_connection_failure(error)}") from error
        except ValueError:  # without its text and cause, which may quote a secret
            mistake = f"{self._server}: an address, path or header that cannot be sent"
            raise CollectorError(Failure.MISCONFIGURED, mistake) from None

    async def close(self) -> None:
        """Close the connections; a request in progress fails with UNREACHABLE."""
        for connection in self._connections:
            connection.abort()
        self._connections.clear()
        await asyncio.sleep(0)  # asyncio closes their sockets now

    async def _exchange(
        self, method: str, target: bytes, fields: list[tuple[bytes, bytes]], body: bytes
    ) -> HttpReply:
        if (connection := self._idle_connection()) is not None:
            try:
                return await self._send_and_read(connection, method, target, fields, body)
            except (ProtocolError, OSError):
                if connection.answered or method not in _REPEATABLE:
                    raise
        return await self._send_and_read(await self._connect(), method, target, fields, body)

    async def _send_and_read(
        self, connection: HttpConnection, method: str, target: bytes, fields: list[tuple[bytes, bytes]], body: bytes
    ) -> HttpReply:
        try:
            response = await connection.send(method, target, fields, body)
            headers = {_text(name): _text(value) for name, value in response.headers}
            encoding = headers.get("content-encoding", "").lower()
            content = Body(self._server, encoding, self._max_body_bytes, self._cost)
            async for part in connection.body():
                content.take(part)
            return HttpReply(response.status_code, headers, content.whole())
        finally:
            if connection.is_busy:  # an answer was not read to its end
                self._drop(connection)

    def _idle_connection(self) -> HttpConnection | None:
        for connection in reversed(self._connections):
            if connection.is_fresh(_IDLE_SECONDS):
                return connection
            if not connection.is_busy:
                self._drop(connection)
        return None

    def _drop(self, connection: HttpConnection) -> None:
        connection.abort()
        if connection in self._connections:  # `close` may have been called first
            self._connections.remove(connection)

    async def _connect(self) -> HttpConnection:
        secure = self._base.scheme != "http"
        if secure and self._tls is None:
            self._pin = self._pinned_digest()
            self._tls = self._tls_context()
        port = self._base.port or (443 if secure else 80)
        connection = await HttpConnection.open(self._base.hostname or "", port, self._tls)
        self._connected = True
        if self._pin is not None and not compare_digest(self._pin, hashlib.sha256(connection.certificate).digest()):
            connection.abort()
            mismatch = f"{self._server} presents a certificate other than pinned_certificate"
            raise CollectorError(Failure.MISCONFIGURED, f"{mismatch}: if it was replaced, pin the new one")
        self._connections.append(connection)
        return connection

    def _target(self, path: str, params: Mapping[str, str] | None) -> bytes:
        target = quote(f"{self._base.path}{path}" or "/", safe=_PATH_SAFE)
        if params:
            target += ("&" if "?" in target else "?") + urlencode(params, safe=_QUERY_SAFE)
        return target.encode("ascii")

    def _fields(self, method: str, headers: Mapping[str, str], body: bytes | None) -> list[tuple[bytes, bytes]]:
        host = self._server if self._server.isascii() else self._server.encode("idna").decode("ascii")
        fields = {"Host": host, "Accept": "*/*", "Accept-Encoding": "gzip", "User-Agent": "sanpath"}
        if body is not None or method == "POST":
            fields["Content-Length"] = str(len(body or b""))
        if body is not None:
            fields["Content-Type"] = "application/octet-stream"
        given = {name.lower() for name in headers}
        fields = {name: value for name, value in fields.items() if name.lower() not in given} | dict(headers)
        return [(name.encode(), value.strip().encode("utf-8", "surrogateescape")) for name, value in fields.items()]

    def _pinned_digest(self) -> bytes | None:
        """Return the digest of the pinned certificate, None without one.

        Digests are compared, because as a trusted authority the certificate could sign others.
        """
        if (file := self._pinned_certificate) is None:
            return None
        try:
            certificate = ssl.PEM_cert_to_DER_cert(file.read_text(encoding="ascii").strip())
        except (OSError, ValueError) as error:
            message = f"pinned_certificate {file}: not a PEM file with one certificate"
            raise CollectorError(Failure.MISCONFIGURED, message) from error
        return hashlib.sha256(certificate).digest()

    def _tls_context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self._ca_file)
        except OSError as error:  # ssl.SSLError, FileNotFoundError and PermissionError
            raise CollectorError(Failure.MISCONFIGURED, f"ca_file {self._ca_file}: not a PEM file to read") from error
        # From Python 3.13 on every certificate must name the key of its authority, which self-signed certificates of
        # devices often do not do (RFC 5280, section 4.2.1.1).
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self._pin is not None or not self._verify_tls:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self._client is not None:
            self._load_client_certificate(context, self._client)
        return context

    @staticmethod
    def _load_client_certificate(context: ssl.SSLContext, client: ClientCertificate) -> None:
        def refuse() -> str:
            # Without this, OpenSSL asks on the terminal.
            raise CollectorError(
                Failure.MISCONFIGURED, f"the key of {client.certificate} has a passphrase: give one without"
            )

        try:
            context.load_cert_chain(client.certificate, client.key, refuse)
        except OSError as error:
            files = " and ".join(str(path) for path in (client.certificate, client.key) if path is not None)
            raise CollectorError(
                Failure.MISCONFIGURED, f"{files}: no certificate with its key, as PEM, to read"
            ) from error

    def _untrusted(self, reason: str) -> CollectorError:
        trusted = f"ca_file {self._ca_file}" if self._ca_file else "the system's authorities"
        return CollectorError(
            Failure.MISCONFIGURED,
            f"the certificate of {self._server} is not trusted by {trusted} ({reason or 'verification failed'}): "
            "set ca_file to the PEM of the authority that signed it",
        )


def _connection_failure(error: OSError) -> str:
    """The reason in the words of the system: asyncio's contain calls and addresses."""
    if (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    if str(error).startswith("Multiple exceptions"):
        return "no connection to any of its addresses"
    return error.strerror or str(error) or type(error).__name__


def _tls_failure(error: ssl.SSLError) -> str:
    """The message about a failed handshake."""
    if error.reason == "WRONG_VERSION_NUMBER":
        return "does not speak TLS on this port: look for another port"
    reason = (error.reason or "").replace("_", " ").lower()
    return "refused the TLS connection" + (f": {reason}" if reason else "")


def _text(value: bytes) -> str:
    """Decode any bytes so that, in a header of the next request, they become the same bytes again."""
    return value.decode("utf-8", "surrogateescape")
