r"""The admin socket of a Ceph daemon: requests and replies. No I/O.

A request is JSON and a zero byte. The reply is its length, four bytes with the most significant one first, and JSON,
or a text that begins with ERROR; then the daemon closes the connection (src/common/admin_socket.cc).

    {"prefix": "perf dump", "logger": "osd", "format": "json"}\0
    \x00\x00\x0c\x43{"osd":{"op_wip":16,"op":1659,"op_latency":{"avgcount":1659,"sum":597.442599095},…
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from sanpath.plugin import CollectorError, Failure, read_json

_LENGTH = struct.Struct(">I")
_EXCERPT_BYTES = 200


def request(prefix: str, **arguments: str) -> bytes:
    """Return the bytes of a request. Only commands that read are asked for.

    >>> request("status")
    b'{"prefix": "status", "format": "json"}\\x00'
    """
    return json.dumps({"prefix": prefix, **arguments, "format": "json"}).encode() + b"\0"


def is_complete(received: bytes) -> bool:
    """Return whether a reply is complete.

    >>> is_complete(b"\\0\\0\\0\\2{}"), is_complete(b"\\0\\0\\0\\2{")
    (True, False)
    """
    return len(received) >= _LENGTH.size and len(received) - _LENGTH.size >= _LENGTH.unpack_from(received)[0]


def reply(socket_path: str, received: bytes) -> Mapping[str, Any]:
    """Return the object of a reply. Raises CollectorError, UNREADABLE, for anything else."""
    body = received[_LENGTH.size :]
    excerpt = body[:_EXCERPT_BYTES].decode("utf-8", "replace")
    if not is_complete(received):
        raise CollectorError(
            Failure.UNREADABLE, f"{socket_path}: is not an admin socket of Ceph, or its answer is cut off", excerpt
        )
    try:
        answer = read_json(body[: _LENGTH.unpack_from(received)[0]])
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, f"{socket_path}: {error}", excerpt) from error
    if not isinstance(answer, dict):
        raise CollectorError(Failure.UNREADABLE, f"{socket_path}: no object", excerpt)
    return answer
