from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.views.live.terminal import SANPATH, Open, Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Open]:
    """Starts sanpath on a terminal of its own; what is left of it at the end of the test is closed."""
    opened: list[Terminal] = []

    def start(*arguments: str | Path, size: tuple[int, int] = (80, 24)) -> Terminal:
        opened.append(Terminal([*SANPATH, *map(str, arguments)], tmp_path, *size))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
