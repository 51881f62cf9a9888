"""Parses command lines of programs that export volumes by NBD: nbdkit, qemu-storage-daemon and qemu-nbd. No I/O.

    nbdkit -p 10809 file /dev/sdb
    qemu-storage-daemon --blockdev driver=host_device,node-name=d1,filename=/dev/sdb
        --nbd-server addr.type=inet,addr.host=0.0.0.0,addr.port=10809 --export type=nbd,id=e1,node-name=d1,name=vol1
    qemu-nbd -t -p 10809 -x vol1 /srv/vol1.qcow2

What a monitor adds to a running qemu-storage-daemon is in no command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sanpath.plugin import read_json

_NBD_PORT = 10809  # IANA
_MAX_NODES = 64
"""Maximum block nodes between an export and its file; a longer chain is a loop."""
_SHORT_OF_NBDKIT = re.compile("[DegiPptUu]")
_LONG_OF_NBDKIT = re.compile(
    "debug|export(name)?|filter|group|ip-?addr|log|mask-handshake|pid-?file|port|run|selinux-label|threads"
    "|tls(-certificates|-psk)?|unix|user"
)
_SHORT_OF_QEMU = re.compile("[pbkdcfxDeoBlT]")
_LONG_OF_QEMU = re.compile(
    "port|bind|socket|disconnect|connect|format|export-name|description|shared|offset|bitmap|load-snapshot|trace"
    "|cache|aio|discard|detect-zeroes|object|tls-(creds|hostname|authz)|pid-file|selinux-label|handshake-limit"
    "|blockdev|chardev|export|monitor|nbd-server"
)
"""Options that have a value: nbdkit(1), qemu-nbd(8), qemu-storage-daemon(1)."""


@dataclass(frozen=True, slots=True)
class NbdExport:
    """An export of a server process.

    `backstore`: the program and its data. `address` "": all addresses. `path`: the file or device that it exports,
    "": none, or unknown.
    """

    backstore: str
    address: str
    port: int
    path: str
    name: str


def exports(command: bytes) -> Iterator[NbdExport]:
    """Yield the TCP exports in a command line of /proc; none for other programs and local sockets.

    >>> list(exports(b"nbdkit -f -i 127.0.0.1 --port=10810 --filter=log file /dev/sdb".replace(b" ", b"\\x00")))
    [NbdExport(backstore='nbdkit file', address='127.0.0.1', port=10810, path='/dev/sdb', name='')]
    >>> list(exports(b"qemu-nbd -t -x vol1 /srv/vol1.qcow2".replace(b" ", b"\\x00")))
    [NbdExport(backstore='qemu-nbd', address='', port=10809, path='/srv/vol1.qcow2', name='vol1')]
    """
    program, *arguments = command.decode("utf-8", "replace").rstrip("\0").split("\0")
    if (of_program := _PROGRAMS.get(program.rpartition("/")[2])) is not None:
        yield from of_program(arguments)


def _nbdkit(arguments: Sequence[str]) -> Iterator[NbdExport]:
    given, arguments = _options(arguments, _SHORT_OF_NBDKIT, _LONG_OF_NBDKIT)
    options = dict(given)
    if not arguments or not options.keys().isdisjoint(("unix", "U", "vsock")):
        return
    plugin, plugin_arguments = arguments[0].rpartition("/")[2], arguments[1:]
    positional = [word for word in plugin_arguments if "=" not in word or word.startswith("/")]
    file_arguments = [word.partition("=")[2] for word in plugin_arguments if word.startswith("file=")]
    is_file = plugin in ("file", "nbdkit-file-plugin.so")
    yield NbdExport(
        f"nbdkit {plugin}",
        _first(options, "i", "ipaddr", "ip-addr"),
        _port(_first(options, "p", "port")),
        next(iter(file_arguments or positional), "") if is_file else "",
        _first(options, "e", "export", "exportname"),
    )


def _qemu_nbd(arguments: Sequence[str]) -> Iterator[NbdExport]:
    given, arguments = _options(arguments, _SHORT_OF_QEMU, _LONG_OF_QEMU)
    options = dict(given)
    # With -c it uses a device of this machine, with -k a local socket.
    if not arguments or not options.keys().isdisjoint(
        ("k", "socket", "c", "connect", "d", "disconnect", "L", "list")
    ):
        return
    path = _fields(arguments[0]).get("filename", "") if "image-opts" in options else arguments[0]
    address, port = _first(options, "b", "bind"), _port(_first(options, "p", "port"))
    yield NbdExport("qemu-nbd", address, port, path, _first(options, "x", "export-name"))


def _qemu_storage_daemon(arguments: Sequence[str]) -> Iterator[NbdExport]:
    given, _ = _options(arguments, _SHORT_OF_QEMU, _LONG_OF_QEMU)
    fields = [(name, _fields(text)) for name, text in given]
    nodes = {node.get("node-name", ""): node for name, node in fields if name == "blockdev"}
    server = next((each for name, each in fields if name == "nbd-server"), {})
    ends = {key.rpartition(".")[2]: value for key, value in server.items() if key.startswith("addr.")}
    if ends.get("type") != "inet":
        return
    for name, export in fields:
        if name == "export" and export.get("type") == "nbd":
            node_name = export.get("node-name", "")
            path, drivers = _below(node_name, nodes)
            backstore = " ".join(["qemu-storage-daemon", *drivers[:1]])
            end = ends.get("host", ""), _port(ends.get("port", ""))
            yield NbdExport(backstore, *end, path, export.get("name") or node_name)


_PROGRAMS: Mapping[str, Callable[[Sequence[str]], Iterator[NbdExport]]] = {
    "nbdkit": _nbdkit,
    "qemu-nbd": _qemu_nbd,
    "qemu-storage-daemon": _qemu_storage_daemon,
}
PROCESSES = frozenset(name[:15] for name in _PROGRAMS)
"""Process names in /proc/PID/comm, which the kernel truncates."""


def _options(
    arguments: Sequence[str], short: re.Pattern[str], long: re.Pattern[str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """The options in their order, and the remaining arguments. `short`, `long`: those with a value."""
    options, remaining = [], list(arguments)
    while remaining and remaining[0].startswith("-"):
        option, equals, value = remaining.pop(0).partition("=")
        name, is_long = option.lstrip("-"), option.startswith("--")
        takes_value = (long if is_long else short).fullmatch(name)
        options.append((name, remaining.pop(0) if takes_value and not equals and remaining else value))
    return options, remaining


def _fields(text: str) -> dict[str, str]:
    """The fields of a structured option of QEMU, with dots between the parts of their names: JSON, or
    key=value,key=value.

    >>> _fields('{"addr": {"type": "inet", "port": 10809}}'), _fields("filename=/srv/a,,b.img,addr.type=inet")
    ({'addr.type': 'inet', 'addr.port': '10809'}, {'filename': '/srv/a,b.img', 'addr.type': 'inet'})
    """
    if text.lstrip().startswith("{"):
        try:
            return dict(_flat("", read_json(text)))
        except ValueError:
            return {}
    # A comma within a value is doubled.
    parts = (part.replace("\0", ",").partition("=") for part in text.replace(",,", "\0").split(","))
    return {key: value for key, _, value in parts}


def _flat(prefix: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), each)
    elif isinstance(value, str | int):
        yield prefix, str(value)


def _below(node_name: str, nodes: Mapping[str, Mapping[str, str]]) -> tuple[str, list[str]]:
    """The file or device at the bottom of a node, "" for none, and the drivers on the way."""
    drivers: list[str] = []
    for _ in range(_MAX_NODES):
        node = nodes.get(node_name, {})
        drivers += [node["driver"]] if "driver" in node else []
        paths = (node[key] for key in sorted(node, key=lambda key: key.count(".")) if _is_path(key))
        if (path := next(paths, "")) or "file" not in node:
            return path, drivers
        node_name = node["file"]
    return "", drivers


def _is_path(key: str) -> bool:
    """Whether a field names the file of a node: its own, or that of nodes nested in it."""
    *within, name = key.split(".")
    return name == "filename" and all(word == "file" for word in within)


def _first(options: Mapping[str, str], *names: str) -> str:
    return next((options[name] for name in names if name in options), "")


def _port(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= 5 else _NBD_PORT
