r"""QMP, the protocol of QEMU's monitor: requests, and answers by their ids. No I/O.

A connection begins with a greeting, and ends after the answer to the last request:

    {"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}}, "capabilities": ["oob"]}}
    {"return": {}, "id": "qmp_capabilities"}
    {"return": [{"device": "drive-virtio0", "stats": {...}}], "id": "query-blockstats"}
    {"id": "query-name", "error": {"class": "CommandNotFound", "desc": "The command query-name has not been found"}}

Events may stand between them. Every command here only reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sanpath.plugin import CollectorError, Failure, json_object, read_json

END = "sanpath-end"
Answers = Mapping[str, Any]
"""Id of a request → its result. Requests that failed are missing."""


def command(name: str, arguments: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return a request, whose id consists of its name and arguments.

    >>> command("qom-get", {"path": "/objects/io1", "property": "poll-max-ns"})["id"]
    'qom-get /objects/io1 poll-max-ns'
    """
    id_ = " ".join([name, *(str(value) for value in (arguments or {}).values())])
    return {"execute": name, "id": id_, **({"arguments": arguments} if arguments else {})}


def property_of(path: str, name: str) -> dict[str, object]:
    """Return the request for a property of an object; see `command` for its id."""
    return command("qom-get", {"path": path, "property": name})


def request(commands: Iterable[Mapping[str, object]]) -> bytes:
    """Return the bytes of a conversation: capabilities, the commands, and one whose answer is the last."""
    end = {"execute": "query-version", "id": END}
    return b"".join(json.dumps(c).encode() + b"\n" for c in (command("qmp_capabilities"), *commands, end))


def is_complete(received: bytes) -> bool:
    """Return whether the answer to the last request has arrived."""
    return received.endswith(b"\n") and f'"{END}"'.encode() in received[-2000:]


def answers(socket_path: str, received: bytes) -> tuple[str, Answers]:
    """Return QEMU's version and the answers. Raises CollectorError, UNREADABLE, if it is not QMP."""
    lines = received.split(b"\n")
    returned: dict[str, Any] = {}
    version = ""
    for line in filter(bytes.strip, lines):
        message = read_json(line) if line.lstrip().startswith(b"{") else None
        if not isinstance(message, dict):
            reason = f"{socket_path}: is not a QMP monitor (mode=control)"
            raise CollectorError(Failure.UNREADABLE, reason, line.decode("utf-8", "replace")[:200])
        if isinstance(greeting := message.get("QMP"), dict):
            version = _version(greeting)
        elif "return" in message and isinstance(message.get("id"), str):
            returned[message["id"]] = message["return"]
    if not version:
        raise CollectorError(Failure.UNREADABLE, f"{socket_path}: does not answer like a QMP monitor")
    return version, returned


def _version(greeting: Mapping[str, Any]) -> str:
    numbers = json_object(json_object(greeting.get("version")).get("qemu"))
    return ".".join(str(numbers.get(part, 0)) for part in ("major", "minor", "micro"))


def integer(value: object) -> int | None:
    """Return an integer that is not negative; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
