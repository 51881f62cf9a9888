"""A device that speaks HTTPS on loopback: a test says how it answers, and reads what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from sanpath.recording.writing.clock import RecorderClock
from sanpath_lab.certificate import server_context

T = TypeVar("T")


class MovableClock:
    """The recorder's clock, moved on by hand."""

    def __init__(self) -> None:
        self.us = RecorderClock().now_us()

    def now_us(self) -> int:
        """The time, in microseconds."""
        return self.us


def serving(
    ca_file: Path,
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
    use: Callable[[str], Awaitable[T]],
) -> T:
    """Serve every path while `use` runs with the server's address. `ca_file`: gets the PEM of its authority."""

    async def served() -> T:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_context(ca_file)).start()
            host, port = runner.addresses[0][:2]
            return await use(f"{host}:{port}")
        finally:
            await runner.cleanup()

    return asyncio.run(served())
