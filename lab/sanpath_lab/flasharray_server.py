"""A FlashArray's REST 2 interface over TLS, answering from an ArrayState."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Awaitable, Callable
from hmac import compare_digest

from aiohttp import web

from sanpath_lab import flasharray_inventory as inventory
from sanpath_lab import flasharray_performance as performance
from sanpath_lab.array_state import ArrayState
from sanpath_lab.flasharray_inventory import Item

VERSIONS = [f"2.{minor}" for minor in range(28) if minor not in (12, 18)]
"""REST versions of Purity 6.6.x; 2.12 and 2.18 never existed."""

ONE_SECOND_MS = "1000"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _error(status: int, message: str, context: str = "") -> web.Response:
    return web.json_response({"errors": [{"message": message, "context": context}]}, status=status)


class FlashArrayServer:
    """Use `await start()`, then `address`; `await stop()` at the end."""

    def __init__(self, state: ArrayState, api_token: str) -> None:
        self._state, self._api_token = state, api_token
        self._sessions: set[str] = set()
        self._runner: web.AppRunner | None = None
        self._answers: dict[str, Callable[[ArrayState], list[Item]]] = {
            "arrays": inventory.arrays,
            "controllers": inventory.controllers,
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

    async def start(self, tls: ssl.SSLContext, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        app = web.Application(middlewares=[self._authenticate])
        app.router.add_get("/api/api_version", self._versions)
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

    @web.middleware
    async def _authenticate(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        version = request.match_info.get("version")
        if version is not None and version not in VERSIONS:
            return _error(404, "Unsupported REST version.", version)
        public = request.path == "/api/api_version" or request.path.endswith("/login")
        if not public and request.headers.get("x-auth-token") not in self._sessions:
            return _error(401, "Unauthorized.")
        return await handler(request)

    async def _versions(self, _request: web.Request) -> web.Response:
        return web.json_response({"version": VERSIONS})

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
        if query.get("resolution", ONE_SECOND_MS) != ONE_SECOND_MS:
            return _error(400, "Only a resolution of 1000 is kept here.", "resolution")
        try:
            since, until = (int(query[k]) if k in query else None for k in ("start_time", "end_time"))
        except ValueError:
            return _error(400, "A time must be milliseconds since the epoch.", "start_time, end_time")
        return self._items(performance.arrays_performance(self._state, since, until))

    async def _resource(self, request: web.Request) -> web.Response:
        resource = request.match_info["resource"]
        answer = self._answers.get(resource)
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
        return self._items(items)

    @staticmethod
    def _items(items: list[Item]) -> web.Response:
        return web.json_response(
            {
                "continuation_token": None,
                "items": items,
                "more_items_remaining": False,
                "total_item_count": None,
            }
        )
