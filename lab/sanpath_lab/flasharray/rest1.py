"""The REST 1 interface of a FlashArray, on the same server as REST 2: older terms, fewer components of latency."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from hmac import compare_digest

from sanpath_lab.flasharray.array_state import ArrayState
from sanpath_lab.flasharray.rest1_items import ANSWERS, Item, Version
from sanpath_lab.http_server import Request, Response, json_response

NEWEST: Version = (1, 19)
COOKIE = "session"
_PATH = re.compile(r"/api/1\.(?P<minor>\d+)/(?P<resource>auth/session|[^/]+)")


def _error(status: int, message: str) -> Response:
    return json_response([{"code": 0, "ctx": "", "msg": message, "pure_err_code": 1}], status)


class Rest1:
    """Answers the requests of REST 1. `newest`: the newest version that the array offers."""

    def __init__(self, state: ArrayState, api_token: str, newest: Version = NEWEST) -> None:
        self._state, self._api_token, self._newest = state, api_token, newest
        self._sessions: set[str] = set()

    @property
    def offered(self) -> list[str]:
        """Every version, ascending."""
        return [f"1.{minor}" for minor in range(self._newest[1] + 1)]

    def answer(self, request: Request) -> Response | None:
        """Answer a request; None: it is not one of REST 1."""
        if (asked := _PATH.fullmatch(request.path)) is None:
            return None
        match request.method, asked["resource"]:
            case "POST", "auth/session":
                return self._login(request)
            case "DELETE", "auth/session":
                self._sessions.discard(request.cookie(COOKIE))
                return json_response({"username": "sanpath"})
            case "GET", resource:
                return self._resource(request, (1, int(asked["minor"])), resource)
        return _error(405, "Method not allowed.")

    def end_sessions(self) -> None:
        """Forget every session, as after a restart of the interface."""
        self._sessions.clear()

    def _login(self, request: Request) -> Response:
        parameters = json.loads(request.body or b"null")
        token = parameters.get("api_token", "") if isinstance(parameters, dict) else ""
        if not compare_digest(str(token).encode(), self._api_token.encode()):
            return _error(400, "API token is invalid.")
        session = secrets.token_hex(16)
        self._sessions.add(session)
        cookie = f"{COOKIE}={session}; HttpOnly; Path=/"
        return json_response({"username": "sanpath"}, headers={"Set-Cookie": cookie})

    def _resource(self, request: Request, version: Version, resource: str) -> Response:
        if version > self._newest:
            return _error(450, "Unsupported REST version.")
        if request.cookie(COOKIE) not in self._sessions:
            return _error(401, "Authentication required.")
        answer = _answer(resource, _parameters(request), version)
        if answer is None:
            return _error(400, "Bad request.")
        return json_response(answer(self._state, version))


def _parameters(request: Request) -> frozenset[str]:
    """Parameters that are set, from the query or, as the vendor's SDK sends them, from a JSON body."""
    parameters: Mapping[str, object] = {**(json.loads(request.body or b"null") or {}), **request.query}
    return frozenset(
        f"{key}={value}" if key == "action" else key
        for key, value in parameters.items()
        if str(value).lower() != "false"
    )


def _answer(
    resource: str, asked: frozenset[str], version: Version
) -> Callable[[ArrayState, Version], Item | list[Item]] | None:
    answer = ANSWERS.get((resource, asked))
    return answer[1] if answer is not None and version >= answer[0] else None
