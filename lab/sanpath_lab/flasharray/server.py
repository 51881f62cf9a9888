"""A FlashArray's REST interfaces over TLS, answering from an ArrayState."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from hmac import compare_digest

from sanpath_lab.flasharray import inventory as inventory
from sanpath_lab.flasharray import performance as performance
from sanpath_lab.flasharray.array_state import ArrayState
from sanpath_lab.flasharray.inventory import Item
from sanpath_lab.flasharray.rest1 import Rest1
from sanpath_lab.flasharray.versions import (
    RESOURCE_SINCE,
    TOKENS_FOR_PERFORMANCE_SINCE,
    Version,
    drop_later_fields,
    offered,
    parsed,
)
from sanpath_lab.http_server import HttpServer, Request, Response, json_response

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

_PATH = re.compile(r"/api/(?P<version>[^/]+)/(?P<resource>.+)")


def _error(status: int, message: str, context: str = "") -> Response:
    return json_response({"errors": [{"message": message, "context": context}]}, status)


class FlashArrayServer(HttpServer):
    """The REST interface of an array.

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
        super().__init__(self._answer)
        self._state, self._api_token, self._page_items = state, api_token, page_items
        self._rest1 = None if newest_rest1 is None else Rest1(state, api_token, newest_rest1)
        self._versions = [] if newest is None else offered(newest)
        self._sessions: set[str] = set()

    def end_sessions(self) -> None:
        """Forget every session, as after a controller failover."""
        self._sessions.clear()
        if self._rest1 is not None:
            self._rest1.end_sessions()

    def _answer(self, request: Request) -> Response:
        if request.method == "GET" and request.path == "/api/api_version":
            rest1 = [] if self._rest1 is None else self._rest1.offered
            return json_response({"version": [*rest1, *self._versions]})
        if self._rest1 is not None and (answer := self._rest1.answer(request)) is not None:
            return answer
        if (asked := _PATH.fullmatch(request.path)) is None:
            return _error(404, "Not found.", request.path)
        version, resource = asked["version"], asked["resource"]
        if version not in self._versions:
            return _error(404, "Unsupported REST version.", version)
        if (request.method, resource) == ("POST", "login"):
            return self._login(request)
        session = request.headers.get("x-auth-token", "")
        if session not in self._sessions:
            return _error(401, "Unauthorized.")
        if (request.method, resource) == ("POST", "logout"):
            self._sessions.discard(session)
            return json_response({})
        if request.method != "GET":
            return _error(405, "Method not allowed.", resource)
        if resource == "arrays/performance":
            return self._arrays_performance(request, parsed(version))
        return self._resource(request, parsed(version), resource)

    def _login(self, request: Request) -> Response:
        if not compare_digest(request.headers.get("api-token", "").encode(), self._api_token.encode()):
            return _error(401, "Invalid API token.")
        session = secrets.token_hex(16)
        self._sessions.add(session)
        return json_response({"items": [{"username": "sanpath"}]}, headers={"x-auth-token": session})

    def _arrays_performance(self, request: Request, version: Version) -> Response:
        query = request.query
        if query.get("resolution", SECOND_MS) != SECOND_MS:
            return _error(400, "Only a resolution of 1000 is kept here.", "resolution")
        try:
            since, until = (int(query[k]) if k in query else None for k in ("start_time", "end_time"))
        except ValueError:
            return _error(400, "A time must be milliseconds since the epoch.", "start_time, end_time")
        samples = performance.arrays_performance(self._state, since, until)
        return self._page(request, version, "arrays/performance", samples)

    def _resource(self, request: Request, version: Version, resource: str) -> Response:
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
        return self._page(request, version, resource, items)

    def _page(self, request: Request, version: Version, resource: str, items: list[Item]) -> Response:
        """The items from `offset` or the token on; a token is given where this version has one."""
        if RESOURCE_SINCE.get(resource, version) > version:
            return _error(404, "Not found.", resource)
        try:
            first = int(request.query.get("continuation_token") or request.query.get("offset") or 0)
        except ValueError:
            return _error(400, "The token is not valid.", "continuation_token")
        end = first + self._page_items
        by_token = not resource.endswith("performance") or version >= TOKENS_FOR_PERFORMANCE_SINCE
        return json_response(
            {
                "continuation_token": str(end) if by_token and end < len(items) else None,
                "items": [drop_later_fields(version, item) for item in items[first:end]],
                "more_items_remaining": end < len(items),
                "total_item_count": None,
            }
        )
