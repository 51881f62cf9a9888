"""Recordings of a real Ceph with a limit that was set on purpose: the verdict has to name it.

Ceph 16.2.15, one monitor, two OSDs, fio's engine rbd; names are replaced by `sanpath redact`. A slow device is a
BlueStore file with a delay in its system calls, one after the other (`serial`). Most recordings have two or three
steps with more and more I/Os in flight.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from sanpath.diagnose import diagnose
from sanpath.recording.reading.recording import Recording

FOLDER = Path(__file__).parent / "ceph"
SLOW_MEMBER, RECOVERY, OTHERS = "controller-slower-than-peers", "cluster-resync", "array-busy-with-others"


@dataclass(frozen=True)
class Label:
    """What limits the run: kind of the verdict, kind and layer of its element, and the rule that names a cause."""

    kind: str
    element: str = ""
    layer: str = ""
    rule: str = ""


LABELS = {
    "rate-of-reads": Label("demand_limited"),
    "rate-of-writes": Label("demand_limited"),
    "few-outstanding-reads": Label("concurrency_limited"),
    "limit-of-iops": Label("configured_cap", "volume", "array_front"),
    "limit-of-iops-writes": Label("configured_cap", "volume", "array_front"),
    "limit-of-bytes": Label("configured_cap", "volume", "array_front"),
    "slow-osd-serial-reads": Label("bottleneck", "array", "array_back", SLOW_MEMBER),
    "slow-osd-serial-writes": Label("bottleneck", "array", "array_back", SLOW_MEMBER),
    "slow-media-serial-reads": Label("bottleneck", "array", "array_back"),
    "slow-media-serial-writes": Label("bottleneck", "array", "array_back"),
    "one-thread-for-operations": Label("bottleneck", "array", "array_front"),
    "one-thread-at-full-speed": Label("bottleneck", "array", "array_front"),
    "recovery": Label("bottleneck", "array", "array_back", RECOVERY),
    "another-client": Label("bottleneck", "array", "array_back", OTHERS),
}
"""Recording → what was limited on purpose."""


@pytest.mark.parametrize("name", LABELS)
def test_what_was_limited_is_named(tmp_path: Path, name: str) -> None:
    with tarfile.open(FOLDER / f"{name}.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    diagnosis = diagnose(Recording(tmp_path / f"{name}.sanpath"))
    label, verdict = LABELS[name], diagnosis.verdict
    elements = {(b.entity.partition(":")[0], b.layer) for b in verdict.bottlenecks}
    assert (verdict.kind, elements) == (label.kind, {(label.element, label.layer)} if label.element else set())
    # No OSD is accused where all are alike, no recovery where none was, and nobody else where the test is alone.
    named = {f.rule for f in diagnosis.findings if f.outcome == "hit"} & {SLOW_MEMBER, RECOVERY, OTHERS}
    assert named == ({label.rule} if label.rule else set())
