"""`docs/performance.md`: what the benchmarks have said, on which machine, against which versions of whom."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.benchmarks.go_programs import SNMP_EXPORTER, TELEGRAF, go_version
from tests.benchmarks.pollers import netsnmp_version

_TOP = """# What sanpath costs

Written by `make bench`, which measures all of this anew on the machine where it runs. Each figure is a ratio to a
peer, or stands beside one or beside a limit, that was measured in the same run and in turn with it, so that whatever
else the machine did met both. In brackets: the lowest and the highest of the rounds. A median of a few rounds on a
machine that is shared is good to a tenth or so, not better. What it adds up to: [a large site](scaling.md).

```sh
make bench                                                                   # all of it
.venv/bin/python -m tests.benchmarks polling live --write docs/performance.md  # two chapters anew
```
"""
_LIBRARIES = ("duckdb", "numpy", "gufo-snmp", "pysnmp")


@dataclass(frozen=True)
class Chapter:
    """What one benchmark measures, and what came out. `load`: of the machine when it began, processes on average."""

    name: str
    about: str
    reported: str
    seconds: float
    load: float


def performance(chapters: Sequence[Chapter], before: str, order: Sequence[str]) -> str:
    """The page. Chapters of the page `before` stay where they are not anew, if they are of the same machine."""
    machine = _machine()
    top, *kept = before.split("\n## ")
    found = {text.partition("\n")[0]: f"## {text.rstrip()}\n" for text in kept} if machine in top else {}
    found |= {chapter.name: _chapter(chapter) for chapter in chapters}
    missing = [name for name in order if name not in found]
    lacks = [f"Not measured for this page: {', '.join(missing)}.\n"] if missing else []
    return "\n".join([_TOP, machine, *lacks, *(found[name] for name in order if name in found)])


def _chapter(chapter: Chapter) -> str:
    lines = [line for line in chapter.reported.split("\n") if line.strip()]
    listed = []
    for line in lines:
        # Lines that are set in further belong to the one before.
        deeper = "  " if line.startswith("      ") else ""
        listed.append(f"{deeper}- {line.strip()}")
    took = f"Took {chapter.seconds:.0f} s; load average of the machine before it {chapter.load:.1f}."
    return "\n".join([f"## {chapter.name}", "", chapter.about.strip(), "", *listed, "", took, ""])


def _machine() -> str:
    rows = [
        ("processor", _processor()),
        ("cores", str(os.cpu_count())),
        ("memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB"),
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("Python", platform.python_version()),
        *((library, _library(library)) for library in _LIBRARIES),
        ("net-snmp", netsnmp_version() if shutil.which("snmpbulkwalk") else "not installed"),
        ("fio", _first_line("fio", "--version")),
        ("Go", go_version() or "not installed"),
        (SNMP_EXPORTER.name, SNMP_EXPORTER.version),
        ("Telegraf, with `inputs.snmp` and `outputs.file` only", TELEGRAF.version),
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows), ""])


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _library(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _first_line(program: str, *arguments: str) -> str:
    if shutil.which(program) is None:
        return "not installed"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().split("\n")[0]
