"""The simulated vCenter on HTTPS."""

from __future__ import annotations

from collections.abc import Callable

from sanpath_lab.http_server import HttpServer, Request, Response
from sanpath_lab.simulation import Simulation
from sanpath_lab.vcenter.service import COOKIE, VcenterService


class VcenterServer(HttpServer):
    """A `VcenterService` on a socket. Raises ValueError for a scenario without a vCenter."""

    def __init__(self, simulation: Simulation, password: str, catch_up: Callable[[], object]) -> None:
        super().__init__(self._answer)
        self._service, self._catch_up = VcenterService(simulation, password), catch_up

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
