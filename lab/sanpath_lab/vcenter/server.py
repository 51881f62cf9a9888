"""The simulated vCenter on HTTPS."""

from __future__ import annotations

import ssl
from collections.abc import Callable

from aiohttp import web

from sanpath_lab.simulation import Simulation
from sanpath_lab.vcenter.service import COOKIE, VERSIONS_PATH, VcenterService


class VcenterServer:
    """A `VcenterService` on a socket. Raises ValueError for a scenario without a vCenter."""

    def __init__(self, simulation: Simulation, password: str, catch_up: Callable[[], object]) -> None:
        self._service, self._catch_up = VcenterService(simulation, password), catch_up
        self._runner: web.AppRunner | None = None

    async def start(self, tls: ssl.SSLContext, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        app = web.Application()
        app.router.add_get(VERSIONS_PATH, self._versions)
        app.router.add_post("/sdk", self._call)
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
        """Forget every session, as after a restart."""
        self._service.end_sessions()

    async def _versions(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._service.document(VERSIONS_PATH), content_type="text/xml")

    async def _call(self, request: web.Request) -> web.Response:
        self._catch_up()
        response = self._service.answer(await request.read(), request.cookies.get(COOKIE, "").strip('"'))
        return web.Response(
            status=response.status, headers=dict(response.headers), body=response.body, content_type="text/xml"
        )
