"""Where things lie in a recording, and its manifest. The format is described in docs/recording-format.md."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError

from sanpath import __version__
from sanpath.errors import RecordingError, UsageError
from sanpath.recording.format.documents import File, Manifest
from sanpath.recording.format.writers import ended, starts
from sanpath.recording.storage.store import Location, Store, store_at

FORMAT = 1
SUFFIX = ".sanpath"
RECORDER = "recorder"
"""The source of events that no device told."""

_SEGMENT = re.compile(r"^(?P<writer>[A-Za-z0-9_.]+)-(?P<first>\d{8})-(?P<last>\d{8})\.parquet$")
_KIND = re.compile(r"^\w+$")


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
        """Its path in the recording."""
        return f"{self.table}/{self.writer}-{self.first:08d}-{self.last:08d}.parquet"


def create(folder: Location, plan: str = "") -> Manifest:
    """Make a recording, or join one of this format. Raises UsageError when something else is in the way."""
    return check(folder, plan) or _new(folder)


def _new(folder: Location) -> Manifest:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    content = Manifest(run_id=uuid.uuid4().hex, format=FORMAT, tool_version=__version__, started=started).encoded()
    try:
        first = store_at(folder).create("manifest.json", content)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error.strerror or error}") from error
    # Of several that begin at once one makes it, and the others join.
    return Manifest.decoded(content) if first else read_manifest(folder)


def join(folder: Location) -> Manifest:
    """The manifest of a recording, finished or not, that is added to; a new one where there is none yet: the caller
    knows that the folder is its own."""
    return read_manifest(folder) if "manifest.json" in store_at(folder).list("") else _new(folder)


def check(folder: Location, plan: str = "") -> Manifest | None:
    """Whether one can record into a folder: None for a new or empty one, the manifest of a recording that another
    writer is at this moment writing, and that one may join. `plan`: digest of the sweep that is to be recorded; one
    that has begun may be joined, and one of another plan may not.

    Raises UsageError when something else is in the way, a finished recording among them: two tests in one recording
    would be judged as one.
    """
    try:
        if not store_at(folder).list(""):
            return None
        found = read_manifest(folder)
        told = starts(store_at(folder), set())
        plans = {start.header.plan for start in told} - {""} if plan else set()
        if plans and plan not in plans:
            raise UsageError(f"{folder}: holds the sweep of another plan; choose another folder with --into")
        if not plans and ended(told):
            raise UsageError(f"{folder}: holds a test that has ended; choose another folder with --into")
        return found
    except RecordingError as error:
        raise UsageError(f"{error}; choose another folder with --into") from error
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}; choose another folder with --into") from error


def read_manifest(folder: Location) -> Manifest:
    """Raises RecordingError: not a recording, or written by a newer sanpath."""
    store = store_at(folder)
    try:
        found = Manifest.decoded(store.read("manifest.json"))
    except (FileNotFoundError, NotADirectoryError):
        if not store.exists():
            raise RecordingError(f"{folder}: there is no such recording") from None
        raise RecordingError(f"{folder}: is not a sanpath recording (it has no manifest.json)") from None
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise RecordingError(
            f"{folder}: manifest.json cannot be read: {where and where + ': '}{problem['msg']}"
        ) from error
    except OSError as error:
        raise RecordingError(f"{folder}: manifest.json cannot be read: {error}") from error
    if found.format > FORMAT:
        raise RecordingError(
            f"{folder}: was written by sanpath {found.tool_version} in format {found.format}; "
            f"this is {__version__} and reads up to format {FORMAT}: install a newer sanpath"
        )
    return found


def is_table(name: str) -> bool:
    """Whether a table can be called so."""
    kind = name.removeprefix("samples/")
    return bool(_KIND.match(kind)) and (kind != name or kind in ("inventory", "events", "polls"))


def segments(store: Store, table: str) -> list[Segment]:
    """The segments of a table that together hold every row once, by writer and number."""
    return not_superseded(every_segment(store, table))


def every_segment(store: Store, table: str) -> list[Segment]:
    """Those too that are superseded and have not been deleted."""
    return [
        Segment(table, match["writer"], int(match["first"]), int(match["last"]))
        for name in store.list(table)
        if (match := _SEGMENT.match(name))
    ]


def not_superseded(found: Sequence[Segment]) -> list[Segment]:
    """Without what lies inside a wider one, by writer and number."""
    kept: list[Segment] = []
    for segment in sorted(found, key=lambda s: (s.writer, s.first, -s.last)):
        if kept and kept[-1].writer == segment.writer and segment.last <= kept[-1].last:
            continue
        kept.append(segment)
    return kept


def foreign(store: Store, table: str) -> list[str]:
    """Parquet files beside the segments of a table that are none."""
    return [f"{table}/{n}" for n in store.list(table) if n.endswith(".parquet") and not _SEGMENT.match(n)]


def sample_kinds(store: Store) -> list[str]:
    """Entity kinds that have samples."""
    return sorted(name for name in store.list("samples") if _KIND.match(name))


def put_new(store: Store, name: str, document: File) -> None:
    """Write a JSON file that nobody else has written. Raises FileExistsError."""
    if not store.create(name, document.encoded()):
        raise FileExistsError(f"{name}: is there already")
