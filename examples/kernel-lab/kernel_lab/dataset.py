"""Packs recorded cases with their labels, for people who score their own tools on them."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernel_lab.cases import Case
from kernel_lab.outcome import confirmation, is_confirmed
from sanpath.recording.redaction.redact import redact

FOLDER = "kernel-lab"
DESCRIPTION = Path(__file__).parent / "dataset.md"


def write(cases: Sequence[Case], folder: Path, file: Path) -> None:
    """Write `file` (.tar.xz): the recordings of `cases` in `folder`, labels.json and README.md. Raises LabError."""
    labels = []
    with tarfile.open(file, "w:xz") as tar:
        _add(tar, "README.md", DESCRIPTION.read_bytes())
        for case in cases:
            with _given_away(case, folder) as (recording, renamed):
                tar.add(recording, f"{FOLDER}/{case.name}.sanpath", filter=_anonymous)
                labels.append(_label(case, folder, renamed))
        _add(tar, "labels.json", json.dumps(labels, indent=1).encode())


@contextmanager
def _given_away(case: Case, folder: Path) -> Iterator[tuple[Path, Callable[[str], str]]]:
    """Yield the recording and what becomes of an element's name in it.

    A virtual machine's hypervisor is the machine of whoever recorded: its names and addresses are replaced.
    """
    recording = case.recording_in(folder)
    if case.disk is None:
        yield recording, str
        return
    with tempfile.TemporaryDirectory() as work:
        copy = Path(work) / recording.name
        pseudonyms = redact(recording, copy).pseudonyms
        yield copy, lambda name: ":".join((name.partition(":")[0], pseudonyms.pseudonymise(name.partition(":")[2])))


def _label(case: Case, folder: Path, renamed: Callable[[str], str]) -> dict[str, Any]:
    return {
        "recording": f"{case.name}.sanpath",
        "transport": case.transport,
        "kinds": case.truth.kinds,
        "elements": [renamed(element) for element in case.truth.elements],
        "confirmed": confirmation(case, folder) if is_confirmed(case, folder) else None,
    }


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(f"{FOLDER}/{name}")
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the names of the account that recorded."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
