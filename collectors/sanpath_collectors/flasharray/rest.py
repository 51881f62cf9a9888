"""A FlashArray REST 2 session: version, login, paging, and the meaning of its status codes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, Protocol

from sanpath.plugin import BusyError, CollectorError, Failure, Http, HttpReply, SecretStr, excerpt, wait_seconds
from sanpath_collectors.flasharray import parse

_MAX_PAGES = 1_000
"""Maximum pages of one answer: an array might always report another one."""
_TOKEN_REFUSED = frozenset({400, 401, 403})
_CLOSED = frozenset({403, 404})
_BUSY = frozenset({429, 500, 502, 503, 504})
_WAIT_HEADERS = ("retry-after", "ratelimit-reset", "x-ratelimit-reset")


class EndpointClosedError(CollectorError):
    """The endpoint cannot be read with this account or release; other endpoints may be readable."""


class Session(Protocol):
    """One login on one array, for any REST version."""

    async def login(self) -> None:
        """Agree on a version and log in. Raises CollectorError: REFUSED if the token is not accepted."""
        ...

    async def items(self, endpoint: str, params: Mapping[str, str] | None = None) -> list[parse.Entry]:
        """Return all items of an endpoint of REST 2. Raises CollectorError.

        EndpointClosedError: the endpoint cannot be read; BusyError: the array asks to wait.
        """
        ...

    async def logout(self) -> None:
        """End the session. A failure has no consequence, because the array drops idle sessions."""
        ...


class Rest:
    """One login on one array.

    It is reused, because with many sessions the array warns that its REST server may stop responding.
    """

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
        """See Session. Requests all pages, one after the other."""
        items: list[parse.Entry] = []
        page_params = dict(params or {})
        previous: list[parse.Entry] = []
        for _ in range(_MAX_PAGES):
            page = await self._page(endpoint, page_params)
            if page.items and page.items == previous:
                break
            items += page.items
            if not page.has_more or not page.items:
                return items
            previous = page.items
            # releases before 2.38 have no token for performance endpoints, but an offset
            page_params |= (
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
    """Raise REFUSED, with the array's message, if this answer to a login rejects the token."""
    if reply.status in _TOKEN_REFUSED:
        reason = parse.error_messages(reply.body).replace(api_token.get_secret_value(), "***")
        raise CollectorError(Failure.REFUSED, f"the array does not accept api_token: {reason}".removesuffix(": "))


def raise_unless_ok(reply: HttpReply, endpoint: str) -> None:
    """Raise the CollectorError that corresponds to an HTTP status other than 200."""
    status = reply.status
    if status == 200:
        return
    message = f"{endpoint}: HTTP {status} {parse.error_messages(reply.body)}".rstrip()
    if status in _CLOSED:
        raise EndpointClosedError(Failure.REFUSED, message)
    if status == 401:
        raise CollectorError(Failure.REFUSED, f"{message} (again after a new login)")
    if status in _BUSY:
        seconds = wait_seconds(reply, _WAIT_HEADERS)
        wait_text = f", the array asks to wait {seconds:g} s" if seconds else ""
        raise BusyError(f"{message}{wait_text}", seconds)
    raise CollectorError(Failure.UNREADABLE, message, excerpt(reply.body))
