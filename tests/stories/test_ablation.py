"""No claim of a published test holds without the files that its page names: none is asserted by a check that cannot
fail."""

from __future__ import annotations

import pytest

from examples import stories
from examples.ablation import carriers, without


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
