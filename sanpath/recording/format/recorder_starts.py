"""The starts of a recording's recorders, and of other programs that wrote into it: their headers and endings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from sanpath.recording.format.documents import Ending, File, Header
from sanpath.recording.storage.store import Store

DocumentT = TypeVar("DocumentT", bound=File)


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a recorder or of another program that writes: a writer with separate segments.

    `ending` None: it was killed, or is still writing.
    """

    writer: str
    header: Header
    ending: Ending | None

    @property
    def recorder_id(self) -> str:
        """The name of the recorder, or of the writer if it is not a recorder."""
        return self.header.recorder or self.writer


def starts(store: Store, unreadable: set[str]) -> list[Start]:
    """Return every start, in the order of the writers' names.

    Adds damaged documents, and missing headers of endings, to `unreadable`.
    """
    names = set(store.list("writers"))
    all_starts = []
    headers = {name.replace(".end.json", ".json") for name in names if name.endswith(".end.json")}
    unreadable |= {f"writers/{name}" for name in headers - names}
    for name in sorted(name for name in names if name.endswith(".json") and not name.endswith(".end.json")):
        writer = name.removesuffix(".json")
        header = _read(store, name, Header, unreadable)
        ending = _read(store, f"{writer}.end.json", Ending, unreadable) if f"{writer}.end.json" in names else None
        if header is not None:
            all_starts.append(Start(writer, header, ending))
    return all_starts


def latest(starts: Sequence[Start]) -> list[Start]:
    """Return the last start of each recorder: earlier ones were killed or have ended."""
    by_recorder: dict[str, Start] = {}
    for start in sorted(starts, key=lambda start: start.header.started_us):
        by_recorder[start.recorder_id] = start
    return list(by_recorder.values())


def ended(starts: Sequence[Start]) -> bool:
    """Return whether every recorder has ended normally after its last start."""
    return bool(starts) and all(start.ending is not None for start in latest(starts))


def _read(store: Store, name: str, document_type: type[DocumentT], unreadable: set[str]) -> DocumentT | None:
    try:
        document: DocumentT = _decode(document_type, store.read(f"writers/{name}"))
    except (OSError, ValueError):
        unreadable.add(f"writers/{name}")
        return None
    return document


@lru_cache(maxsize=32)
def _decode(document_type: type[DocumentT], content: bytes) -> DocumentT:
    """Decode a document. A live view reads the same ones every few seconds, and checking one takes a millisecond."""
    return document_type.decoded(content)
