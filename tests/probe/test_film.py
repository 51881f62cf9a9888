"""The recording of a terminal over a probe is what asciinema plays: a header, then text with its time."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

FILM = Path(__file__).parents[2] / "examples" / "probe" / "film.py"


def test_a_film_has_the_command_what_it_printed_and_its_exit_code(tmp_path: Path) -> None:
    film = runpy.run_path(str(FILM))["film"]
    code = "import os, sys; print('100 %', os.get_terminal_size().columns); sys.exit(3)"
    cast = tmp_path / "a.cast"
    assert film([sys.executable, "-c", code], ["sanpath", "probe"], tmp_path, cast) == 3
    header, *events = [json.loads(line) for line in cast.read_text().splitlines()]
    assert (header["version"], header["width"], header["title"]) == (2, 110, "sanpath probe")
    assert "".join(text for _, _, text in events) == "$ sanpath probe\r\n100 % 110\r\n"
    times = [time for time, _, _ in events]
    assert times == sorted(times)
