"""The QEMU processes of a host: their names, QMP sockets and threads. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sanpath_collectors.linux_host.parse import number
from sanpath_collectors.linux_host.snapshot import Snapshot

COMM = "/proc/[0-9]*/comm"
_PROGRAMS = ("qemu-", "kvm", "qemu:")
"""Prefixes of QEMU's process names: upstream, Proxmox and RHEL, OpenStack."""
_TRUE = ("", "on", "yes", "true", "y")
"""Values that switch an option on: none, and those of qapi_bool_parse."""


@dataclass(frozen=True, slots=True)
class Process:
    """A QEMU process. `name`: of its machine, "" without one. `sockets`: paths of its QMP sockets."""

    number: int
    name: str
    sockets: tuple[str, ...]


def numbers(host: Snapshot) -> list[int]:
    """Return the ids of QEMU's processes, from the files `COMM`."""
    return [
        int(name)
        for name in host.children("/proc")
        if name.isdigit() and host.text(f"/proc/{name}/comm").startswith(_PROGRAMS)
    ]


def process(process_id: int, command_line: bytes) -> Process:
    r"""Return a process from /proc/*/cmdline. Nothing else of it is used: command lines may contain secrets.

    Only sockets that QEMU listens at count: it may also connect to another program's, such as Proxmox's qmeventd.

    >>> process(7, b"kvm\0-name\0db1,debug-threads=on\0-qmp\0unix:/run/db1.qmp,server=on")
    Process(number=7, name='db1', sockets=('/run/db1.qmp',))
    """
    words = command_line.decode("utf-8", "replace").rstrip("\0").split("\0")
    name, monitors, paths = "", [], {}
    sockets = []
    for option, value in _options(words):
        fields = dict(part.partition("=")[::2] for part in value.split(","))
        first = value.split(",")[0]
        match option:
            case "name":
                name = fields.get("guest") or (first if "=" not in first else "")
            case "chardev" if first == "socket" and _listens(fields) and fields.get("path") and fields.get("id"):
                paths[fields["id"]] = fields["path"]
            case "mon" | "monitor" if "chardev" in fields:
                # A storage daemon's monitor is always QMP, a machine's only with mode=control.
                if option == "monitor" or fields.get("mode") == "control":
                    monitors.append(fields["chardev"])
            case "qmp" | "qmp-pretty" if first.startswith("unix:") and _listens(fields):
                sockets.append(first.removeprefix("unix:"))
    sockets += [paths[monitor] for monitor in monitors if monitor in paths]
    return Process(process_id, name, tuple(sockets))


def _listens(fields: Mapping[str, str]) -> bool:
    return fields.get("server") in _TRUE


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("-") and not following.startswith("-"):
            option, has_value, value = word.lstrip("-").partition("=")
            yield (option, value) if has_value else (option, following)


def canonical_socket(path: str) -> str:
    """Return a path that is the same for each name of a socket: /var/run is a link to /run.

    >>> canonical_socket("/var/run/qemu-server/100.qmp")
    '/run/qemu-server/100.qmp'
    """
    return path.removeprefix("/var") if path.startswith("/var/run/") else path


def threads_by_name(host: Snapshot, process_id: int) -> dict[str, int]:
    """Return name → id of a process's threads, from /proc/PID/task/*/comm. The main loop is the process itself.

    QEMU calls an iothread "IO" and its id (`-name debug-threads=on`, which libvirt and Proxmox set).
    """
    folder = f"/proc/{process_id}/task"
    threads = {host.text(f"{folder}/{name}/comm"): number(name) for name in host.children(folder)}
    return {
        name.removeprefix("IO "): thread
        for name, thread in threads.items()
        if name.startswith("IO ") and thread is not None
    }


def cpu_times(host: Snapshot, thread: int) -> tuple[int, int] | None:
    """Return how long a thread has run and waited for a processor, in nanoseconds. None: not reported.

    From /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst): time on the processor, time on a run queue.
    """
    times = [number(word) for word in host.text(f"/proc/{thread}/schedstat").split()]
    if len(times) != 3 or times[0] is None or times[1] is None:
        return None
    return times[0], times[1]


def process_of_thread(status: str) -> int | None:
    r"""Return the process of a thread, from /proc/TID/status. None: not reported.

    >>> process_of_thread("Name:\tIO iothread1\nTgid:\t24140\nPid:\t24146\n")
    24140
    """
    words = next((line.split()[1:] for line in status.splitlines() if line.startswith("Tgid:")), [])
    return number(words[0]) if words else None
