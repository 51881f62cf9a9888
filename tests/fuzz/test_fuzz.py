"""Nothing that others send makes sanpath raise what is not its own, or take longer than its size accounts for.

Each run of the tests tries the same inputs for a second a target. `make fuzz SECONDS=600` tries others for as long as
one likes, and leaves in corpus/ what breaks something, to be committed with the mend.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from tests.fuzz.target import Target, fuzz
from tests.fuzz.targets import targets

SECONDS = float(os.environ.get("SANPATH_FUZZ_SECONDS", "1"))
FRESH = "SANPATH_FUZZ_SECONDS" in os.environ
CORPUS = Path(__file__).parent / "corpus"
TARGETS = {target.name: target for target in targets()}


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_nearly_right_is_taken_or_refused(name: str) -> None:
    first = int(time.time()) * 1_000_000 if FRESH else 0
    outcome = fuzz(TARGETS[name], first, seconds=SECONDS)
    print(f"{name}: {outcome.inputs:,} inputs, {outcome.size:,} bytes, slowest {outcome.slowest:.2f} s")
    if FRESH:
        for given in outcome.found.values():
            (CORPUS / f"{name}.{hashlib.sha256(given).hexdigest()[:12]}").write_bytes(given)
    assert not outcome.found, {kind: given[:300] for kind, given in outcome.found.items()}


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*.*")), ids=lambda file: file.name)
def test_what_broke_something_once_does_not_again(file: Path) -> None:
    target: Target = TARGETS[file.name.partition(".")[0]]
    assert target.failure(file.read_bytes()) == ""
