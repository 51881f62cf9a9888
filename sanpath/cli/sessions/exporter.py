"""`--metrics`: the address at which Prometheus can read the run, and the process that serves it."""

from __future__ import annotations

import contextlib
import ipaddress
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from sanpath.errors import UsageError
from sanpath.extras import METRICS
from sanpath.recording.storage.store import Location

if TYPE_CHECKING:
    from sanpath.rulebook.site.options import Choice

MetricsOption = Annotated[
    str,
    typer.Option(
        "--metrics",
        metavar="[HOST:]PORT",
        help="Serve the run to Prometheus on this port, on loopback unless HOST is given.",
    ),
]


def address(text: str) -> tuple[str, int]:
    """Host and port. Raises UsageError."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"--metrics {text}: give PORT, or HOST:PORT, as 9464 or 10.0.0.5:9464")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextlib.contextmanager
def serve_metrics(listen: str, folder: Location, choice: Choice) -> Iterator[None]:
    """Serve a recording, which need not exist yet. `listen`: [HOST:]PORT, "" serves nothing. Raises UsageError if the
    address is malformed or in use, or the library is not installed."""
    if not listen:
        yield
        return
    METRICS.require("--metrics")
    from sanpath.cli.sessions.child_process import environment, python

    host, port = address(listen)
    arguments = (host, str(port), str(folder), *choice.arguments())
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        python("sanpath.views.prometheus.exporter", *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # It would write over the screen.
        text=True,
        env=environment(),
        start_new_session=True,
    )
    with process:
        try:
            line = process.stdout.readline().strip() if process.stdout else ""
            if not line.isdigit():
                raise UsageError(f"--metrics {listen}: {line or 'cannot be served'}")
            shown = f"[{host}]" if ":" in host else host
            serves_all = "" if is_loopback(host) else ", open without a password to anyone who can reach this machine"
            print(f"sanpath: metrics at http://{shown}:{line}/metrics{serves_all}", file=sys.stderr)
            yield
        finally:
            process.terminate()
