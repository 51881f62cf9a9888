"""A FlashArray REST 2 session: version, login, paging, and what its status codes mean."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, Protocol

from sanpath.plugin import CollectorError, Failure, Http, HttpReply, SecretStr
from sanpath_collectors.flasharray import parse

_MAX_PAGES = 1_000
_TOKEN_REFUSED = frozenset({400, 401, 403})
_CLOSED = frozenset({403, 404})
_BUSY = frozenset({429, 500, 502, 503, 504})
_WAIT_HEADERS = ("retry-after", "ratelimit-reset", "x-ratelimit-reset")
_LONGEST_WAIT_SECONDS = 300.0


class EndpointClosedError(CollectorError):
    """This account or this release cannot read the endpoint; the others may be readable."""


class BusyError(CollectorError):
    """The array asks to come back later. `wait_seconds`: when, 0: it does not say."""

    def __init__(self, message: str, wait_seconds: float) -> None:
        super().__init__(Failure.UNREACHABLE, message)
        self.wait_seconds = wait_seconds


class Session(Protocol):
    """One login on one array, whatever its REST version."""

    async def login(self) -> None:
        """Agree on a version and log in. Raises CollectorError: REFUSED when the token is not accepted."""
        ...

    async def items(self, endpoint: str, params: Mapping[str, str] | None = None) -> list[parse.Entry]:
        """All items of an endpoint of REST 2. Raises EndpointClosedError, BusyError and other CollectorErrors."""
        ...

    async def logout(self) -> None:
        """End the session; a failure changes nothing, the array drops idle sessions."""
        ...


class Rest:
    """One login on one array: many sessions make the array warn that its REST server may stop responding."""

    def __init__(self, http: Http, api_token: SecretStr) -> None:
        self._http, self._api_token = http, api_token
        self._root = ""
        self._session: dict[str, str] = {}

    async def login(self) -> None:
        """See Session."""
        if not self._root:
            reply = await self._http.request("GET", "/api/api_version")
            raise_unless_ok(reply, "api_version")
            self._root = f"/api/{parse.rest_version(reply.body)}"
        headers = {"api-token": self._api_token.get_secret_value()}
        reply = await self._http.request("POST", f"{self._root}/login", headers=headers)
        raise_if_refused(reply, self._api_token)
        raise_unless_ok(reply, "login")
        token = reply.headers.get("x-auth-token")
        if not token:
            raise CollectorError(Failure.UNREADABLE, "login answered without x-auth-token: is this a FlashArray?")
        self._session = {"x-auth-token": token}

    async def items(self, endpoint: str, params: Mapping[str, str] | None = None) -> list[parse.Entry]:
        """See Session. Page by page."""
        items: list[parse.Entry] = []
        asked = dict(params or {})
        before: list[parse.Entry] = []
        for _ in range(_MAX_PAGES):
            page = await self._page(endpoint, asked)
            if page.items and page.items == before:
                break
            items += page.items
            if not page.more or not page.items:
                return items
            before = page.items
            # releases before 2.38 give no token for performance endpoints, and count
            asked |= (
                {"continuation_token": page.continuation_token}
                if page.continuation_token
                else {"offset": str(len(items))}
            )
        raise CollectorError(Failure.UNREADABLE, f"{endpoint}: the pages of the answer do not end")

    async def logout(self) -> None:
        """See Session."""
        if self._session:
            with suppress(CollectorError):
                await self._request("POST", "logout")
            self._session = {}

    async def _page(self, endpoint: str, params: Mapping[str, str]) -> parse.Page:
        reply = await self._request("GET", endpoint, params)
        if reply.status == 401:
            await self.login()
            reply = await self._request("GET", endpoint, params)
        raise_unless_ok(reply, endpoint)
        return parse.page(reply.body, endpoint)

    async def _request(
        self, method: Literal["GET", "POST"], endpoint: str, params: Mapping[str, str] | None = None
    ) -> HttpReply:
        return await self._http.request(method, f"{self._root}/{endpoint}", params, self._session)


def raise_if_refused(reply: HttpReply, api_token: SecretStr) -> None:
    """Raises REFUSED, with what the array says of it, for the answer to a login that was not accepted."""
    if reply.status in _TOKEN_REFUSED:
        why = parse.complaint(reply.body).replace(api_token.get_secret_value(), "***")
        raise CollectorError(Failure.REFUSED, f"the array does not accept api_token: {why}".removesuffix(": "))


def raise_unless_ok(reply: HttpReply, endpoint: str) -> None:
    """A status as the failure it is. Raises CollectorError."""
    status = reply.status
    if status == 200:
        return
    said = f"{endpoint}: HTTP {status} {parse.complaint(reply.body)}".rstrip()
    if status in _CLOSED:
        raise EndpointClosedError(Failure.REFUSED, said)
    if status == 401:
        raise CollectorError(Failure.REFUSED, f"{said} (again after a new login)")
    if status in _BUSY:
        wait = _wait_seconds(reply)
        asked = f", the array asks to wait {wait:g} s" if wait else ""
        raise BusyError(f"{said}{asked}", wait)
    raise CollectorError(Failure.UNREADABLE, said, parse.excerpt(reply.body))


def _wait_seconds(reply: HttpReply) -> float:
    """What the first readable header says; a date, or a time in seconds since 1970, says nothing here."""
    for header in _WAIT_HEADERS:
        told = reply.headers.get(header, "").strip()
        if told.isdecimal() and float(told) <= _LONGEST_WAIT_SECONDS:
            return float(told)
    return 0.0
