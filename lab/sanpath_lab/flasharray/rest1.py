"""The REST 1 interface of a FlashArray, on the same server as REST 2: older terms, fewer components of latency."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from hmac import compare_digest

from aiohttp import web

from sanpath_lab.flasharray.array_state import ArrayState
from sanpath_lab.flasharray.rest1_items import ANSWERS, Item, Version

NEWEST: Version = (1, 19)
COOKIE = "session"


def _error(status: int, message: str) -> web.Response:
    return web.json_response([{"code": 0, "ctx": "", "msg": message, "pure_err_code": 1}], status=status)


class Rest1:
    """Adds itself to an application. `newest`: the newest version that the array offers."""

    def __init__(self, state: ArrayState, api_token: str, newest: Version = NEWEST) -> None:
        self._state, self._api_token, self._newest = state, api_token, newest
        self._sessions: set[str] = set()

    @property
    def offered(self) -> list[str]:
        """Every version, ascending."""
        return [f"1.{minor}" for minor in range(self._newest[1] + 1)]

    def add_to(self, app: web.Application) -> None:
        """Register the resources of REST 1."""
        app.router.add_post(r"/api/1.{minor:\d+}/auth/session", self._login)
        app.router.add_delete(r"/api/1.{minor:\d+}/auth/session", self._logout)
        app.router.add_get(r"/api/1.{minor:\d+}/{resource}", self._resource)

    def end_sessions(self) -> None:
        """Forget every session, as after a restart of the interface."""
        self._sessions.clear()

    async def _login(self, request: web.Request) -> web.Response:
        parameters = await request.json()
        token = parameters.get("api_token", "") if isinstance(parameters, dict) else ""
        if not compare_digest(str(token).encode(), self._api_token.encode()):
            return _error(400, "API token is invalid.")
        session = secrets.token_hex(16)
        self._sessions.add(session)
        reply = web.json_response({"username": "sanpath"})
        reply.set_cookie(COOKIE, session, httponly=True)
        return reply

    async def _logout(self, request: web.Request) -> web.Response:
        self._sessions.discard(request.cookies.get(COOKIE, ""))
        return web.json_response({"username": "sanpath"})

    async def _resource(self, request: web.Request) -> web.Response:
        version = (1, int(request.match_info["minor"]))
        if version > self._newest:
            return _error(450, "Unsupported REST version.")
        if request.cookies.get(COOKIE) not in self._sessions:
            return _error(401, "Authentication required.")
        asked = await _parameters(request)
        answer = _answer(request.match_info["resource"], asked, version)
        if answer is None:
            return _error(400, "Bad request.")
        return web.json_response(answer(self._state, version))


async def _parameters(request: web.Request) -> frozenset[str]:
    """Parameters that are set, from the query or, as the vendor's SDK sends them, from a JSON body."""
    parameters: Mapping[str, object] = dict(request.query)
    if body := await request.read():
        parameters = {**(json.loads(body) or {}), **parameters}
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
