"""The array's management interface: serves nbdkit's measurements over FlashArray REST, on loopback only.

Started by the lab as `python -m real_lab.front_end FOLDER`; writes FOLDER/endpoint (host:port) when it listens.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from real_lab import state
from real_lab.cases import CASES
from real_lab.measured_array import MeasuredArray
from real_lab.state import LabError
from sanpath_lab.certificate import server_context
from sanpath_lab.flasharray.server import FlashArrayServer

READ_EVERY_SECONDS = 0.1
"""Well below `SETTLE_SECONDS`, after which a second is reported."""


async def serve(folder: Path) -> None:
    """Serve the array of the lab in `folder` until SIGTERM. Raises LabError: the folder has no lab."""
    lab = state.load(folder)
    if lab is None:
        raise LabError(f"{folder} has no lab")
    array = MeasuredArray(CASES[lab.case], folder)
    server = FlashArrayServer(array, (folder / "secrets" / "fa1-token").read_text().strip())
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await server.start(server_context(folder / "ca.pem"))
    try:
        _announce(folder, *server.address)
        while not stopped.is_set():
            array.read_on()
            await asyncio.sleep(READ_EVERY_SECONDS)
    finally:
        await server.stop()


def _announce(folder: Path, host: str, port: int) -> None:
    new = folder / "endpoint.new"
    new.write_text(f"{host}:{port}\n")
    new.replace(folder / "endpoint")


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
