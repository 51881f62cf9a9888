"""A client of a Prometheus-compatible server: queries, names of series, its clock, and the meaning of its errors."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import urlsplit

from sanpath.plugin import CollectorError, Context, Failure, Http, HttpReply, excerpt
from sanpath_collectors.prometheus import parse
from sanpath_collectors.prometheus.config import PrometheusConfig
from sanpath_collectors.prometheus.parse import Answer

_TOO_MANY_PHRASES = ("too many samples", "too many points", "limit", "more than")
"""Phrases in error messages for a query that is too large: of Prometheus' --query.max-samples, and of the limits of
Mimir, Thanos and VictoriaMetrics."""


class TooManySamplesError(CollectorError):
    """The answer exceeds a limit of the server or of this client: query a shorter time range."""


class Api:
    """One server. `timeout_seconds` is for one request."""

    def __init__(self, ctx: Context, config: PrometheusConfig, timeout_seconds: float) -> None:
        url = urlsplit(config.url)
        self._server, self._path = url.netloc, f"{url.path.rstrip('/')}/api/v1"
        self._http: Http = ctx.http(
            f"{url.scheme}://{url.netloc}",
            config.ca_file,
            config.verify_tls,
            timeout_seconds,
            client=config.client,
        )
        self._headers = _headers(config)

    async def query(self, expression: str, at_us: int | None = None) -> Answer:
        """Send an instant query for a time; None: now. Raises CollectorError."""
        params = {"query": expression} | ({} if at_us is None else {"time": f"{at_us / 1e6:.3f}"})
        # Without nocache VictoriaMetrics answers as of half a minute ago; other servers ignore it.
        return parse.answer(await self._get("query", params | {"nocache": "1"}))

    async def names(self, selector: str, began_us: int, ended_us: int) -> tuple[list[str], tuple[str, ...]]:
        """Read the names of the series that match a selector in a time range, and why some may be missing."""
        limits = {"start": f"{began_us / 1e6:.3f}", "end": f"{ended_us / 1e6:.3f}"}
        return parse.names(await self._get("label/__name__/values", {"match[]": selector} | limits))

    async def now_us(self) -> int:
        """Read the server's clock, in microseconds since the epoch."""
        answer = await self.query("time()")
        if not answer.series or not answer.series[0].points:
            raise CollectorError(Failure.UNREADABLE, f"{self._server} does not send its time")
        return answer.series[0].points[0][0]

    async def version(self) -> str:
        """Read the release of the server; "" if it is not reported."""
        reply = await self._http.request("GET", f"{self._path}/status/buildinfo", None, self._headers)
        return parse.version(reply.body) if reply.status == 200 else ""

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _get(self, endpoint: str, params: Mapping[str, str]) -> bytes:
        try:
            reply = await self._http.request("GET", f"{self._path}/{endpoint}", params, self._headers)
        except CollectorError as error:
            if error.failure is Failure.UNREADABLE:
                raise TooManySamplesError(error.failure, str(error)) from error
            raise
        if reply.status != 200:
            self._refused(reply)
        return reply.body

    def _refused(self, reply: HttpReply) -> NoReturn:
        error_text = parse.error_text(reply.body)
        message = f"{self._server} answered {reply.status}{f': {error_text}' if error_text else ''}"
        if reply.status in (401, 403):
            raise CollectorError(Failure.REFUSED, f"{message}: check bearer_token, or user and password, and tenant")
        if reply.status in (429, 502, 503, 504):
            raise CollectorError(Failure.UNREACHABLE, message)
        if reply.status == 413 or (
            reply.status in (400, 422) and any(words in error_text for words in _TOO_MANY_PHRASES)
        ):
            raise TooManySamplesError(Failure.UNREADABLE, message)
        if reply.status == 404 or 300 <= reply.status < 400:
            raise CollectorError(Failure.MISCONFIGURED, f"{message}: there is no Prometheus API at {self._path}")
        raise CollectorError(Failure.UNREADABLE, message, excerpt(reply.body))


def _headers(config: PrometheusConfig) -> dict[str, str]:
    headers = {"Accept": "application/json"}
    if config.tenant is not None:
        headers["X-Scope-OrgID"] = config.tenant
    if config.bearer_token is not None:
        headers["Authorization"] = f"Bearer {config.bearer_token.get_secret_value()}"
    elif config.user is not None and config.password is not None:
        pair = f"{config.user}:{config.password.get_secret_value()}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return headers
