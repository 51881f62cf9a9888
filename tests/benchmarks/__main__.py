"""`python -m tests.benchmarks`: what sanpath costs, as ratios of two things that are run in turn. One line each.

No test asserts these numbers: a busy machine would make them fail. The goals are those of the design.
"""

from __future__ import annotations

import sys

from tests.benchmarks import (
    analysis,
    cluster,
    flasharray,
    imports,
    lateness,
    rules,
    snmp,
    startup,
    throughput,
    vsphere,
)

BENCHMARKS = {
    "startup": startup.measure,
    "lateness": lateness.measure,
    "throughput": throughput.measure,
    "imports": imports.measure,
    "rules": rules.measure,
    "snmp": snmp.measure,
    "flasharray": flasharray.measure,
    "vsphere": vsphere.measure,
    "analysis": analysis.measure,
    "cluster": cluster.measure,
}


def main(names: list[str]) -> None:
    """Run those that are named, or all."""
    for name in names or BENCHMARKS:
        print(f"{name}: {BENCHMARKS[name]()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
