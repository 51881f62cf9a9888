"""A network port that is full of something else is no risk of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from tests.scenarios.test_result_with_iostat import BLOCK, network_text
from tests.support.fio_text import fio_text
from tests.support.stories import judged

FULL = 17_800
"""Reads of 64 KiB a second that fill a link of 10 Gb/s."""
COMMAND = "$ fio --name=job --rw=randread --direct=1 --iodepth=32\n"


def is_named(folder: Path, result: str) -> bool:
    """Whether the full port is a finding beside this result."""
    (load := folder / "fio.txt").write_text(result)
    (network := folder / "sar.txt").write_text(network_text(FULL, devices=False))
    for file in (load, network):
        import_file(ImportRequest(file, folder / "r.sanpath", host="db1"))
    found = judged(Recording(folder / "r.sanpath")).findings
    return any(finding.rule == "initiator-port-full" and finding.outcome == "hit" for finding in found)


@pytest.mark.parametrize(
    ("ops", "command", "expected"),
    [(2 * FULL, COMMAND, False), (2 * FULL, "", True), (FULL, COMMAND, True), (FULL // 10, COMMAND, True)],
    ids=["reads twice what it carries", "a cache may answer half", "fills it", "shares it"],
)
def test_a_port_is_a_risk_where_it_may_carry_the_test(tmp_path: Path, ops: int, command: str, expected: bool) -> None:
    text = command + fio_text(ops=ops, latency_us=32e6 / ops, depth=32, block=BLOCK)
    assert is_named(tmp_path, text) is expected


def test_what_a_port_receives_is_not_what_the_test_writes(tmp_path: Path) -> None:
    text = fio_text(ops=900, latency_us=1e6 / 900, depth=1, block=BLOCK, flush_us=10.0, levels="1=100.0%")
    assert not is_named(tmp_path, text)
