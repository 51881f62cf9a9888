"""The layout of a recording's files, and its manifest. docs/recording-format.md describes the format."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from sanpath import __version__
from sanpath.errors import RecordingError, UsageError, command
from sanpath.recording.format.documents import File, Manifest
from sanpath.recording.format.recorder_starts import ended, starts
from sanpath.recording.storage.store import Location, Store, location, store_at

FORMAT = 1
SUFFIX = ".sanpath"
RECORDER = "recorder"
"""The source of events that come from no device."""
CONFIG = "config"
"""The source of the entities and links in sanpath.yaml. Its name for an entity takes precedence."""

_PACKED = (".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst", ".zip", ".7z")
_SEGMENT = re.compile(r"^(?P<writer>[A-Za-z0-9_.]+)-(?P<first>\d{8})-(?P<last>\d{8})\.parquet$")
_KIND = re.compile(r"[A-Za-z0-9_]{1,64}")
"""A kind of entity is also the name of a folder: longer names could not be created."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One immutable Parquet file: flushes `first` to `last` of a writer into a table.

    `table` is "samples/<kind>", "inventory", "events" or "polls".
    """

    table: str
    writer: str
    first: int
    last: int

    @property
    def name(self) -> str:
        """The path of the file in the recording."""
        return f"{self.table}/{self.writer}-{self.first:08d}-{self.last:08d}.parquet"


def create(folder: Location, plan: str = "") -> Manifest:
    """Create a recording, or join one that is being written. Raises UsageError as `check` does."""
    return check(folder, plan) or _new(folder)


def _new(folder: Location) -> Manifest:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    content = Manifest(run_id=uuid.uuid4().hex, format=FORMAT, tool_version=__version__, started=started).encoded()
    try:
        first = store_at(folder).create("manifest.json", content)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error.strerror or error}") from error
    # If several writers begin at once, one creates the manifest and the others join.
    return Manifest.decoded(content) if first else read_manifest(folder)


def join(folder: Location) -> Manifest:
    """Return the manifest of a recording to add to, finished or not; a new one if the folder has none.

    The caller must know that the folder belongs to it.
    """
    return read_manifest(folder) if "manifest.json" in store_at(folder).list("") else _new(folder)


def check(folder: Location, plan: str = "") -> Manifest | None:
    """Check whether a test can be recorded into a folder.

    Returns None for a new or empty folder, else the manifest of a recording that is being written and may be joined.
    `plan` is the digest of the sweep to record: the sweep of the same plan may be joined, that of another may not.

    Raises UsageError when the folder holds anything else. A finished recording is refused because two tests in one
    recording would be judged as one.
    """
    try:
        if not store_at(folder).list(""):
            return None
        manifest = read_manifest(folder)
        all_starts = starts(store_at(folder), set())
        plans = {start.header.plan for start in all_starts} - {""} if plan else set()
        if plans and plan not in plans:
            raise UsageError(f"{folder}: holds the sweep of another plan; choose another folder with --into")
        if not plans and ended(all_starts):
            raise UsageError(f"{folder}: holds a test that has ended; choose another folder with --into")
        return manifest
    except RecordingError as error:
        raise UsageError(f"{error}; choose another folder with --into") from error
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}; choose another folder with --into") from error


def read_manifest(folder: Location) -> Manifest:
    """Read and check the manifest. Raises RecordingError: not a recording, or written by a newer sanpath."""
    store = store_at(folder)
    try:
        manifest = Manifest.decoded(store.read("manifest.json"))
    except (FileNotFoundError, NotADirectoryError):
        if isinstance(file := location(folder), Path) and file.is_file():
            if file.name.endswith(_PACKED):
                raise RecordingError(f"{folder}: is packed: unpack it, and name the folder in it") from None
            raise RecordingError(f"{folder}: is a file, not a recording: {command('import', folder)}") from None
        if not store.exists():
            raise RecordingError(f"{folder}: there is no such recording") from None
        raise RecordingError(f"{folder}: is not a sanpath recording (it has no manifest.json)") from None
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise RecordingError(
            f"{folder}: manifest.json cannot be read: {place and place + ': '}{problem['msg']}"
        ) from error
    except OSError as error:
        raise RecordingError(f"{folder}: manifest.json cannot be read: {error}") from error
    if manifest.format > FORMAT:
        raise RecordingError(
            f"{folder}: was written by sanpath {manifest.tool_version} in format {manifest.format}; "
            f"this is {__version__} and reads up to format {FORMAT}: install a newer sanpath"
        )
    return manifest


def is_table(name: str) -> bool:
    """Return whether a name is a valid table name."""
    kind = name.removeprefix("samples/")
    return bool(_KIND.fullmatch(kind)) and (kind != name or kind in ("inventory", "events", "polls"))


def segments(store: Store, table: str) -> list[Segment]:
    """Return the segments of a table that together contain every row once, by writer and number."""
    return drop_superseded(list_all_segments(store, table))


def list_all_segments(store: Store, table: str) -> list[Segment]:
    """Return all segments of a table, including superseded ones that are not deleted yet."""
    return [
        Segment(table, match["writer"], int(match["first"]), int(match["last"]))
        for name in store.list(table)
        if (match := _SEGMENT.match(name))
    ]


def drop_superseded(all_segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments that no wider segment contains, by writer and number."""
    widest: list[Segment] = []
    for segment in sorted(all_segments, key=lambda segment: (segment.writer, segment.first, -segment.last)):
        if widest and widest[-1].writer == segment.writer and segment.last <= widest[-1].last:
            continue
        widest.append(segment)
    return widest


def foreign(store: Store, table: str) -> list[str]:
    """Return the Parquet files in the folder of a table that are not segments."""
    return [f"{table}/{name}" for name in store.list(table) if name.endswith(".parquet") and not _SEGMENT.match(name)]


def sample_kinds(store: Store) -> list[str]:
    """Return the entity kinds that have samples."""
    return sorted(name for name in store.list("samples") if _KIND.fullmatch(name))


def put_new(store: Store, name: str, document: File) -> None:
    """Write a JSON file that does not exist yet. Raises FileExistsError."""
    if not store.create(name, document.encoded()):
        raise FileExistsError(f"{name}: is there already")
