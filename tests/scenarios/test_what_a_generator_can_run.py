"""What is advised is what the load generator can do, and what shows the storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanpath.diagnosis.model import Diagnosis
from sanpath.recorder.importing.importer import ImportRequest, import_file
from sanpath.recording.reading.recording import Recording
from sanpath.summary.summarise import summary
from sanpath.topology.resolve import resolve
from tests.support.simulated_diskspd import result
from tests.support.stories import judged

COLLECTORS = Path(__file__).parents[1] / "collectors"
MAY_BE_CACHED = "test-may-be-answered-by-cache"


def diagnosis_of(folder: Path, file: Path) -> Diagnosis:
    import_file(ImportRequest(file, folder / "r.sanpath"))
    return judged(Recording(folder / "r.sanpath"))


def first_action(folder: Path, diagnosis: Diagnosis) -> str | None:
    return summary(diagnosis, resolve(Recording(folder / "r.sanpath").inventory())).action


def test_jetstress_is_given_threads_and_no_outstanding_ios(tmp_path: Path) -> None:
    (file,) = (COLLECTORS / "jetstress/2010-performance-pass").glob("*.html")
    diagnosis = diagnosis_of(tmp_path, file)
    texts = [each.text for each in diagnosis.verdict.experiments]
    assert not any("outstanding" in text or "blocks" in text or "jobs" in text for text in texts)
    assert "repeat the test with twice as many threads" in texts
    assert (first_action(tmp_path, diagnosis) or "").startswith("Repeat the test with twice as many threads")


def diskspd_xml(cache: str) -> str:
    """A minute of reads. `cache`: the element that says whether the file cache is used."""
    text = result(["diskspd", "-b65536", "-d60", "-W5", "-F4", "-O8", "-w0", "E:\\io.dat"], "SQLVM1")
    return text.replace("</BlockSize>", f"</BlockSize>{cache}")


@pytest.mark.parametrize(("cache", "is_doubted"), [("", True), ("<DisableOSCache>true</DisableOSCache>", False)])
def test_a_cached_test_is_repeated_without_the_cache_first(tmp_path: Path, cache: str, is_doubted: bool) -> None:
    (file := tmp_path / "r.xml").write_text(diskspd_xml(cache))
    diagnosis = diagnosis_of(tmp_path, file)
    hits = {finding.rule for finding in diagnosis.findings if finding.outcome == "hit"}
    assert (MAY_BE_CACHED in hits) is is_doubted
    assert (first_action(tmp_path, diagnosis) == "Bypass the file cache (direct I/O)") is is_doubted
