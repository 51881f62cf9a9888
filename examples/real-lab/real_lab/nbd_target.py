"""The array's target ports: one nbdkit per port and volume. Its log is the array's measurement of I/O."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from socket import inet_aton

from real_lab.cases import Array, Case
from real_lab.network import array_address
from real_lab.state import State
from real_lab.system import run, start, wait_until

PORT = 10809
"""TCP port of NBD (IANA)."""

THREADS = 256
"""More than any load keeps outstanding, because a wait for a thread is not in the log."""


def port_name(fabric: int) -> str:
    """Return the name of the target port on a fabric, counted from 0."""
    return f"CT0.ETH{fabric}"


def port_number(volume: int) -> int:
    """Return the TCP port of a volume, counted from 0."""
    return PORT + volume


def log_file(folder: Path, fabric: int, volume: int = 0) -> Path:
    """Return the log file of the nbdkit of a target port and volume."""
    return folder / "array" / f"{port_name(fabric)}-vol{volume + 1}.log"


def nbdkit_command(array: Array, address: str, log: Path, volume: int = 0) -> list[str]:
    """Return the command of an nbdkit. The filter `log` measures the filters below it, not those above it."""
    return [
        "nbdkit", "--foreground", "--threads", str(THREADS), "--ipaddr", address, "--port", str(port_number(volume)),
        *(f"--filter={name}" for name in array.front_filters), "--filter=log",
        *(f"--filter={name}" for name in array.filters),
        "memory", str(array.size_bytes), *array.parameters, f"logfile={log}",
    ]  # fmt: skip


def start_targets(case: Case, state: State, folder: Path) -> None:
    """Start one nbdkit per fabric and volume; returns when all listen. Raises LabError.

    They run at a higher priority, so that other work on this machine does not look like a slow array.
    """
    (folder / "array").mkdir()
    targets = [*product(range(len(case.fabrics)), range(case.array.volumes))]
    for fabric, volume in targets:
        command = nbdkit_command(case.array, array_address(fabric), log_file(folder, fabric, volume), volume)
        start(
            ["nice", "--adjustment=-10", "ip", "netns", "exec", state.namespaces["array"], *command],
            lab=state.lab, log_file=folder / "logs" / "nbdkit.log",
        )  # fmt: skip
    for fabric, volume in targets:
        listens = partial(_listens, state.namespaces["array"], array_address(fabric), port_number(volume))
        wait_until(listens, f"nbdkit to listen, see {folder / 'logs' / 'nbdkit.log'}")


def _listens(namespace: str, address: str, port: int) -> bool:
    """Whether a socket listens: the log says that nbdkit is ready before it does. Columns as of proc_net_tcp(5)."""
    local = f"{inet_aton(address)[::-1].hex().upper()}:{port:04X}"
    sockets = run("ip", "netns", "exec", namespace, "cat", "/proc/net/tcp").splitlines()[1:]
    return any(columns[1] == local and columns[3] == "0A" for columns in map(str.split, sockets))
