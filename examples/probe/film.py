#!/usr/bin/env python3
"""Record the terminal over one probe of the real lab, as asciinema's asciicast v2: film.py NEW_FOLDER.

It builds the lab (root; see examples/real-lab/README.md), writes a plan, runs `sanpath probe` in a terminal of its
own and takes the lab down. `asciinema play FOLDER/probe.cast` shows it; the recording and its reports are beside it.
"""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import shlex
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LAB = Path(__file__).parents[1] / "real-lab" / "lab.py"
CASE = "slow-port-switch-unread"
COLUMNS, ROWS = 110, 40


def main(argv: Sequence[str]) -> int:
    """Record one probe into a new folder. Returns the exit code of the probe."""
    if len(argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(argv[0]).absolute()
    folder.mkdir(parents=True)
    try:
        lab = json.loads(_lab("up", "--case", CASE, "--folder", str(folder / "lab")))
        plan = folder / "plan.yaml"
        plan.write_text(json.dumps(_plan(lab["load"]), indent=2) + "\n", encoding="utf-8")  # JSON is YAML.
        shown = ["sanpath", "probe", plan.name, "--config", "lab/sanpath.yaml", "--into", "probe.sanpath"]
        return film([sys.executable, "-m", *shown], shown, folder, folder / "probe.cast")
    finally:
        _lab("down", "--folder", str(folder / "lab"))


def film(command: Sequence[str], shown: Sequence[str], folder: Path, cast: Path) -> int:
    """Run a command in a terminal, and write what it prints with the time of it. `shown`: the command as typed."""
    began = time.monotonic()
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.chdir(folder)
        os.environ["TERM"] = "xterm-256color"
        os.execv(command[0], command)  # noqa: S606 - our own command, without a shell
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    header = {
        "version": 2,
        "width": COLUMNS,
        "height": ROWS,
        "timestamp": int(time.time()),
        "title": shlex.join(shown),
    }
    with cast.open("w", encoding="utf-8") as file:
        file.write(json.dumps(header) + "\n")
        text = f"$ {shlex.join(shown)}\r\n"
        while text is not None:
            file.write(json.dumps([round(time.monotonic() - began, 3), "o", text]) + "\n")
            file.flush()
            print(text, end="", flush=True)
            text = _read(terminal, decoder)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _read(terminal: int, decoder: codecs.IncrementalDecoder) -> str | None:
    """What the command has printed next. None: it has ended."""
    try:
        printed = os.read(terminal, 65536)
    except OSError:  # Linux: nobody has the other end open any more.
        return None
    return decoder.decode(printed) if printed else None


def _plan(load: Sequence[str]) -> dict[str, Any]:
    """A short probe of 64 KiB reads. `load`: how the lab starts its own load, in the namespace of its host."""
    return {
        "command": shlex.join(load[: load.index("fio") + 1]),
        "target": {"uri": "nbd://10.213.1.2:10809"},
        "load": {"block_bytes": "64k", "in_flight": 8},
        "seconds": 5,
        "warmup_seconds": 1,
        "pause_seconds": 2,
        "experiments": ["more_in_flight", "fewer_in_flight", "smaller_blocks"],
        "guard": {"baseline_seconds": 3},
        "budget": {"seconds": 120, "steps": 6, "in_flight": 64, "bytes": "8g"},
    }


def _lab(*arguments: str) -> str:
    command = [sys.executable, str(LAB), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
