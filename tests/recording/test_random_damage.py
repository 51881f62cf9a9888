"""Recordings damaged at random or malformed: no traceback, no hang, no good grade without a word about it.

`python -m tests.recording.damage damaged 0 1000` tries more of them.
"""

from __future__ import annotations

import pytest

from tests.recording.damage import tried


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "many"), [("damaged", 25), ("malformed", 20)])
def test_what_is_damaged_is_diagnosed_with_a_word_or_refused(kind: str, many: int) -> None:
    counts, found = tried(kind, range(many))
    assert counts.total() == many
    assert counts["refused"] < many
    assert found == {}
