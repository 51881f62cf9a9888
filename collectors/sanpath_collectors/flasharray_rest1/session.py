"""A REST 1 session that offers the endpoints of REST 2, as far as REST 1 has an equivalent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from sanpath.plugin import CollectorError, Failure, Http, SecretStr
from sanpath_collectors.flasharray.parse import Entry
from sanpath_collectors.flasharray.rest import EndpointClosedError
from sanpath_collectors.flasharray_rest1 import parse
from sanpath_collectors.flasharray_rest1.sdk import Array
from sanpath_collectors.flasharray_rest1.tables import PORTS_SINCE, QOS_LIMIT_SINCE, QUEUE_TIME_SINCE, Version


class Rest1:
    """One login on one array."""

    def __init__(self, http: Http, host: str, api_token: SecretStr) -> None:
        self._http, self._host, self._api_token = http, host, api_token
        self._array: Array | None = None
        self._endpoints: Mapping[str, Callable[[], Awaitable[list[Entry]]]] = {
            "arrays": self._arrays,
            "arrays/performance": lambda: self._performance("get"),
            "controllers": lambda: self._entries("get", controllers=True),
            "hardware": lambda: self._entries("list_hardware"),
            "ports": lambda: self._entries("list_ports"),
            "network-interfaces": self._interfaces,
            "network-interfaces/performance": self._interface_traffic,
            "hosts": self._hosts,
            "hosts/performance": lambda: self._performance("list_hosts"),
            "volumes": self._volumes,
            "volumes/performance": lambda: self._performance("list_volumes"),
            "connections": self._connections,
            "alerts": self._alerts,
        }

    @property
    def version(self) -> Version:
        """The agreed version of REST 1."""
        return self._logged_in.version

    @property
    def _logged_in(self) -> Array:
        if self._array is None:
            raise CollectorError(Failure.UNREACHABLE, "there is no session with the array")
        return self._array

    async def login(self) -> None:
        """See flasharray.rest.Session."""
        self._array = await Array.login(self._http, self._host, self._api_token)

    async def items(self, endpoint: str, params: Mapping[str, str] | None = None) -> list[Entry]:  # noqa: ARG002
        """See flasharray.rest.Session. `params` of REST 2 are ignored: REST 1 has only the most recent sample."""
        request = self._endpoints.get(endpoint)
        if request is None:
            raise EndpointClosedError(Failure.REFUSED, f"{endpoint}: REST 1 does not report it")
        return await request()

    async def logout(self) -> None:
        """See flasharray.rest.Session."""
        array, self._array = self._array, None
        if array is not None:
            try:
                await array.ask("invalidate_cookie")
            except CollectorError:
                return

    async def _entries(self, call: str, **parameters: object) -> list[Entry]:
        return parse.entries(await self._logged_in.ask(call, **parameters))

    async def _optional_entries(self, call: str, **parameters: object) -> list[Entry]:
        """Entries that complete another answer; none if they may not be read."""
        try:
            return await self._entries(call, **parameters)
        except EndpointClosedError:
            return []

    async def _performance(self, call: str) -> list[Entry]:
        """Performance items; since 1.16 the components of the latency are in a second answer."""
        answers = [await self._entries(call, action="monitor")]
        if self.version >= QUEUE_TIME_SINCE:
            answers.append(await self._optional_entries(call, action="monitor", latency=True))
        return parse.performance(parse.merge_by_name(*answers))

    async def _arrays(self) -> list[Entry]:
        about = await self._entries("get")
        space = await self._optional_entries("get", space=True)
        return [parse.array(item, space) for item in about]

    async def _hosts(self) -> list[Entry]:
        return parse.hosts(await self._entries("list_hosts"))

    async def _volumes(self) -> list[Entry]:
        answers = [await self._entries("list_volumes"), await self._optional_entries("list_volumes", space=True)]
        if self.version >= QOS_LIMIT_SINCE:
            answers.append(await self._optional_entries("list_volumes", qos=True))
        return parse.volumes(parse.merge_by_name(*answers))

    async def _connections(self) -> list[Entry]:
        return parse.connections(await self._entries("list_volumes", connect=True))

    async def _interfaces(self) -> list[Entry]:
        network = await self._entries("list_network_interfaces")
        return parse.interfaces(network, await self._optional_entries("list_hardware"))

    async def _interface_traffic(self) -> list[Entry]:
        if self.version < PORTS_SINCE:
            reason = "network-interfaces/performance: REST 1 counts no bytes at ports before 1.17"
            raise EndpointClosedError(Failure.REFUSED, reason)
        return parse.interface_traffic(await self._entries("list_network_interfaces", action="monitor"))

    async def _alerts(self) -> list[Entry]:
        return parse.alerts(await self._entries("list_messages", open=True))
