"""Where things lie in a recording folder, and its manifest. The format is described in docs/recording-format.md."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sanpath import __version__
from sanpath.errors import RecordingError, UsageError

FORMAT = 1
SUFFIX = ".sanpath"

_SEGMENT = re.compile(r"^(?P<writer>[A-Za-z0-9_.]+)-(?P<first>\d{8})-(?P<last>\d{8})\.parquet$")


@dataclass(frozen=True, slots=True)
class Segment:
    """One immutable Parquet file: flushes `first` to `last` of a writer."""

    path: Path
    writer: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `manifest.json` says: written once, at the start."""

    run_id: str
    format: int
    tool_version: str
    started: str


def create(folder: Path) -> Manifest:
    """Make a recording folder, or join one of this format. Raises UsageError when something else is in the way."""
    if (joined := check(folder)) is not None:
        return joined
    manifest = Manifest(uuid.uuid4().hex, FORMAT, __version__, datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        put(folder / "manifest.json", asdict(manifest))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error.strerror}") from error
    return manifest


def check(folder: Path) -> Manifest | None:
    """Whether one can record into a folder: None for a new or empty one, the manifest of a recording of this format.

    Raises UsageError when something else is in the way.
    """
    try:
        if not folder.exists() or not any(folder.iterdir()):
            return None
        return read_manifest(folder)
    except RecordingError as error:
        raise UsageError(f"{error}; choose another folder with --into") from error
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; choose another folder with --into") from error


def read_manifest(folder: Path) -> Manifest:
    """Raises RecordingError: not a recording, or written by a newer sanpath."""
    if not folder.is_dir():
        raise RecordingError(f"{folder}: there is no such recording")
    try:
        raw = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        found = Manifest(str(raw["run_id"]), int(raw["format"]), str(raw["tool_version"]), str(raw["started"]))
    except FileNotFoundError:
        raise RecordingError(f"{folder}: is not a sanpath recording (it has no manifest.json)") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordingError(f"{folder}: manifest.json cannot be read: {error}") from error
    if found.format > FORMAT:
        raise RecordingError(
            f"{folder}: was written by sanpath {found.tool_version} in format {found.format}; "
            f"this is {__version__} and reads up to format {FORMAT}: install a newer sanpath"
        )
    return found


def segments(folder: Path, table: str) -> list[Segment]:
    """The segments of a table that together hold every row once: what lies inside a wider one is left out.

    `table` is "samples/<kind>", "inventory", "events" or "polls".
    """
    found = [
        Segment(path, match["writer"], int(match["first"]), int(match["last"]))
        for path in (folder / table).glob("*.parquet")
        if (match := _SEGMENT.match(path.name))
    ]
    found.sort(key=lambda s: (s.writer, s.first, -s.last))
    kept: list[Segment] = []
    for segment in found:
        if kept and kept[-1].writer == segment.writer and segment.last <= kept[-1].last:
            continue
        kept.append(segment)
    return kept


def foreign(folder: Path, table: str) -> list[Path]:
    """Parquet files beside the segments of a table that are none."""
    return [path for path in (folder / table).glob("*.parquet") if not _SEGMENT.match(path.name)]


def sample_kinds(folder: Path) -> list[str]:
    """Entity kinds that have samples."""
    return sorted(p.name for p in (folder / "samples").glob("*") if p.is_dir())


def put(path: Path, content: Any) -> None:
    """Write a JSON file at once: whoever reads it sees all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
