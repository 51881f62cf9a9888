"""Asks a Prometheus-compatible server: queries, names, its clock; and what its refusals mean."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import urlsplit

from sanpath.plugin import CollectorError, Context, Failure, Http, HttpReply
from sanpath_collectors.prometheus import parse
from sanpath_collectors.prometheus.config import PrometheusConfig
from sanpath_collectors.prometheus.parse import Answer

_TOO_MANY = ("too many samples", "too many points", "limit", "more than")
"""Parts of what servers say of a query that is too large: of Prometheus' --query.max-samples, of the limits of Mimir,
Thanos and VictoriaMetrics."""


class TooManySamplesError(CollectorError):
    """The answer would be larger than the server, or this client, allows: ask for less at a time."""


class Api:
    """One server. `timeout_seconds` is for one request."""

    def __init__(self, ctx: Context, config: PrometheusConfig, timeout_seconds: float) -> None:
        parts = urlsplit(config.url)
        self._server, self._path = parts.netloc, f"{parts.path.rstrip('/')}/api/v1"
        self._http: Http = ctx.http(
            f"{parts.scheme}://{parts.netloc}",
            config.ca_file,
            config.verify_tls,
            timeout_seconds,
            client=config.client,
        )
        self._headers = _headers(config)

    async def query(self, expression: str, at_us: int | None = None) -> Answer:
        """An instant query at a time, None: now. Raises CollectorError."""
        params = {"query": expression} | ({} if at_us is None else {"time": f"{at_us / 1e6:.3f}"})
        # VictoriaMetrics answers as of half a minute ago without it; the others do not know it.
        return parse.answer(await self._get("query", params | {"nocache": "1"}))

    async def names(self, selector: str, began_us: int, ended_us: int) -> tuple[list[str], tuple[str, ...]]:
        """The names of the series that a selector finds in a time, and why some may be missing."""
        limits = {"start": f"{began_us / 1e6:.3f}", "end": f"{ended_us / 1e6:.3f}"}
        return parse.names(await self._get("label/__name__/values", {"match[]": selector} | limits))

    async def now_us(self) -> int:
        """The server's clock, microseconds since the epoch."""
        found = await self.query("time()")
        if not found.series or not found.series[0].points:
            raise CollectorError(Failure.UNREADABLE, f"{self._server} does not tell its time")
        return found.series[0].points[0][0]

    async def version(self) -> str:
        """The release of the server, "" where it does not say."""
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
        said = parse.complaint(reply.body)
        told = f"{self._server} answered {reply.status}{f': {said}' if said else ''}"
        if reply.status in (401, 403):
            raise CollectorError(Failure.REFUSED, f"{told}: check bearer_token, or user and password, and tenant")
        if reply.status in (429, 502, 503, 504):
            raise CollectorError(Failure.UNREACHABLE, told)
        if reply.status == 413 or (reply.status in (400, 422) and any(words in said for words in _TOO_MANY)):
            raise TooManySamplesError(Failure.UNREADABLE, told)
        if reply.status == 404 or 300 <= reply.status < 400:
            raise CollectorError(Failure.MISCONFIGURED, f"{told}: there is no Prometheus API at {self._path}")
        raise CollectorError(Failure.UNREADABLE, told, parse.excerpt(reply.body))


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
