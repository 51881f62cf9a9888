"""Who writes a recording: what each writer said at its start and its end, and which of them is one recorder's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from sanpath.recording.format.documents import Ending, File, Header
from sanpath.recording.storage.store import Store

D = TypeVar("D", bound=File)


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a recorder, or of anybody else who writes: a writer with segments of its own. `ending` None: it
    was killed, or is still writing."""

    writer: str
    header: Header
    ending: Ending | None

    @property
    def who(self) -> str:
        """Whose start it is: the recorder's name, the writer's own where it is no recorder's."""
        return self.header.recorder or self.writer


def starts(store: Store, unreadable: set[str]) -> list[Start]:
    """Every start, by the names of the writers. `unreadable`: documents that are damaged, and headers without which
    an ending is there, are added to it."""
    names = set(store.list("writers"))
    found = []
    headers = {name.replace(".end.json", ".json") for name in names if name.endswith(".end.json")}
    unreadable |= {f"writers/{name}" for name in headers - names}
    for name in sorted(n for n in names if n.endswith(".json") and not n.endswith(".end.json")):
        writer = name.removesuffix(".json")
        header = _read(store, name, Header, unreadable)
        ending = _read(store, f"{writer}.end.json", Ending, unreadable) if f"{writer}.end.json" in names else None
        if header is not None:
            found.append(Start(writer, header, ending))
    return found


def latest(told: Sequence[Start]) -> list[Start]:
    """The last start of everybody who writes: it stands for those before it, which were killed or have ended."""
    found: dict[str, Start] = {}
    for start in sorted(told, key=lambda s: s.header.started_us):
        found[start.who] = start
    return list(found.values())


def ended(told: Sequence[Start]) -> bool:
    """Whether everybody who writes has ended as it should, after its last start."""
    return bool(told) and all(start.ending is not None for start in latest(told))


def _read(store: Store, name: str, form: type[D], unreadable: set[str]) -> D | None:
    try:
        return form.decoded(store.read(f"writers/{name}"))
    except (OSError, ValueError):
        unreadable.add(f"writers/{name}")
        return None
