"""The protocol by which a recorder sends its newest rows to viewers on the same machine: a socket with JSON lines.

Data flow in one direction only: a recorder reads nothing from a viewer. A viewer treats lines as untrusted, like a
recording. Viewers on other machines or of other users read the segments instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sanpath.model import Column, Event, Poll, Rows, Table
from sanpath.recording.format.rows import MALFORMED, MAX_NUMBER, checked_text, checked_time, details

MAX_LINE_BYTES = 16 << 20
"""Maximum length of a line: a poll of 50,000 ports has 3 MB."""
_NAME_BYTES = 16
"""Half of a SHA-256: a path of a socket has at most 107 bytes (unix(7))."""
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class Hello:
    """The line after everything older than the viewer: two clocks at the same moment.

    `now_us`: the recorder's clock in microseconds since the epoch, `monotonic_ns`: the machine's monotonic clock.
    """

    now_us: int
    monotonic_ns: int


LiveItem = Rows | Event | Poll
Line = Hello | tuple[str, LiveItem]
"""The content of a line: one is Hello, all others are (source, item)."""


def socket_path(run_id: str, writer: str) -> Path | None:
    """Return the path of a writer's socket. None: the system has no suitable folder, or other users can access it."""
    folder = _folder()
    # Both names come from a recording, which is untrusted.
    name = hashlib.sha256(f"{run_id}/{writer}".encode()).hexdigest()[: 2 * _NAME_BYTES]
    return folder / f"{name}.sock" if folder is not None else None


def _folder() -> Path | None:
    if not hasattr(os, "getuid"):
        return None
    user = os.getuid()
    runtime = Path(f"/run/user/{user}")
    folder = runtime / "sanpath" if os.access(runtime, os.W_OK) else Path(tempfile.gettempdir()) / f"sanpath-{user}"
    try:
        folder.mkdir(mode=_PRIVATE, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    # In a world-writable folder another user may have created it first.
    return (
        folder if status.st_uid == user and status.st_mode & 0o777 == _PRIVATE and not folder.is_symlink() else None
    )


def encoded(line: Line) -> bytes:
    """Return the bytes of a line."""
    if isinstance(line, Hello):
        return _line({"now_us": line.now_us, "monotonic_ns": line.monotonic_ns})
    source, item = line
    match item:
        case Rows():
            return _line({"source": source, "rows": _encode_rows(item)})
        case Event():
            return _line({"source": source, "event": [item.seen, item.name, dict(item.detail)]})
        case Poll():
            return _line({"source": source, "poll": [item.due, item.started, item.ended, item.outcome]})


def decoded(line: bytes) -> Line:
    """Parse a line. Raises ValueError for anything that `encoded` does not write."""
    try:
        content = json.loads(line)
        if "now_us" in content:
            return Hello(checked_time(content["now_us"]), int(content["monotonic_ns"]))
        source = checked_text(content["source"])
        if "rows" in content:
            return source, _decode_rows(content["rows"])
        if "event" in content:
            seen, name, detail = content["event"]
            return source, Event(checked_time(seen), checked_text(name), details(json.dumps(detail)))
        due, started, ended, outcome = content["poll"]
        return source, Poll(source, checked_time(due), checked_time(started), checked_time(ended), outcome)
    except (*MALFORMED, OverflowError) as error:
        raise ValueError(f"not a line of a recorder: {error}") from error


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _encode_rows(rows: Rows) -> dict[str, Any]:
    return {
        "kind": rows.table.kind,
        "columns": [[column.metric, column.bits, column.scale, column.resolution] for column in rows.table.columns],
        "entity": rows.entity,
        "seen": list(rows.seen),
        "device_time": rows.device_time and list(rows.device_time),
        "values": {name: list(column) for name, column in rows.values.items()},
    }


def _decode_rows(content: Mapping[str, Any]) -> Rows:
    columns = tuple(
        Column(checked_text(name), bits, float(scale), float(cut)) for name, bits, scale, cut in content["columns"]
    )
    entity, seen, device_time = _texts(content["entity"]), _moments(content["seen"]), content["device_time"]
    device_time = None if device_time is None else _moments(device_time)
    values = {checked_text(name): _numbers(column) for name, column in content["values"].items()}
    if any(len(column) != len(entity) for column in (seen, device_time or seen, *values.values())):
        raise ValueError("columns of different length")
    return Rows(Table(checked_text(content["kind"]), columns), entity, seen, values, device_time)


def _numbers(column: Sequence[Any]) -> Sequence[int | float | None]:
    types = set(map(type, column))
    if not types <= {int, float, type(None)}:
        raise ValueError("no numbers")
    integers = column if types == {int} else [value for value in column if type(value) is int]
    if integers and not -MAX_NUMBER <= min(integers) <= max(integers) <= MAX_NUMBER:
        raise ValueError("larger than any counter")
    return column


def _moments(column: Sequence[Any]) -> Sequence[int]:
    """Return times after checking the limits of all at once: a poll may have thousands."""
    if column and set(map(type, column)) == {int}:
        checked_time(min(column)), checked_time(max(column))
        return column
    return [checked_time(us) for us in column]


def _texts(column: Sequence[Any]) -> list[str]:
    if not set(map(type, column)) <= {str}:
        raise TypeError("no text")
    return list(column)
