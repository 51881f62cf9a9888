"""`python -m tests.benchmarks [NAME…] [--write FILE]`: what sanpath costs, against peers run in turn with it.

No test asserts these numbers: a busy machine would make them fail. The goals are those of the design. A new module
needs a docstring that says what is measured, a function `measure` that says what came out, and its line here.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from tests.benchmarks import (
    analysis,
    cluster,
    flasharray,
    hosts,
    imports,
    lateness,
    live,
    paper,
    polling,
    pulse,
    reports,
    rules,
    size,
    snmp,
    startup,
    throughput,
    vsphere,
    watching,
)

BENCHMARKS = {
    "startup": startup,
    "polling": polling,
    "size": size,
    "hosts": hosts,
    "lateness": lateness,
    "throughput": throughput,
    "live": live,
    "pulse": pulse,
    "watching": watching,
    "reports": reports,
    "imports": imports,
    "rules": rules,
    "snmp": snmp,
    "flasharray": flasharray,
    "vsphere": vsphere,
    "cluster": cluster,
    "analysis": analysis,
}


def main(names: list[str], page: Path | None) -> None:
    """Run those that are named, or all; `page`: where the paper about them is written."""
    chapters: list[paper.Chapter] = []
    for name in names or BENCHMARKS:
        began, load = time.monotonic(), os.getloadavg()[0]
        reported = BENCHMARKS[name].measure()
        print(f"{name}: {reported}", flush=True)
        about = BENCHMARKS[name].__doc__ or ""
        chapters.append(paper.Chapter(name, about, reported, time.monotonic() - began, load))
        if page is not None:  # after each: what was measured stays when the rest is interrupted
            before = page.read_text(encoding="utf-8") if page.exists() else ""
            page.write_text(paper.performance(chapters, before, list(BENCHMARKS)), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--write", type=Path, metavar="FILE", help="the paper: docs/performance.md")
    result = parser.parse_args()
    main(result.names, result.write)
