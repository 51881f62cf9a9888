"""Seeds that are as small as they can be and still take every step that the recorded inputs take.

Made by `python -m tests.fuzz.reduction` of what tests/collectors holds: a line of JSON each, its bytes as latin-1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "seeds"


def place(target: str) -> Path:
    """Where those of a target are."""
    return FOLDER / f"{target.replace(' ', '-')}.jsonl"


def small(target: str) -> list[bytes]:
    """Those of a target; none where nobody made them."""
    path = place(target)
    if not path.exists():
        return []
    return [json.loads(line).encode("latin-1") for line in path.read_text(encoding="ascii").splitlines()]


def keep(target: str, seeds: Iterable[bytes]) -> None:
    """Write them."""
    FOLDER.mkdir(exist_ok=True)
    lines = [json.dumps(seed.decode("latin-1")) for seed in sorted(seeds, key=lambda seed: (len(seed), seed))]
    place(target).write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
