"""Whole screens as text, kept beside this file in snapshots/: a look made by hand, at four widths.

SANPATH_SNAPSHOTS=write writes them anew; read what has changed before it is committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.views.live.made import diagnosis, snapshot, step
from tests.views.live.screen import play, showing

SNAPSHOTS = Path(__file__).parent / "snapshots"
SCREENS = {
    "overview-50x24": ((50, 24), (), False),
    "overview-80x24": ((80, 24), (), False),
    "overview-120x40": ((120, 40), (), False),
    "overview-200x50": ((200, 50), (), False),
    "ended-80x24": ((80, 24), (), True),
    "path-80x24": ((80, 24), ("t", "down", "down"), False),
    "steps-80x24": ((80, 24), ("s",), False),
    "findings-80x24": ((80, 24), ("f",), False),
    "sources-120x40": ((120, 40), ("o",), False),
    "help-80x24": ((80, 24), ("question_mark",), False),
}


@pytest.mark.parametrize("name", SCREENS)
def test_the_screen_looks_as_it_did(name: str) -> None:
    size, keys, ended = SCREENS[name]
    file = SNAPSHOTS / f"{name}.txt"

    async def scene() -> None:
        made = diagnosis(step("t16", 128), step(directions=("read", "write")), complete=ended)
        async with showing(snapshot(made, ended=ended), size=size) as shown:
            seen = (await shown.press(*keys) if keys else shown.text()) + "\n"
        if os.environ.get("SANPATH_SNAPSHOTS") == "write":
            file.write_text(seen, encoding="utf-8")
        assert seen == file.read_text(encoding="utf-8")

    play(scene)
