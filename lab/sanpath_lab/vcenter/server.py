"""The simulated vCenter on HTTPS."""

from __future__ import annotations

import ssl
from collections.abc import Callable

from sanpath_lab.http_server import HttpServer, Request, Response
from sanpath_lab.simulation import Simulation
from sanpath_lab.vcenter.service import COOKIE, VcenterService


class VcenterServer:
    """A `VcenterService` on a socket. Raises ValueError for a scenario without a vCenter."""

    def __init__(self, simulation: Simulation, password: str, catch_up: Callable[[], object]) -> None:
        self._service, self._catch_up = VcenterService(simulation, password), catch_up
        self._http = HttpServer(self._answer)

    async def start(self, tls: ssl.SSLContext, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        await self._http.start(tls, host, port)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it listens on. Raises RuntimeError before `start`."""
        return self._http.address

    async def stop(self) -> None:
        """Close the socket and every connection."""
        await self._http.stop()

    def end_sessions(self) -> None:
        """Forget every session, as after a restart."""
        self._service.end_sessions()

    def _answer(self, request: Request) -> Response:
        if (document := self._service.document(request.path)) is not None:
            return Response(document, content_type="text/xml")
        if (request.method, request.path) != ("POST", "/sdk"):
            return Response(status=404)
        self._catch_up()
        answer = self._service.answer(request.body, request.cookie(COOKIE))
        return Response(answer.body, answer.status, answer.headers, "text/xml")
