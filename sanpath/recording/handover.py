"""The way in which a recorder hands its newest rows to viewers on the same machine: a socket, and lines of JSON.

Everything goes one way. A recorder reads nothing from a viewer; a viewer takes lines as it takes a recording, from
whoever may have written them. Who is not on this machine, or not this user, reads the segments.
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
from sanpath.recording.format.rows import MALFORMED, details, moment

LONGEST_BYTES = 16 << 20
"""No line is longer: a poll of 50,000 ports has 3 MB."""
_NAME_BYTES = 16
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class Hello:
    """The first line: what the recorder's clock reads, microseconds since the epoch, and what the machine's monotonic
    clock reads at the same moment, nanoseconds."""

    now_us: int
    monotonic_ns: int


Handed = Rows | Event | Poll
Line = Hello | tuple[str, Handed]
"""What a line holds; what is not the first is (source, what it said)."""


def socket_path(run_id: str, writer: str) -> Path | None:
    """Where a writer of a recording listens. None: this system has no such place, or it is not ours alone."""
    folder = _folder()
    # Both names come from a recording, and so from anybody.
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
        found = folder.lstat()
    except OSError:
        return None
    # In a folder that everybody may write to somebody else may have made it first.
    return folder if found.st_uid == user and found.st_mode & 0o777 == _PRIVATE and not folder.is_symlink() else None


def encoded(said: Line) -> bytes:
    """One line."""
    if isinstance(said, Hello):
        return _line({"now_us": said.now_us, "monotonic_ns": said.monotonic_ns})
    source, item = said
    match item:
        case Rows():
            return _line({"source": source, "rows": _rows(item)})
        case Event():
            return _line({"source": source, "event": [item.seen, item.name, dict(item.detail)]})
        case Poll():
            return _line({"source": source, "poll": [item.due, item.started, item.ended, item.outcome]})


def decoded(line: bytes) -> Line:
    """What a line holds. Raises ValueError for anything that `encoded` does not write."""
    try:
        told = json.loads(line)
        if "now_us" in told:
            return Hello(moment(told["now_us"]), int(told["monotonic_ns"]))
        source = _text(told["source"])
        if "rows" in told:
            return source, _rows_of(told["rows"])
        if "event" in told:
            seen, name, detail = told["event"]
            return source, Event(moment(seen), _text(name), details(json.dumps(detail)))
        due, started, ended, outcome = told["poll"]
        return source, Poll(source, moment(due), moment(started), moment(ended), outcome)
    except (*MALFORMED, OverflowError) as error:
        raise ValueError(f"no line of a recorder: {error}") from error


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _rows(rows: Rows) -> dict[str, Any]:
    return {
        "kind": rows.table.kind,
        "columns": [[c.metric, c.bits, c.scale, c.resolution] for c in rows.table.columns],
        "entity": rows.entity,
        "seen": rows.seen,
        "device_time": rows.device_time,
        "values": dict(rows.values),
    }


def _rows_of(told: Mapping[str, Any]) -> Rows:
    columns = tuple(Column(_text(name), bits, float(scale), float(cut)) for name, bits, scale, cut in told["columns"])
    entity, seen = [_text(name) for name in told["entity"]], [moment(at) for at in told["seen"]]
    dated = told["device_time"]
    device_time = None if dated is None else [moment(at) for at in dated]
    values = {_text(name): _numbers(column) for name, column in told["values"].items()}
    if any(len(column) != len(entity) for column in (seen, device_time or seen, *values.values())):
        raise ValueError("columns of different length")
    return Rows(Table(_text(told["kind"]), columns), entity, seen, values, device_time)


def _numbers(column: Sequence[Any]) -> Sequence[int | float | None]:
    if not {type(value) for value in column} <= {int, float, type(None)}:
        raise ValueError("no numbers")
    return column


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
