"""No claim of a published test holds without the files that its page names: none is asserted by a check that cannot
fail. What sanpath points out is gone once the figures agree: nothing is pointed out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from examples import stories
from examples.ablation import carriers, without
from examples.claims import Results, check

CORRECTIONS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "pliant-iometer": {"moderate.yaml": {"320 MiB/s": "328 MiB/s", "430 MiB/s": "412 MiB/s"}},
    "pure-fa310-sqlio": {
        "figures.yaml": {"3-5 ms": "1-2 ms", "380 MB/s": "412 MB/s", "390 Mbit/s": "390 MiB/s"},
        "tuned.yaml": {"pvscsi": "lsi_logic", "queue_depth: 128": "queue_depth: 32"},
    },
    "ramsan-sqlio": {
        "sheet.yaml": {"2 GB/s": "3.3 GB/s", "100 kIOPS": "280 kIOPS"},
        "sanpath.yaml": {"68_719_476_736": "1_073_741_824"},
    },
    "s2d-diskspd": {"figures.yaml": {"1-999 us": "1-1500 us", "22.4 TB": "29.9 TB", "1,200 kIOPS": "200 kIOPS"}},
    "vsan-jetstress": {"all-flash.yaml": {"2,930 IOPS": "2,990 IOPS", "14 x 251 IOPS": "12.1 x 251 IOPS"}},
}
"""Story → file → what contradicts in it → what would not."""


@pytest.mark.slow
@pytest.mark.parametrize("name", stories.names())
def test_nothing_is_pointed_out_once_the_figures_agree(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copytree(stories.FOLDER / name, tmp_path / name)
    for file, corrections in CORRECTIONS[name].items():
        text = (folder / file).read_text(encoding="utf-8")
        for wrong, right in corrections.items():
            assert wrong in text
            text = text.replace(wrong, right)
        (folder / file).write_text(text, encoding="utf-8")
    monkeypatch.setattr(stories, "FOLDER", tmp_path)
    story = stories.diagnose_story(name)
    results = Results(story.diagnoses, story.comparisons)
    remarks = [remark(claim) for claim in story.story["claims"] if claim["state"] == "pointed_out"]
    assert remarks
    assert not [claim["claim"] for claim in remarks if not check(claim, results).problems]


def remark(claim: Mapping[str, Any]) -> Mapping[str, Any]:
    """The claim without its figures: only what sanpath remarks, whatever the words."""
    by = {key: value for key, value in claim.get("by", {}).items() if key != "says"}
    return {key: claim[key] for key in ("id", "claim", "state", "words") if key in claim} | ({"by": by} if by else {})


@pytest.mark.slow
@pytest.mark.parametrize("name", stories.names())
def test_a_claim_falls_with_each_file_that_carries_it(name: str) -> None:
    for claim, files in zip(stories.read_story(name)["claims"], carriers(name), strict=True):
        assert files == claim.get("from", []), claim["claim"]
        assert bool(files) == (claim["state"] != "out_of_reach"), claim["claim"]


def test_a_topology_outlives_the_import_that_named_it() -> None:
    imports = [{"file": "a", "config": "t"}, {"file": ["x/b", "x/c"]}]
    assert without(imports, "a") == [{"file": ["x/b", "x/c"], "config": "t"}]
    assert without(imports, "x/") == [{"file": "a", "config": "t"}]
    assert without(imports, "t") == [{"file": "a"}, {"file": ["x/b", "x/c"]}]
