"""Requests to the API server: single objects, lists in pages, and the meaning of status codes. Only GET."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from sanpath.plugin import CollectorError, Failure, Http, HttpReply, excerpt, json_object, json_objects, read_json
from sanpath_collectors.kubernetes.objects import text

_PAGE = "500"
_MAX_PAGES = 1_000
_EXPIRED = 410
"""Status "Gone": the continuation of a list has expired."""


class ForbiddenError(CollectorError):
    """This account may not read the object; others may be readable."""

    def __init__(self, message: str) -> None:
        super().__init__(Failure.REFUSED, message)


class Api:
    """One API server. `token`: reads the current token, "": none is sent."""

    def __init__(self, http: Http, token: Callable[[], Awaitable[str]]) -> None:
        self._http, self._token = http, token

    async def get(self, path: str) -> Mapping[str, Any] | None:
        """Return an object. None: it does not exist. Raises CollectorError; ForbiddenError: no right to read it."""
        reply = await self._request(path)
        return None if reply.status == 404 else _object(reply, path)

    async def items(self, path: str, name: str = "") -> list[Mapping[str, Any]]:
        """Return all objects of a list, or only the one with a name. Raises CollectorError, as `get`.

        A list whose continuation has expired meanwhile is read once more, from the beginning.
        """
        for _ in range(2):
            items = await self._pages(path, {"fieldSelector": f"metadata.name={name}"} if name else {})
            if items is not None:
                return items
        raise CollectorError(Failure.UNREACHABLE, f"{path}: the list has expired twice while its pages were read")

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    async def _pages(self, path: str, selector: Mapping[str, str]) -> list[Mapping[str, Any]] | None:
        """Return the objects of all pages; None: the continuation has expired (status 410)."""
        items: list[Mapping[str, Any]] = []
        parameters = {"limit": _PAGE, **selector}
        continuations: set[str] = set()
        while len(continuations) < _MAX_PAGES:
            reply = await self._request(path, parameters)
            if reply.status == _EXPIRED:
                return None
            body = _object(reply, path)
            if not isinstance(body.get("items"), list):
                raise CollectorError(Failure.UNREADABLE, f"{path}: the answer is not a list", excerpt(reply.body))
            items += json_objects(body["items"])
            following = text(json_object(body.get("metadata")).get("continue"))
            if not following:
                return items
            if following in continuations:
                break
            continuations.add(following)
            parameters["continue"] = following
        raise CollectorError(Failure.UNREADABLE, f"{path}: the pages of the list do not end")

    async def _request(self, path: str, parameters: Mapping[str, str] | None = None) -> HttpReply:
        token = await self._token()
        headers = {"accept": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
        return await self._http.request("GET", path, parameters, headers)


def _object(reply: HttpReply, path: str) -> Mapping[str, Any]:
    """Return the object of an answer. Raises the CollectorError that corresponds to its status."""
    status = reply.status
    if status in (401, 403):
        reason = _message(reply)
        if status == 403:
            raise ForbiddenError(f"{path}: {reason}")
        raise CollectorError(Failure.REFUSED, f"the API server does not accept the token or certificate: {reason}")
    if status == 429 or status >= 500:
        raise CollectorError(Failure.UNREACHABLE, f"{path}: HTTP {status} {_message(reply)}")
    try:
        body = read_json(reply.body)
    except ValueError:
        body = None
    if status != 200 or not isinstance(body, dict):
        message = f"{path}: HTTP {status}: is this the API server of a Kubernetes cluster?"
        raise CollectorError(Failure.UNREADABLE, message, excerpt(reply.body))
    return body


def _message(reply: HttpReply) -> str:
    """Return the message of a Status object, which errors have as their body."""
    try:
        return text(json_object(read_json(reply.body)).get("message")) or f"HTTP {reply.status}"
    except ValueError:
        return f"HTTP {reply.status}"
