"""A FlashArray's REST interfaces over TLS, answering from an ArrayState."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest

from aiohttp import web

from sanpath_lab.flasharray import inventory as inventory
from sanpath_lab.flasharray import performance as performance
from sanpath_lab.flasharray.array_state import ArrayState
from sanpath_lab.flasharray.inventory import Item
from sanpath_lab.flasharray.rest1 import Rest1
from sanpath_lab.flasharray.versions import (
    RESOURCE_SINCE,
    TOKENS_FOR_PERFORMANCE_SINCE,
    Version,
    as_of,
    offered,
    parsed,
)

NEWEST: Version = (2, 27)
"""Of Purity 6.6.x."""

PAGE_ITEMS = 1000
SECOND_MS = "1000"

RESOURCES: Mapping[str, Callable[[ArrayState], list[Item]]] = {
    "arrays": inventory.arrays,
    "controllers": inventory.controllers,
    "hardware": inventory.hardware,
    "volumes": inventory.volumes,
    "volumes/performance": performance.volumes_performance,
    "hosts": inventory.hosts,
    "hosts/performance": performance.hosts_performance,
    "hosts/performance/balance": performance.hosts_performance_balance,
    "ports": inventory.ports,
    "network-interfaces": inventory.network_interfaces,
    "network-interfaces/performance": performance.network_interfaces_performance,
    "connections": inventory.connections,
    "alerts": lambda _: [],
}
"""Resource → function that returns all of its items. arrays/performance also has a time range."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _error(status: int, message: str, context: str = "") -> web.Response:
    return web.json_response({"errors": [{"message": message, "context": context}]}, status=status)


class FlashArrayServer:
    """Use `await start()`, then `address`; `await stop()` at the end.

    `newest`: newest version of REST 2; None: REST 1 only, as on arrays up to 2020. `newest_rest1`: newest version
    of REST 1; None: REST 1 was removed. `page_items`: most items of a response.
    """

    def __init__(
        self,
        state: ArrayState,
        api_token: str,
        newest: Version | None = NEWEST,
        newest_rest1: Version | None = (1, 19),
        page_items: int = PAGE_ITEMS,
    ) -> None:
        self._state, self._api_token, self._page_items = state, api_token, page_items
        self._rest1 = None if newest_rest1 is None else Rest1(state, api_token, newest_rest1)
        self._versions = [] if newest is None else offered(newest)
        self._sessions: set[str] = set()
        self._runner: web.AppRunner | None = None

    async def start(self, tls: ssl.SSLContext, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0: a free port."""
        app = web.Application(middlewares=[self._authenticate])
        app.router.add_get("/api/api_version", self._list_versions)
        if self._rest1 is not None:
            self._rest1.add_to(app)
        app.router.add_post("/api/{version}/login", self._login)
        app.router.add_post("/api/{version}/logout", self._logout)
        app.router.add_get("/api/{version}/arrays/performance", self._arrays_performance)
        app.router.add_get("/api/{version}/{resource:.+}", self._resource)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, ssl_context=tls).start()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it listens on. Raises RuntimeError before `start`."""
        if self._runner is None:
            raise RuntimeError("the server has not been started")
        host, port = self._runner.addresses[0][:2]
        return host, port

    async def stop(self) -> None:
        """Close the socket and every connection."""
        if self._runner is not None:
            await self._runner.cleanup()

    def end_sessions(self) -> None:
        """Forget every session, as after a controller failover."""
        self._sessions.clear()
        if self._rest1 is not None:
            self._rest1.end_sessions()

    @web.middleware
    async def _authenticate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        version = request.match_info.get("version")
        if version is None:
            return await handler(request)
        if version not in self._versions:
            return _error(404, "Unsupported REST version.", version)
        if not request.path.endswith("/login") and request.headers.get("x-auth-token") not in self._sessions:
            return _error(401, "Unauthorized.")
        return await handler(request)

    async def _list_versions(self, _request: web.Request) -> web.Response:
        rest1 = [] if self._rest1 is None else self._rest1.offered
        return web.json_response({"version": [*rest1, *self._versions]})

    async def _login(self, request: web.Request) -> web.Response:
        if not compare_digest(request.headers.get("api-token", "").encode(), self._api_token.encode()):
            return _error(401, "Invalid API token.")
        session = secrets.token_hex(16)
        self._sessions.add(session)
        return web.json_response({"items": [{"username": "sanpath"}]}, headers={"x-auth-token": session})

    async def _logout(self, request: web.Request) -> web.Response:
        self._sessions.discard(request.headers["x-auth-token"])
        return web.json_response({})

    async def _arrays_performance(self, request: web.Request) -> web.Response:
        query = request.query
        if query.get("resolution", SECOND_MS) != SECOND_MS:
            return _error(400, "Only a resolution of 1000 is kept here.", "resolution")
        try:
            since, until = (int(query[k]) if k in query else None for k in ("start_time", "end_time"))
        except ValueError:
            return _error(400, "A time must be milliseconds since the epoch.", "start_time, end_time")
        return self._page(request, "arrays/performance", performance.arrays_performance(self._state, since, until))

    async def _resource(self, request: web.Request) -> web.Response:
        resource = request.match_info["resource"]
        answer = RESOURCES.get(resource)
        if answer is None:
            return _error(404, "Not found.", resource)
        if "resolution" in request.query:
            return _error(400, "No history is kept here; ask without a resolution.", "resolution")
        items = answer(self._state)
        if "names" in request.query:
            names = request.query["names"].split(",")
            unknown = [name for name in names if name not in {item.get("name") for item in items}]
            if unknown:
                return _error(400, "Resource does not exist.", unknown[0])
            items = [item for item in items if item.get("name") in names]
        return self._page(request, resource, items)

    def _page(self, request: web.Request, resource: str, items: list[Item]) -> web.Response:
        """The items from `offset` or the token on; a token is given where this version has one."""
        version = parsed(request.match_info["version"])
        if RESOURCE_SINCE.get(resource, version) > version:
            return _error(404, "Not found.", resource)
        try:
            first = int(request.query.get("continuation_token") or request.query.get("offset") or 0)
        except ValueError:
            return _error(400, "The token is not valid.", "continuation_token")
        end = first + self._page_items
        by_token = not resource.endswith("performance") or version >= TOKENS_FOR_PERFORMANCE_SINCE
        return web.json_response(
            {
                "continuation_token": str(end) if by_token and end < len(items) else None,
                "items": [as_of(version, item) for item in items[first:end]],
                "more_items_remaining": end < len(items),
                "total_item_count": None,
            }
        )
