"""An HTTPS session over aiohttp: certificates verified, no redirects, no cookies, bodies of bounded size."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from sanpath.plugin import ClientCertificate, CollectorError, Cost, Failure, HttpReply

if TYPE_CHECKING:
    import aiohttp

MAX_BODY_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 65_536


class AiohttpSession:
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
        max_body_bytes: int = MAX_BODY_BYTES,
        pinned_certificate: Path | None = None,
        client: ClientCertificate | None = None,
    ) -> None:
        self._base_url, self._cost = base_url.rstrip("/"), cost
        self._ca_file, self._verify_tls, self._client = ca_file, verify_tls, client
        self._pinned_certificate = pinned_certificate
        self._timeout_seconds, self._max_body_bytes = timeout_seconds, max_body_bytes
        self._session: aiohttp.ClientSession | None = None

    @property
    def _server(self) -> str:
        return urlsplit(self._base_url).netloc

    async def request(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpReply:
        """Send a request. Raises CollectorError: UNREACHABLE, MISCONFIGURED (certificate), UNREADABLE (too large)."""
        import aiohttp

        session = self._open()
        self._cost.requests += 1
        try:
            async with session.request(
                method,
                self._base_url + path,
                params=params,
                headers=headers,
                data=body,
                allow_redirects=False,
            ) as response:
                return HttpReply(
                    response.status,
                    {name.lower(): value for name, value in response.headers.items()},
                    await self._body(response),
                )
        except aiohttp.ServerFingerprintMismatch as error:
            mismatch = f"{self._server} presents a certificate other than pinned_certificate"
            raise CollectorError(Failure.MISCONFIGURED, f"{mismatch}: if it was replaced, pin the new one") from error
        except aiohttp.ClientConnectorCertificateError as error:
            raise self._untrusted(getattr(error.certificate_error, "verify_message", "")) from error
        except aiohttp.ClientSSLError as error:
            raise CollectorError(Failure.MISCONFIGURED, f"{self._server} refused the TLS connection") from error
        except TimeoutError as error:
            wait = f"{self._timeout_seconds:g} s"
            raise CollectorError(Failure.UNREACHABLE, f"{self._server} gave no answer in {wait}") from error
        except (aiohttp.ClientError, OSError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise CollectorError(Failure.UNREACHABLE, f"{self._server}: {reason}") from error

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=4, ssl=self._pin() or self._tls()),
                timeout=aiohttp.ClientTimeout(total=self._timeout_seconds),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _pin(self) -> aiohttp.Fingerprint | None:
        """Return the digest of the pinned certificate, None without one.

        It is compared by digest: as a trusted authority it could sign other certificates.
        """
        import aiohttp

        if (file := self._pinned_certificate) is None:
            return None
        try:
            certificate = ssl.PEM_cert_to_DER_cert(file.read_text(encoding="ascii").strip())
        except (OSError, ValueError) as error:
            message = f"pinned_certificate {file}: not a PEM file with one certificate"
            raise CollectorError(Failure.MISCONFIGURED, message) from error
        return aiohttp.Fingerprint(hashlib.sha256(certificate).digest())

    def _tls(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self._ca_file)
        except OSError as error:  # ssl.SSLError, FileNotFoundError and PermissionError alike
            raise CollectorError(Failure.MISCONFIGURED, f"ca_file {self._ca_file}: not a PEM file to read") from error
        # From Python 3.13 on every certificate must name the key of its authority. Self-signed certificates of
        # devices often do not (RFC 5280, section 4.2.1.1).
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not self._verify_tls:
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

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
            size += len(chunk)
            self._cost.bytes_in += len(chunk)
            if size > self._max_body_bytes:
                raise CollectorError(
                    Failure.UNREADABLE, f"{self._server} answered more than {self._max_body_bytes} bytes"
                )
            chunks.append(chunk)
        return b"".join(chunks)

    def _untrusted(self, reason: str) -> CollectorError:
        trusted = f"ca_file {self._ca_file}" if self._ca_file else "the system's authorities"
        return CollectorError(
            Failure.MISCONFIGURED,
            f"the certificate of {self._server} is not trusted by {trusted} ({reason or 'verification failed'}): "
            "set ca_file to the PEM of the authority that signed it",
        )
