"""Packs recorded cases with their labels, for people who score their own tools on them."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernel_lab.cases import Case
from kernel_lab.outcome import confirmation, is_confirmed

FOLDER = "kernel-lab"
DESCRIPTION = Path(__file__).parent / "dataset.md"


def write(cases: Sequence[Case], folder: Path, file: Path) -> None:
    """Write `file` (.tar.xz): the recordings of `cases` in `folder`, labels.json and README.md. Raises LabError."""
    with tarfile.open(file, "w:xz") as tar:
        _add(tar, "README.md", DESCRIPTION.read_bytes())
        _add(tar, "labels.json", json.dumps([_label(case, folder) for case in cases], indent=1).encode())
        for case in cases:
            recording = folder / case.name / f"{case.name}.sanpath"
            tar.add(recording, f"{FOLDER}/{recording.name}", filter=_anonymous)


def _label(case: Case, folder: Path) -> dict[str, Any]:
    return {
        "recording": f"{case.name}.sanpath",
        "transport": case.transport,
        "kinds": case.truth.kinds,
        "elements": case.truth.elements,
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
