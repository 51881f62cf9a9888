"""The executor of an analysis that is not computed on this machine: a cluster of dask.distributed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sanpath import __version__
from sanpath.errors import UsageError
from sanpath.extras import CLUSTER

if TYPE_CHECKING:
    from distributed import Client

_TIMEOUT_SECONDS = 10


@contextmanager
def executor(scheduler: str | None) -> Iterator[Executor | None]:
    """The executor of a cluster, e.g. of tcp://192.0.2.1:8786. None: `scheduler` is None, so the analysis stays on
    this machine.

    A worker gets the location of the recording and its part of the work, never a secret: it opens an object store
    with its own credentials. If a worker dies, another computes its part, which costs time. Raises UsageError if
    there is no such cluster, or if it cannot do the work.
    """
    if scheduler is None:
        yield None
        return
    client = _client(scheduler)
    try:
        _require_same_version(client, scheduler)
        # A recording that is still being written has more data at the next call with the same arguments.
        yield client.get_executor(pure=False)
    finally:
        client.close()


def _client(scheduler: str) -> Client:
    if ":" not in scheduler:
        raise UsageError(f"--cluster {scheduler}: write the address of its scheduler, as in tcp://192.0.2.10:8786")
    CLUSTER.require("--cluster")
    from distributed import Client

    try:
        return Client(scheduler, timeout=_TIMEOUT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"--cluster {scheduler}: no scheduler of dask answers there") from error


def _require_same_version(client: Client, scheduler: str) -> None:
    try:
        versions: dict[str, str] = client.run(_version)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--cluster {scheduler}: its workers need sanpath {__version__} as well") from error
    if not versions:
        raise UsageError(f"--cluster {scheduler}: it has no workers; start some with dask worker {scheduler}")
    for worker, version in versions.items():
        if version != __version__:
            raise UsageError(f"--cluster {scheduler}: {worker} has sanpath {version}, here it is {__version__}")


def _version() -> str:
    return __version__
